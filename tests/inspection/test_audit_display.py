"""The drawing shows the audit's figures, and needs matplotlib only when it draws."""

import builtins

import matplotlib
import numpy as np
import pytest

from skdp import DPSGDClassifier
from skdp.inspection import AuditDisplay, audit_privacy
from skdp.privacy import trade_off_curve


@pytest.fixture
def pyplot():
    """Draws to memory; finds no figure open, and leaves none."""
    matplotlib.use("agg")
    from matplotlib import pyplot

    pyplot.close("all")
    yield pyplot
    pyplot.close("all")


@pytest.fixture(params=["one_run", "many_runs"])
def audit(request, two_classes):
    """One of each method."""
    runs = {"n_runs": 40} if request.param == "many_runs" else {}
    estimator = DPSGDClassifier(epsilon=4.0)
    return audit_privacy(estimator, *two_classes, method=request.param, random_state=0, **runs)


def test_the_lines_are_the_claim_and_the_attack(audit, pyplot):
    """At every threshold, the adversary's errors are counted from the scores."""
    display = AuditDisplay(audit)
    assert display.plot() is display
    alphas, betas = display.claim_line_.get_data()
    np.testing.assert_allclose(betas, trade_off_curve(audit.mechanisms, alphas), atol=1e-3)
    rates = {
        (np.mean(audit.scores_out > threshold), np.mean(audit.scores_in <= threshold))
        for threshold in (-np.inf, *audit.scores_in, *audit.scores_out)
    }
    drawn = set(zip(*display.attack_line_.get_data(), strict=True))
    assert {tuple(np.round(point, 9)) for point in drawn} == {
        tuple(np.round(point, 9)) for point in rates
    }
    observed = tuple(float(value[0]) for value in display.observed_.get_data())
    assert observed == (audit.false_alarm_rate, audit.miss_rate)
    assert observed == pytest.approx(
        (np.mean(audit.scores_out > 0), np.mean(audit.scores_in <= 0)), abs=1e-12
    )
    assert display.figure_ is display.ax_.figure
    assert display.ax_.get_xlabel() == "False alarm rate"


@pytest.mark.slow
def test_it_draws_where_it_is_told(audit, pyplot):
    """Axes that are passed are used, by each way in."""
    _, ax = pyplot.subplots()
    assert AuditDisplay(audit).plot(ax=ax).ax_ is ax
    assert AuditDisplay.from_audit(audit, ax=ax).ax_ is ax
    assert len(pyplot.get_fignums()) == 1


@pytest.mark.slow
def test_from_estimator_audits_and_draws(two_classes, pyplot):
    """Arguments of the audit pass through."""
    estimator = DPSGDClassifier(epsilon=2.0, batch_size=20, n_epochs=2)
    display = AuditDisplay.from_estimator(estimator, *two_classes, confidence=0.9, random_state=0)
    assert display.audit.confidence == 0.9
    assert display.ax_.get_legend() is not None


def test_without_matplotlib_the_error_has_the_command(audit, monkeypatch):
    """The audit itself never needs it."""
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match="python3 -m pip install"):
        AuditDisplay(audit).plot()

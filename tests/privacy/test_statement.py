"""PrivacyStatement: figures, text, dict and HTML, whoever fills it in."""

import json
import math
import pickle
import re

import pytest

from skdp.privacy import (
    Gap,
    Gaussian,
    NoisyPart,
    PrivacyStatement,
    SubsampledGaussian,
    get_epsilon,
    membership_advantage,
)

TRAINING = SubsampledGaussian(2.0, 0.08, 100)
GAP = Gap("StandardScaler 'scale'", "it learned from the rows", "BoundedScaler")
NO_TOTAL = Gap("the noise", "it is shared", "random_state=None", has_no_total=True)


def statement(mechanisms=(TRAINING,), delta=1e-5, **rest):
    return PrivacyStatement("a model", mechanisms, delta, **rest)


def test_epsilon_is_that_of_the_composed_releases():
    """Heterogeneous ones too, composed and not added up."""
    releases = (TRAINING, Gaussian(4.0))
    made = statement(releases)
    assert made.epsilon == made.epsilon_of_releases == get_epsilon(releases, 1e-5)
    assert made.mechanisms == releases
    assert made.covers_everything


def test_a_finite_epsilon_is_never_given_over_a_gap():
    """Nor the figure of an adversary; the releases' own cost is another figure."""
    made = statement(not_covered=(GAP,))
    assert made.epsilon == math.inf
    assert not made.covers_everything
    assert made.membership_advantage == 1.0
    assert made.epsilon_of_releases == get_epsilon(TRAINING, 1e-5)
    assert str(made).startswith("No promise for a model: epsilon is inf.")


def test_releases_without_a_total_have_none():
    """Composition takes independent noise, so shared noise leaves the releases no figure."""
    made = statement(not_covered=(GAP, NO_TOTAL))
    assert made.epsilon == made.epsilon_of_releases == math.inf
    assert "no finite total" in str(made)


def test_what_learned_nothing_costs_nothing():
    """No releases and no gap: epsilon 0, without a delta."""
    made = statement((), None)
    assert made.epsilon == 0.0
    assert made.membership_advantage == 0.0
    assert made.covers_everything
    assert "learned nothing" in str(made)


def test_the_text_says_what_a_data_protection_officer_asks():
    """What, from whom, by how much, under which assumptions, by which version, and the guess."""
    part = NoisyPart("DPSGDClassifier 'clf'", ((TRAINING,),))
    text = str(statement(parts=(part,), versions=("0.0.9",)))
    for heading in ("What is protected", "From whom", "By how much", "Under which assumptions"):
        assert f"\n{heading}\n" in text
    assert "0.0.9" in text
    assert "DPSGDClassifier 'clf'" in text
    assert "same number of rows" in text
    stated = float(re.search(r"at most ([\d.]+) guesses in 100", text).group(1))
    exact = 50 * (1 + membership_advantage(TRAINING))
    assert exact <= stated <= exact + 0.1


def test_printed_figures_are_never_below_the_true_ones():
    """Rounding to three digits must not make a cost look smaller than it is."""
    for noise in (0.9, 2.0, 3.3, 7.7, 50.0):
        made = statement((Gaussian(noise),))
        printed = float(re.search(r"epsilon ([\d.e+-]+) at", str(made)).group(1))
        assert made.epsilon <= printed * (1 + 1e-9)
        assert printed <= made.epsilon * 1.01


@pytest.mark.parametrize("n_rows", [51_234, 60_013, 70_000, 1_234_567])
@pytest.mark.parametrize("gaps", [(), (GAP,)])
def test_a_printed_delta_is_never_below_the_true_one(n_rows, gaps):
    """In each place where the text names it: it is a chance that the promise does not hold."""
    delta = min(1e-5, 1 / (2 * n_rows))
    text = str(statement(delta=delta, not_covered=gaps))
    printed = re.findall(r"(?:delta|chance of) ([\d.e-]+\d)", text)
    assert len(printed) == (1 if gaps else 2)
    for figure in map(float, printed):
        assert delta <= figure * (1 + 1e-12)
        assert figure <= delta * 1.01


def test_parts_say_fits_and_what_voids_them():
    """A part's figure is that of its most costly fit, and void behind what learned from rows."""
    part = NoisyPart("clf", ((TRAINING,), (Gaussian(1.0),)) * 30, ("StandardScaler 'scale'",))
    text = str(statement(not_covered=(GAP,), parts=(part,)))
    assert "60 fits, epsilon" in text
    assert "each at most" in text
    assert "void, since one row may move all others through StandardScaler 'scale'" in text
    assert part.n_fits == 60
    assert part.epsilon(1e-5) == get_epsilon(Gaussian(1.0), 1e-5)


def test_ledgers_and_plans_are_named():
    """A statement over a gap names them as well, since they may count what it cannot."""
    for gaps in ((), (GAP,)):
        made = statement(ledgers=("The ledger in 'x': 9 fits",), not_covered=gaps, is_planned=True)
        assert "\nLedger\n  The ledger in 'x': 9 fits\n" in str(made)
        assert "a fit of a model" in str(made).splitlines()[0]
        assert made.to_dict()["is_planned"]
        assert made.to_dict()["ledgers"] == ["The ledger in 'x': 9 fits"]


def test_gaps_are_listed_by_name_with_what_to_use_instead():
    """A reader has to find the step in the model and know how to close the gap."""
    text = str(statement(not_covered=(GAP,)))
    assert "StandardScaler 'scale': it learned from the rows. Instead: BoundedScaler." in text


def test_the_dict_is_ready_for_strict_json():
    """Infinity is the text "inf", since JSON has none; reading it back gives the same."""
    part = NoisyPart("clf", ((TRAINING,),) * 2)
    made = statement(not_covered=(GAP, NO_TOTAL), parts=(part,), versions=("0.1.0",))
    values = made.to_dict()
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert float(values["epsilon"]) == math.inf
    assert [gap["name"] for gap in values["not_covered"]] == ["StandardScaler 'scale'", "the noise"]
    covered = statement().to_dict()
    assert covered["epsilon"] == get_epsilon(TRAINING, 1e-5)
    assert covered["mechanisms"] == [
        {
            "kind": "SubsampledGaussian",
            "noise_multiplier": 2.0,
            "sample_rate": 0.08,
            "n_steps": 100,
        }
    ]


def test_the_html_escapes_names():
    """A step may be called anything."""
    gap = Gap("<script>alert(1)</script>", "a & b", "c")
    page = statement(not_covered=(gap,))._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "a &amp; b" in page
    assert "No promise for a model" in page


def test_the_unit_and_the_neighbours_are_named():
    """An epsilon means nothing without what two neighbouring data sets differ in."""
    rows, units = statement(), statement(unit="unit")
    assert "differ in one row" in rows.neighbours
    assert "differ in one unit" in units.neighbours
    assert "for every single unit" in str(units)
    named = statement(unit="unit", unit_name="{patient}")
    assert "every single {patient}, with all its rows" in str(named)
    assert "differ in one {patient}" in named.neighbours
    with pytest.raises(ValueError, match="unit must be one of"):
        statement(unit="household")


def test_releases_without_a_delta_are_refused():
    """Gaussian noise has no finite epsilon at delta 0, so its figure needs a delta."""
    with pytest.raises(ValueError, match="delta=None"):
        statement(delta=None)


def test_a_statement_survives_pickling():
    """It is handed on beside the model, and must say the same after it."""
    made = statement(not_covered=(GAP,))
    assert pickle.loads(pickle.dumps(made)) == made

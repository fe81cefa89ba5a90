"""What a type checker says of code that a user writes. mypy reads this file, and nothing runs it.

`assert_type` holds the types that the public names give. Lines marked `# type: ignore[...]` must be
errors: were one accepted, mypy would report the mark as unused.
"""

from pathlib import Path
from typing import Any, assert_type

import numpy as np

import skdp
from skdp import DPSGDClassifier, PrivacyBudget, privacy_statement
from skdp.exceptions import BudgetExhaustedError, PrivacyError, PrivacyWarning
from skdp.inspection import (
    AuditDisplay,
    BudgetCurveDisplay,
    PrivacyAccuracyDisplay,
    PrivacyAudit,
    PrivacyProfileDisplay,
    TrainingPathDisplay,
    audit_privacy,
)
from skdp.model_selection import UnitKFold
from skdp.preprocessing import (
    BoundedScaler,
    DPMaxAbsScaler,
    DPStandardScaler,
    PiecewiseLinearFeatures,
    RowNormClipper,
)
from skdp.privacy import (
    Gap,
    Gaussian,
    GroupedGaussian,
    NoisyPart,
    PrivacyCost,
    PrivacyStatement,
    SubsampledGaussian,
    calibrate_n_steps,
    calibrate_noise_multiplier,
    explain_epsilon,
    get_delta,
    get_epsilon,
    get_renyi_divergence,
    group_epsilon,
    membership_advantage,
    privacy_profile,
    textbook_epsilon,
    trade_off_curve,
)

X = np.zeros((100, 3))
y = np.zeros(100, dtype=np.int64)
steps = SubsampledGaussian(noise_multiplier=2.0, sample_rate=0.08, n_steps=375)


def classifier() -> None:
    """The estimator, its fitted attributes and its predictions."""
    model = DPSGDClassifier(epsilon=1.0, delta="auto").fit(X, y)
    assert_type(model, DPSGDClassifier)
    assert_type(model.epsilon_, float)
    assert_type(model.delta_, float)
    assert_type(model.noise_multiplier_, float)
    assert_type(model.n_steps_, int)
    assert_type(model.coef_, np.ndarray)
    assert_type(model.intercept_, np.ndarray)
    assert_type(model.classes_, np.ndarray)
    assert_type(model.predict(X), np.ndarray)
    assert_type(model.predict_proba(X), np.ndarray)
    # Lists are array-like.
    DPSGDClassifier(epsilon="auto").fit([[0.0], [1.0]], ["no", "yes"])
    DPSGDClassifier(epsilon=None, noise_multiplier=2.0)
    DPSGDClassifier(epsilon="automatic")  # type: ignore[arg-type]
    DPSGDClassifier(delta="automatic")  # type: ignore[arg-type]
    DPSGDClassifier(epsilons=1.0)  # type: ignore[call-arg]


def transformers() -> None:
    """Transformers return themselves from `fit`."""
    assert_type(BoundedScaler(bounds=(0.0, 1.0)).fit(X), BoundedScaler)
    assert_type(RowNormClipper().fit(X), RowNormClipper)
    assert_type(PiecewiseLinearFeatures(knots=[0.0, 1.0]).fit(X), PiecewiseLinearFeatures)
    standard = DPStandardScaler(epsilon=0.5, bounds=(0.0, 1.0)).fit(X)
    assert_type(standard, DPStandardScaler)
    assert_type(standard.epsilon_, float)
    assert_type(standard.mean_, np.ndarray)
    assert_type(DPStandardScaler(clip=3).fit(X).clip_, float | None)
    DPStandardScaler(clip="3")  # type: ignore[arg-type]
    largest = DPMaxAbsScaler(epsilon=0.5).fit(X)
    assert_type(largest, DPMaxAbsScaler)
    assert_type(largest.epsilon_, float)
    assert_type(largest.scale_, np.ndarray)


def statement() -> None:
    """What a statement says, in types."""
    stated = privacy_statement(DPSGDClassifier().fit(X, y))
    assert_type(stated, PrivacyStatement)
    assert_type(stated.epsilon, float)
    assert_type(stated.delta, float | None)
    assert_type(stated.covers_everything, bool)
    assert_type(stated.not_covered, tuple[Gap, ...])
    assert_type(stated.parts, tuple[NoisyPart, ...])
    assert_type(stated.membership_advantage, float)
    assert_type(stated.to_dict(), dict[str, Any])
    privacy_statement(DPSGDClassifier(), n_rows="many")  # type: ignore[arg-type]


def budget() -> None:
    """A ledger, in memory and in a file."""
    ledger = PrivacyBudget(epsilon=1.0, delta=1e-5)
    PrivacyBudget(1.0, 1e-5, unit="unit", path=Path("budget.json"))
    assert_type(ledger.epsilon, float)
    assert_type(ledger.remaining(), float)
    assert_type(ledger.share_spent, float)
    assert_type(ledger.overspent, bool)
    assert_type(ledger.reserve(DPSGDClassifier(), n_rows=100), str)
    assert_type(ledger.remaining_fits(DPSGDClassifier(), n_rows=100), float)
    assert_type(PrivacyBudget.from_json(ledger.to_json()), PrivacyBudget)
    DPSGDClassifier(budget=ledger)
    try:
        ledger.spend(DPSGDClassifier().fit(X, y))
    except BudgetExhaustedError as error:
        refused: PrivacyError = error
        print(refused)
    PrivacyBudget("1.0", 1e-5)  # type: ignore[arg-type]
    PrivacyBudget(1.0, 1e-5, path=1)  # type: ignore[arg-type]
    PrivacyBudget(1.0, 1e-5, "row")  # type: ignore[call-arg]


def accounting() -> None:
    """Numbers in, numbers out."""
    assert_type(get_epsilon(steps, 1e-5), float)
    assert_type(get_epsilon([steps, Gaussian(10.0)], delta=1e-5), float)
    assert_type(get_delta(steps, epsilon=1.0), float)
    assert_type(explain_epsilon(steps, 1e-5), PrivacyCost)
    assert_type(group_epsilon(steps, 1e-5, k=2), float)
    assert_type(get_epsilon(GroupedGaussian(2.0, 0.08, 375, group_size=2), 1e-5), float)
    assert_type(calibrate_noise_multiplier(1.0, 1e-5, 0.08, 375), float)
    assert_type(calibrate_n_steps(1.0, 1e-5, 2.0, 0.08), int)
    assert_type(textbook_epsilon(800, 64, 2.0, 30), tuple[float, int, float])
    assert_type(membership_advantage(steps), float)
    assert_type(
        privacy_profile(steps, [0.0, 1.0]), np.ndarray[tuple[Any, ...], np.dtype[np.float64]]
    )
    assert_type(trade_off_curve(steps, 0.1), np.ndarray[tuple[Any, ...], np.dtype[np.float64]])
    assert_type(get_renyi_divergence(steps, 2), np.ndarray[tuple[Any, ...], np.dtype[np.float64]])
    get_epsilon(2.0, 1e-5)  # type: ignore[arg-type]
    get_epsilon(steps, "1e-5")  # type: ignore[arg-type]
    SubsampledGaussian(2.0, 0.08, n_steps=3.5)  # type: ignore[arg-type]
    steps.n_steps = 1  # type: ignore[misc]


def drawings() -> None:
    """Displays return themselves, and audits their findings."""
    model = DPSGDClassifier(store_path=True).fit(X, y)
    audit = audit_privacy(DPSGDClassifier(), X, y)
    assert_type(audit, PrivacyAudit)
    assert_type(audit.epsilon_lower, float)
    assert_type(audit.exceeds_claim, bool)
    assert_type(AuditDisplay.from_audit(audit), AuditDisplay)
    assert_type(BudgetCurveDisplay.from_mechanisms(steps), BudgetCurveDisplay)
    assert_type(PrivacyProfileDisplay.from_estimator(model).plot(), PrivacyProfileDisplay)
    assert_type(TrainingPathDisplay.from_estimator(model, X, y), TrainingPathDisplay)
    assert_type(
        PrivacyAccuracyDisplay.from_estimator(DPSGDClassifier(), X, y, cv=3), PrivacyAccuracyDisplay
    )
    audit_privacy(DPSGDClassifier(), X, y, confidence="high")  # type: ignore[arg-type]


def others() -> None:
    """What is left of the public names."""
    assert_type(UnitKFold(n_splits=3), UnitKFold)
    assert_type(skdp.__version__, str)
    warning: UserWarning = PrivacyWarning("weak")
    print(warning)

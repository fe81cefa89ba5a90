"""From constructor arguments and public sizes to a frozen plan, before a single row is read.

The budget table of the estimator and all rules between parameters stand here.
"""

import dataclasses
import math
import warnings
from dataclasses import dataclass
from typing import Any

from skdp._sklearn import N_WRAPPERS_OF_FIT
from skdp.exceptions import (
    BudgetExhaustedError,
    CalibrationError,
    PrivacyError,
    PrivacyWarning,
)
from skdp.linear_model._recipe import (
    Hyperparameters,
    calibrated_hyperparameters,
    slower_where_one_class_leads,
    textbook_hyperparameters,
    within_penalty,
)
from skdp.mechanisms._counts import NORM_EXPONENTS, CountPlan
from skdp.mechanisms._plan import (
    MOST_ROWS_A_STEP,
    MOST_UNITS_A_STEP,
    SENSITIVITY_FACTOR,
    GradientPlan,
    multiplier_for_gradient,
)
from skdp.mechanisms._release import (
    LEAST_NOISE,
    largest_exact_noise,
    largest_noise,
    largest_sum,
)
from skdp.privacy import (
    Gaussian,
    SubsampledGaussian,
    calibrate_n_steps,
    calibrate_noise_multiplier,
    get_epsilon,
)
from skdp.privacy._promise import chosen_delta, weaknesses

__all__ = ["TrainingPlan", "make_plan", "warn_about_weak_promises"]


_IN_RANGE = (1e-100, 1e100)
_MOST_A_STEP = {"row": MOST_ROWS_A_STEP, "unit": MOST_UNITS_A_STEP}


@dataclass(frozen=True)
class TrainingPlan:
    """What will run and what it will cost.

    Parameters
    ----------
    gradient : GradientPlan
        The noisy steps: rows, batches, number, clip and noise.
    class_counts, norm_counts, unit_norm_counts : CountPlan or None
        The releases before the first step, if any; the last one where the unit is no row.
    epsilon, delta : float
        What the releases cost together.
    n_steps_asked : int
        Steps before the budget cut them, equal to `gradient.n_steps` where it did not.
    learning_rate, alpha : float
        Of the descent on the releases.
    rate_is_given : bool
        Whether no release may change the rate.
    averaged_share : float
        Share of the iterates, the last ones, whose mean is the model; 0 for the last one alone.
    scale_is_given : bool
        Whether threshold and rate are in the units of the data as they are, rather than in units
        of the rows' typical size.
    signal : float
        See `Hyperparameters`.
    unit : {"row", "unit"}
        Whom the promise is for: each row, or each unit of `privacy_unit`.
    """

    gradient: GradientPlan
    class_counts: CountPlan | None
    norm_counts: CountPlan | None
    epsilon: float
    delta: float
    n_steps_asked: int
    learning_rate: float
    rate_is_given: bool
    alpha: float
    averaged_share: float
    scale_is_given: bool
    signal: float
    unit_norm_counts: CountPlan | None = None
    unit: str = "row"

    @property
    def mechanisms(self) -> tuple[Gaussian | SubsampledGaussian, ...]:
        """The releases in their order, as the accountant takes them."""
        counts = (self.class_counts, self.norm_counts, self.unit_norm_counts)
        before = (plan.mechanism for plan in counts if plan is not None)
        return (*before, self.gradient.mechanism)

    def n_averaged(self, n_steps: int) -> int:
        """How many of the last iterates are averaged after `n_steps` steps."""
        return max(1, math.ceil(n_steps * self.averaged_share))

    def adapted(self, *, scale: float, unit_scale: float, lead: float) -> "TrainingPlan":
        """The plan after the first releases: threshold and rate in the units of the rows.

        A unit's gradient is the sum over its rows, so the threshold follows the units. The
        intercept's constant stands beside each row. The rate takes one from each: a logit of a
        row answers to a step of the size of a unit.

        Sample rate, noise multipliers and number of steps stay what they were, so the cost does.

        Parameters
        ----------
        scale : float
            Typical size of an entry of a row, as released.
        unit_scale : float
            Typical norm of a unit over the root of the number of columns; `scale` for rows.
        lead : float
            Share of the largest class minus that of the second, as released.
        """
        gradient = dataclasses.replace(
            self.gradient,
            clip_threshold=self.gradient.clip_threshold * unit_scale,
            intercept_column=scale,
        )
        rate = self.learning_rate
        if not self.rate_is_given:
            rate *= slower_where_one_class_leads(self.signal, lead)
            rate /= scale * unit_scale
            rate = within_penalty(rate, self.alpha)
        return dataclasses.replace(self, gradient=gradient, learning_rate=rate)


def make_plan(
    params: Any, *, n_rows: int, n_features: int, n_classes: int, unit: str = "row"
) -> TrainingPlan:
    """Settle noise, steps and all that is "auto".

    Parameters
    ----------
    params : object
        Carries the constructor arguments of the estimator as attributes; nothing else is read.
    n_rows, n_features, n_classes : int
        Size of the data, public numbers; `n_rows` counts units where the unit is no row.
    unit : {"row", "unit"}
        Whom the promise is for.

    Raises
    ------
    PrivacyError
        Where the combination asks for no privacy or for nothing at all.
    BudgetExhaustedError
        Where the first step would already exceed epsilon.
    CalibrationError
        Where no noise is the answer, since delta alone pays for so few and so small batches.
    """
    delta = chosen_delta(params.delta, n_rows)
    epsilon, noise = _budget_and_noise(params.epsilon, params.noise_multiplier)
    chosen = {
        name: getattr(params, name)
        for name in ("batch_size", "n_epochs", "clip_threshold", "learning_rate", "alpha")
    }
    _check_bound(params.max_row_norm)
    calibrated = noise is None
    if calibrated:
        _check_threshold(params.clip_threshold)
        settings = calibrated_hyperparameters(
            n_rows=n_rows,
            n_features=n_features,
            n_classes=n_classes,
            mu=_gaussian_mu(epsilon, delta),
            most_a_step=_MOST_A_STEP[unit],
            **chosen,
        )
        counts = _count_plans(settings, params, n_classes, unit)
        noise = _calibrated_noise(settings, epsilon, delta, n_rows, counts)
        gradient = _gradient_plan(settings, noise, n_rows, params.max_row_norm)
        asked = f"epsilon={epsilon!r}"
    else:
        if noise > 0.0:
            _check_threshold(params.clip_threshold)
        settings = textbook_hyperparameters(n_rows=n_rows, **chosen)
        counts = _count_plans(settings, params, n_classes, unit)
        gradient = _gradient_plan(settings, noise, n_rows, params.max_row_norm)
        asked = f"noise_multiplier={noise!r}"
    _check_arithmetic(gradient, n_features, n_classes, asked=asked, unit=unit)
    _check_counts(counts, asked=asked)
    if not calibrated and epsilon is not None:
        gradient = _cut_to_budget(gradient, epsilon, delta)
    rate_is_given = params.learning_rate != "auto"
    if rate_is_given:
        _check_penalty(settings.learning_rate, params.alpha)
    plan = TrainingPlan(
        gradient=gradient,
        **counts,
        epsilon=math.inf,
        delta=delta,
        n_steps_asked=settings.n_steps,
        learning_rate=settings.learning_rate,
        rate_is_given=rate_is_given,
        alpha=float(params.alpha),
        averaged_share=settings.averaged_share if params.average else 0.0,
        scale_is_given=settings.scale_is_given,
        signal=settings.signal,
        unit=unit,
    )
    return dataclasses.replace(plan, epsilon=get_epsilon(plan.mechanisms, delta))


def warn_about_weak_promises(plan: TrainingPlan) -> None:
    """Warn of what weakens the promise, and of nothing else.

    Every text is made of the plan's public numbers.
    """
    gradient = plan.gradient
    messages = []
    epsilon = plan.epsilon
    if gradient.noise_multiplier == 0.0:
        epsilon = 0.0
        messages.append(
            "noise_multiplier=0 trains without noise: the model has no privacy at all "
            "(epsilon_ is inf)"
        )
    messages += weaknesses(epsilon, plan.delta, gradient.n_rows, unit=plan.unit)
    if gradient.n_steps < plan.n_steps_asked:
        messages.append(
            f"the budget ends training after {gradient.n_steps} of {plan.n_steps_asked} steps; "
            "raise epsilon or noise_multiplier, or lower n_epochs"
        )
    for message in messages:
        # From fit's caller: this function, fit, and its wrappers.
        warnings.warn(message, PrivacyWarning, stacklevel=3 + N_WRAPPERS_OF_FIT)


def _budget_and_noise(
    epsilon: float | str | None, noise_multiplier: float | str
) -> tuple[float | None, float | None]:
    """Read the budget table: (epsilon or None for no budget, noise or None to calibrate)."""
    if epsilon not in ("auto", None) and math.isinf(epsilon):
        raise PrivacyError(
            "epsilon=inf is no budget: use noise_multiplier=0 to train without privacy"
        )
    if noise_multiplier == "auto":
        if epsilon is None:
            raise PrivacyError(
                'epsilon=None with noise_multiplier="auto" says nothing about how much noise to '
                "add: set one of them"
            )
        return (1.0 if epsilon == "auto" else float(epsilon)), None
    if epsilon in ("auto", None):
        return None, float(noise_multiplier)
    if noise_multiplier == 0.0:
        raise BudgetExhaustedError(
            f"noise_multiplier=0 spends more than epsilon={epsilon!r} with the first step: raise "
            "noise_multiplier, or set epsilon=None to train without privacy"
        )
    return float(epsilon), float(noise_multiplier)


def _gaussian_mu(epsilon: float, delta: float) -> float:
    """The mu whose Gaussian differential privacy is (epsilon, delta): one full-batch step's."""
    return 1.0 / calibrate_noise_multiplier(epsilon, delta, 1.0, 1)


def _count_plans(
    settings: Hyperparameters, params: Any, n_classes: int, unit: str
) -> dict[str, CountPlan | None]:
    """The releases before the first step, where the settings pay for them and they are of use."""
    counts: dict[str, CountPlan | None] = {
        "class_counts": None,
        "norm_counts": None,
        "unit_norm_counts": None,
    }
    if settings.class_mu and params.fit_intercept:
        counts["class_counts"] = CountPlan(n_classes, 1.0 / settings.class_mu, centred=True)
    if settings.norm_mu:
        norms = CountPlan(len(NORM_EXPONENTS), 1.0 / settings.norm_mu)
        counts["norm_counts"] = norms
        if unit == "unit":
            # Two histograms share what one costs.
            half = dataclasses.replace(norms, noise_multiplier=norms.noise_multiplier * 2**0.5)
            counts["norm_counts"] = counts["unit_norm_counts"] = half
    return counts


def _calibrated_noise(
    settings: Hyperparameters,
    epsilon: float,
    delta: float,
    n_rows: int,
    counts: dict[str, CountPlan | None],
) -> float:
    """Noise multiplier of the steps, within what the counts leave of the budget."""
    before = tuple(plan.mechanism for plan in counts.values() if plan is not None)
    return multiplier_for_gradient(
        calibrate_noise_multiplier(
            epsilon,
            delta,
            settings.batch_size / n_rows,
            settings.n_steps,
            alongside=before,
        )
    )


def _check_threshold(clip_threshold: float | str) -> None:
    """What noise is to cover must be bounded, and far from where numbers over- or underflow."""
    if clip_threshold == "auto":
        return
    if math.isinf(clip_threshold):
        raise PrivacyError(
            "clip_threshold=inf leaves the gradients unbounded, so no noise can cover them: set a "
            "finite clip_threshold, or noise_multiplier=0 to train without privacy"
        )
    if not _IN_RANGE[0] <= clip_threshold <= _IN_RANGE[1]:
        raise ValueError(
            f"clip_threshold={clip_threshold!r} with noise must be between {_IN_RANGE[0]:g} and "
            f"{_IN_RANGE[1]:g}, so that neither the noise nor the sum leaves the range of numbers"
        )


def _check_bound(max_row_norm: float | None) -> None:
    if max_row_norm is not None and not _IN_RANGE[0] <= max_row_norm <= _IN_RANGE[1]:
        raise ValueError(
            f"max_row_norm={max_row_norm!r} must be between {_IN_RANGE[0]:g} and "
            f"{_IN_RANGE[1]:g}, so that squares of it stay within the range of numbers"
        )


def _check_penalty(learning_rate: float, alpha: float) -> None:
    """Refuse what is known to end in infinite weights, before anything is spent."""
    if learning_rate * alpha > 1.0:
        raise ValueError(
            f"learning_rate={learning_rate:g} times alpha={alpha:g} is above 1: the penalty alone "
            "would overshoot zero at every step; lower learning_rate or alpha"
        )


def _check_arithmetic(
    gradient: GradientPlan, n_features: int, n_classes: int, *, asked: str, unit: str
) -> None:
    """Refuse sizes at which rounding could pass what the accountant allows for it."""
    noise = gradient.noise_multiplier
    if noise == 0.0:
        return
    n_outputs = 1 if n_classes == 2 else n_classes
    # One intercept an output, fitted or not, and the count of clipped rows.
    size = (n_features + 1) * n_outputs + 1
    if not LEAST_NOISE <= noise <= largest_noise(size):
        raise CalibrationError(
            f"{asked} has noise of {noise:.3g} times the clip threshold. For {size} coordinates it "
            f"must be between {LEAST_NOISE:g} and {largest_noise(size):.3g} times, so that no "
            "release is out of another's reach and draws are fine enough: move it towards 1, or "
            "set noise_multiplier=0 to train without privacy"
        )
    if gradient.batch_size > _MOST_A_STEP[unit]:
        raise ValueError(
            f"batch_size={gradient.batch_size:g} is above {_MOST_A_STEP[unit]:,}, beyond which the "
            f"rounding of a sum over so many {unit}s could show through the noise: lower batch_size"
        )
    if gradient.n_rows > largest_sum(size):
        raise ValueError(
            f"{gradient.n_rows:,} {unit}s with {size} coordinates are too many for a sum that is "
            f"exact to the last bit; at most {largest_sum(size):.3g} are"
        )


def _check_counts(counts: dict[str, CountPlan | None], *, asked: str) -> None:
    for plan in counts.values():
        if plan is not None and plan.noise_multiplier > largest_exact_noise(plan.n_bins):
            raise CalibrationError(
                f"{asked} on so many rows needs counts with more noise than is exact on their "
                "grid; raise epsilon, or set clip_threshold and learning_rate"
            )


def _gradient_plan(
    settings: Hyperparameters, noise: float, n_rows: int, max_row_norm: float | None
) -> GradientPlan:
    return GradientPlan(
        n_rows=n_rows,
        batch_size=settings.batch_size,
        n_steps=settings.n_steps,
        clip_threshold=settings.clip_threshold,
        noise_multiplier=noise,
        max_row_norm=None if max_row_norm is None else float(max_row_norm),
    )


def _cut_to_budget(gradient: GradientPlan, epsilon: float, delta: float) -> GradientPlan:
    """Keep as many steps as the budget allows."""
    affordable = calibrate_n_steps(
        epsilon, delta, gradient.noise_multiplier / SENSITIVITY_FACTOR, gradient.sample_rate
    )
    if affordable == 0:
        raise BudgetExhaustedError(
            f"the first step with noise_multiplier={gradient.noise_multiplier!r} and batch_size="
            f"{gradient.batch_size:g} of {gradient.n_rows} would already exceed epsilon="
            f"{epsilon!r}: raise noise_multiplier or epsilon, or lower batch_size"
        )
    return dataclasses.replace(gradient, n_steps=min(gradient.n_steps, affordable))

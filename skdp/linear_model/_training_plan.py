"""From constructor arguments and public sizes to a frozen plan, before a single row is read.

The budget table of the estimator stands here; `_limits` has what is refused.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal

from skdp.exceptions import (
    BudgetExhaustedError,
    PrivacyError,
)
from skdp.linear_model._limits import (
    MOST_A_STEP,
    Sizes,
    check_arithmetic,
    check_bound,
    check_counts,
    check_penalty,
    check_threshold,
)
from skdp.linear_model._recipe import (
    Hyperparameters,
    calibrated_hyperparameters,
    slower_with_a_majority,
    textbook_hyperparameters,
    within_penalty,
)
from skdp.mechanisms._counts import NORM_EXPONENTS, count_plan
from skdp.mechanisms._gradient_plan import (
    SENSITIVITY_FACTOR,
    GradientPlan,
    multiplier_for_gradient,
)
from skdp.mechanisms._sum_plan import SumPlan
from skdp.privacy import (
    Gaussian,
    SubsampledGaussian,
    calibrate_n_steps,
    calibrate_noise_multiplier,
    get_epsilon,
)
from skdp.privacy._promise import chosen_delta, weaknesses

__all__ = ["TrainingPlan", "make_plan", "n_averaged_of", "weaknesses_of"]


@dataclass(frozen=True)
class TrainingPlan:
    """What will run and what it will cost.

    Parameters
    ----------
    gradient : GradientPlan
        The noisy steps: rows, batches, number, clip and noise.
    class_counts, norm_counts : SumPlan or None
        The releases before the first step, if any.
    epsilon, delta : float
        What the releases cost together.
    n_steps_asked : int
        Steps before the budget cut them, equal to `gradient.n_steps` where it did not.
    learning_rate : float
        Of the descent on the releases.
    rate_is_given : bool
        Whether no release may change the rate.
    alpha : float
        Penalty of the descent.
    averaged_share : float
        Share of the iterates, the last ones, whose mean is the model; 0 for the last one alone.
    scale_is_given : bool
        Whether threshold and rate are in the units of the data as they are, rather than in units
        of the rows' typical size.
    signal : float
        See `Hyperparameters`.
    unit_norm_counts : SumPlan or None
        One more release before the first step, where the unit is no row.
    unit : {"row", "unit"}
        Whom the promise is for: each row, or each unit of `privacy_unit`.
    """

    gradient: GradientPlan
    class_counts: SumPlan | None
    norm_counts: SumPlan | None
    epsilon: float
    delta: float
    n_steps_asked: int
    learning_rate: float
    rate_is_given: bool
    alpha: float
    averaged_share: float
    scale_is_given: bool
    signal: float
    unit_norm_counts: SumPlan | None = None
    unit: str = "row"

    @property
    def mechanisms(self) -> tuple[Gaussian | SubsampledGaussian, ...]:
        """The releases in their order, as the accountant takes them."""
        counts = (self.class_counts, self.norm_counts, self.unit_norm_counts)
        before = (plan.mechanism for plan in counts if plan is not None)
        return (*before, self.gradient.mechanism)

    def n_averaged(self, n_steps: int) -> int:
        """How many of the last iterates are averaged after `n_steps` steps."""
        return n_averaged_of(n_steps, self.averaged_share)

    def adapted(self, *, scale: float, unit_scale: float, margin: float) -> "TrainingPlan":
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
        margin : float
            Share of the largest class minus that of the second, as released.

        Returns
        -------
        plan : TrainingPlan
            With another clip threshold, learning rate and constant of the intercept.
        """
        gradient = dataclasses.replace(
            self.gradient,
            clip_threshold=self.gradient.clip_threshold * unit_scale,
            intercept_column=scale,
        )
        rate = self.learning_rate
        if not self.rate_is_given:
            rate *= slower_with_a_majority(self.signal, margin)
            rate /= scale * unit_scale
            rate = within_penalty(rate, self.alpha)
        return dataclasses.replace(self, gradient=gradient, learning_rate=rate)


def n_averaged_of(n_steps: int, averaged_share: float) -> int:
    """How many of the last iterates a share is."""
    return max(1, math.ceil(n_steps * averaged_share))


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

    Returns
    -------
    plan : TrainingPlan
        All numbers of a run, and what the run costs.

    Raises
    ------
    PrivacyError
        Where the combination asks for no privacy or for nothing at all.
    BudgetExhaustedError
        Where the first step would already exceed epsilon.
    CalibrationError
        Where no noise is the answer, since delta alone pays for so few and so small batches.
    """
    sizes = Sizes(n_rows, n_features, n_classes, unit)
    delta = chosen_delta(params.delta, n_rows)
    epsilon, noise = _budget_and_noise(params.epsilon, params.noise_multiplier)
    check_bound(params.max_row_norm)
    if noise != 0.0:
        check_threshold(params.clip_threshold)
    if noise is None:
        settings = _settings(params, sizes, mu=_gaussian_mu(epsilon, delta))
        counts = _count_plans(settings, params, sizes)
        asked = f"epsilon={epsilon!r}"
        multiplier = _calibrated_noise(settings, epsilon, delta, n_rows, counts)
    else:
        settings = _settings(params, sizes, mu=None)
        counts = _count_plans(settings, params, sizes)
        asked = f"noise_multiplier={noise!r}"
        multiplier = noise
    gradient = _gradient_plan(settings, multiplier, n_rows, params.max_row_norm)
    check_arithmetic(gradient, sizes, asked=asked)
    check_counts(counts, asked=asked)
    if noise is not None and math.isfinite(epsilon):
        gradient = _cut_to_budget(gradient, epsilon, delta)
    return _priced(params, settings, gradient, counts, delta=delta, unit=unit)


def weaknesses_of(plan: TrainingPlan) -> list[str]:
    """What weakens the promise, and nothing else, in the plan's public numbers."""
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
    return messages


def _budget_and_noise(
    epsilon: float | Literal["auto"] | None, noise_multiplier: float | Literal["auto"]
) -> tuple[float, float | None]:
    """Read the budget table: (epsilon, infinite for no budget; noise or None to calibrate)."""
    if epsilon is not None and epsilon != "auto" and math.isinf(epsilon):
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
        return math.inf, float(noise_multiplier)
    if noise_multiplier == 0.0:
        raise BudgetExhaustedError(
            f"noise_multiplier=0 spends more than epsilon={epsilon!r} with the first step: raise "
            "noise_multiplier, or set epsilon=None to train without privacy"
        )
    return float(epsilon), float(noise_multiplier)


def _settings(params: Any, sizes: Sizes, *, mu: float | None) -> Hyperparameters:
    """What was chosen, and the rest by the recipe; without a budget mu, by the textbook."""
    chosen = {
        name: getattr(params, name)
        for name in ("batch_size", "n_epochs", "clip_threshold", "learning_rate", "alpha")
    }
    if mu is None:
        return textbook_hyperparameters(n_rows=sizes.n_rows, **chosen)
    return calibrated_hyperparameters(
        n_rows=sizes.n_rows,
        n_features=sizes.n_features,
        n_classes=sizes.n_classes,
        mu=mu,
        most_a_step=MOST_A_STEP[sizes.unit],
        **chosen,
    )


def _priced(
    params: Any,
    settings: Hyperparameters,
    gradient: GradientPlan,
    counts: dict[str, SumPlan | None],
    *,
    delta: float,
    unit: str,
) -> TrainingPlan:
    """The whole plan, with what its releases cost together."""
    rate_is_given = params.learning_rate != "auto"
    if rate_is_given:
        check_penalty(settings.learning_rate, params.alpha)
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


def _gaussian_mu(epsilon: float, delta: float) -> float:
    """The mu whose Gaussian differential privacy is (epsilon, delta): one full-batch step's."""
    return 1.0 / calibrate_noise_multiplier(epsilon, delta, 1.0, 1)


def _count_plans(settings: Hyperparameters, params: Any, sizes: Sizes) -> dict[str, SumPlan | None]:
    """The releases before the first step, where the settings pay for them and they are of use."""
    counts: dict[str, SumPlan | None] = {
        "class_counts": None,
        "norm_counts": None,
        "unit_norm_counts": None,
    }
    if settings.class_mu and params.fit_intercept:
        counts["class_counts"] = count_plan(sizes.n_classes, 1.0 / settings.class_mu, centred=True)
    if settings.norm_mu:
        norms = count_plan(len(NORM_EXPONENTS), 1.0 / settings.norm_mu)
        counts["norm_counts"] = norms
        if sizes.unit == "unit":
            # Two histograms share what one costs.
            half = dataclasses.replace(norms, noise_multiplier=norms.noise_multiplier * 2**0.5)
            counts["norm_counts"] = counts["unit_norm_counts"] = half
    return counts


def _calibrated_noise(
    settings: Hyperparameters,
    epsilon: float,
    delta: float,
    n_rows: int,
    counts: dict[str, SumPlan | None],
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

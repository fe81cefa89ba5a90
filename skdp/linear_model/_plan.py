"""From constructor arguments and public sizes to a frozen plan, before a single row is read.

The budget table of the estimator and all rules between parameters stand here.
"""

import dataclasses
import math
import warnings
from dataclasses import dataclass
from typing import Any

from skdp.exceptions import BudgetExhaustedError, PrivacyError, PrivacyWarning
from skdp.linear_model._recipe import (
    Hyperparameters,
    calibrated_hyperparameters,
    textbook_hyperparameters,
)
from skdp.mechanisms._plan import (
    SENSITIVITY_FACTOR,
    GradientPlan,
    multiplier_for_gradient,
)
from skdp.privacy import (
    SubsampledGaussian,
    calibrate_n_steps,
    calibrate_noise_multiplier,
    get_epsilon,
)

__all__ = ["TrainingPlan", "make_plan", "warn_about_weak_promises"]


_IN_RANGE = (1e-100, 1e100)


@dataclass(frozen=True)
class TrainingPlan:
    """What will run and what it will cost.

    Parameters
    ----------
    gradient : GradientPlan
        The noisy releases: rows, batches, steps, clip and noise.
    epsilon, delta : float
        What the releases cost together.
    n_steps_asked : int
        Steps before the budget cut them, equal to `gradient.n_steps` where it did not.
    learning_rate, alpha : float
        Of the descent on the releases.
    average : bool
        Whether the model is the mean of the last quarter of the iterates.
    """

    gradient: GradientPlan
    epsilon: float
    delta: float
    n_steps_asked: int
    learning_rate: float
    alpha: float
    average: bool

    @property
    def mechanisms(self) -> tuple[SubsampledGaussian, ...]:
        """The releases, as the accountant takes them."""
        return (self.gradient.mechanism,)

    def n_averaged(self, n_steps: int) -> int:
        """How many of the last iterates are averaged after `n_steps` steps."""
        return math.ceil(n_steps / 4) if self.average else 1


def make_plan(params: Any, *, n_rows: int, n_features: int) -> TrainingPlan:
    """Settle noise, steps and all that is "auto".

    Parameters
    ----------
    params : object
        Carries the constructor arguments of the estimator as attributes; nothing else is read.
    n_rows, n_features : int
        Size of the data, public numbers.

    Raises
    ------
    PrivacyError
        Where the combination asks for no privacy or for nothing at all.
    BudgetExhaustedError
        Where the first step would already exceed epsilon.
    CalibrationError
        Where no noise is the answer, since delta alone pays for so few and so small batches.
    """
    delta = min(1e-5, 1.0 / (2.0 * n_rows)) if params.delta == "auto" else float(params.delta)
    epsilon, noise = _budget_and_noise(params.epsilon, params.noise_multiplier)
    chosen = {
        name: getattr(params, name)
        for name in ("batch_size", "n_epochs", "clip_threshold", "learning_rate", "alpha")
    }
    if noise is None:
        _check_threshold(params.clip_threshold)
        settings = calibrated_hyperparameters(
            n_rows=n_rows, n_features=n_features, epsilon=epsilon, delta=delta, **chosen
        )
        noise = multiplier_for_gradient(
            calibrate_noise_multiplier(
                epsilon, delta, settings.batch_size / n_rows, settings.n_steps
            )
        )
        gradient = _gradient_plan(settings, noise, n_rows, params.max_row_norm)
    else:
        if noise > 0.0:
            _check_threshold(params.clip_threshold)
        settings = textbook_hyperparameters(n_rows=n_rows, **chosen)
        gradient = _gradient_plan(settings, noise, n_rows, params.max_row_norm)
        _check_noise(noise)
        if epsilon is not None:
            gradient = _cut_to_budget(gradient, epsilon, delta)
    _check_penalty(settings.learning_rate, params.alpha)
    return TrainingPlan(
        gradient=gradient,
        epsilon=get_epsilon(gradient.mechanism, delta),
        delta=delta,
        n_steps_asked=settings.n_steps,
        learning_rate=settings.learning_rate,
        alpha=float(params.alpha),
        average=bool(params.average),
    )


def warn_about_weak_promises(plan: TrainingPlan) -> None:
    """Warn of what weakens the promise, and of nothing else.

    Every text is made of the plan's public numbers.
    """
    gradient = plan.gradient
    messages = []
    if gradient.noise_multiplier == 0.0:
        messages.append(
            "noise_multiplier=0 trains without noise: the model has no privacy at all "
            "(epsilon_ is inf)"
        )
    elif plan.epsilon > 10.0:
        messages.append(
            f"epsilon_ is {plan.epsilon:.4g}: above 10 the guarantee says little about what an "
            "attacker can learn; lower epsilon or raise noise_multiplier"
        )
    if plan.delta >= 1.0 / gradient.n_rows:
        messages.append(
            f"delta={plan.delta:.4g} is at least 1 / n_rows ({gradient.n_rows} rows): publishing "
            'a random row would pass as private; choose a smaller delta, or delta="auto"'
        )
    if gradient.n_steps < plan.n_steps_asked:
        messages.append(
            f"the budget ends training after {gradient.n_steps} of {plan.n_steps_asked} steps; "
            "raise epsilon or noise_multiplier, or lower n_epochs"
        )
    for message in messages:
        # From fit's caller: this function, fit, the wrapper that validates parameters.
        warnings.warn(message, PrivacyWarning, stacklevel=4)


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


def _check_penalty(learning_rate: float, alpha: float) -> None:
    """Refuse what is known to end in infinite weights, before anything is spent."""
    if learning_rate * alpha > 1.0:
        raise ValueError(
            f"learning_rate={learning_rate:g} times alpha={alpha:g} is above 1: the penalty alone "
            "would overshoot zero at every step; lower learning_rate or alpha"
        )


def _check_noise(noise: float) -> None:
    if noise and not _IN_RANGE[0] <= noise <= _IN_RANGE[1]:
        raise ValueError(
            f"noise_multiplier={noise!r} must be 0 or between {_IN_RANGE[0]:g} and "
            f"{_IN_RANGE[1]:g}, so that the noise stays within the range of numbers"
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
            f"{gradient.batch_size:g} of {gradient.n_rows} rows would already exceed epsilon="
            f"{epsilon!r}: raise noise_multiplier or epsilon, or lower batch_size"
        )
    return dataclasses.replace(gradient, n_steps=min(gradient.n_steps, affordable))

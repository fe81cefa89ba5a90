"""NoisyGradient: sample, clip, sum, add noise once, and release.

What it returns is the Gaussian mechanism on a Poisson sample of the rows (Abadi et al. 2016, "Deep
learning with differential privacy"); by the post-processing theorem, nothing that is computed
from it costs more.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from skdp.mechanisms._clipping import ClippedGradient
from skdp.mechanisms._gradient_plan import GradientPlan
from skdp.mechanisms._noise import RandomSource
from skdp.mechanisms._release import NoisyReleases
from skdp.mechanisms._sampling import poisson_blocks
from skdp.mechanisms._unit_clipping import UnitGradient
from skdp.mechanisms._units import Units

__all__ = ["NoisyGradient"]


class NoisyGradient:
    """Noisy sums of clipped gradients, one a call, at most `plan.n_steps` of them.

    Guarantee: all that the calls return is one run of `plan.mechanism`, for neighbours that
    differ in one row which contributes nothing in one of them.

    - Each call draws a fresh batch, every row independently with chance `plan.sample_rate`.
    - One row moves the returned vector by at most `plan.clip_threshold` times the factor that
      the accountant divides by.
    - Every coordinate gets its own normal noise at every call, drawn rows or none, and is a
      multiple of a public grid's spacing.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features), float32 or float64
        Rows, finite where they are usable.
    targets : ndarray of shape (n_rows,)
        Labels as `loss` wants them.
    loss : object
        Turns logits and targets into residuals; see `skdp.linear_model._losses`.
    plan : GradientPlan
        Sample rate, threshold, noise and number of steps.
    sampling, noise : RandomSource
        Two separate streams.
    fit_intercept : bool
        Whether the weights have an intercept.
    units : Units or None
        Which rows belong to one unit of privacy; None where each row is one. The guarantee is then
        for the unit: it is drawn, clipped and counted as a whole, and `plan.n_rows` is the number
        of units.
    usable : ndarray of bool of shape (n_rows,) or None
        Which rows contribute; the others, whatever they hold, add nothing to any release. None
        for all.
    """

    def __init__(
        self,
        X,
        targets,
        loss,
        plan: GradientPlan,
        *,
        sampling: RandomSource,
        noise: RandomSource,
        fit_intercept: bool,
        units: Units | None = None,
        usable: np.ndarray | None = None,
    ):
        n_weights = (X.shape[1] + fit_intercept) * loss.n_outputs
        self.n_weights = n_weights
        self._count_scale = plan.count_scale
        self._clipped: ClippedGradient | UnitGradient
        if units is None:
            self._clipped = ClippedGradient(
                X, targets, loss, plan, fit_intercept=fit_intercept, usable=usable
            )
        else:
            self._clipped = UnitGradient(
                X, targets, loss, plan, units, fit_intercept=fit_intercept, usable=usable
            )
        # The sampler reads the very object that the accountant reads.
        ran = plan.mechanism
        self._batches: Iterator[Any] = self._clipped.fetch(
            poisson_blocks(plan.n_rows, ran.sample_rate, ran.n_steps, sampling)
        )
        self._releases = NoisyReleases(
            n_weights + 1,
            sensitivity=plan.clip_threshold,
            noise_scale=plan.noise_scale,
            n_releases=ran.n_steps,
            source=noise,
        )

    def __call__(self, weights: np.ndarray) -> np.ndarray:
        """Release the noisy sum at the given weights.

        Parameters
        ----------
        weights : ndarray of shape (n_weights,)
            The coefficients, (n_features, n_outputs) in C order, then the intercepts. They must
            come from public numbers and earlier releases alone.

        Returns
        -------
        release : ndarray of shape (n_weights + 1,)
            Clipped sum plus noise, laid out as the weights; last, the number of clipped rows
            times `plan.count_scale`, under the same noise.

        Raises
        ------
        RuntimeError
            When all steps of the plan have been taken.
        """
        pieces = next(self._batches, None)
        if pieces is None:
            raise RuntimeError("all steps of the plan have been taken")
        total = np.zeros(self.n_weights + 1)
        n_clipped = self._clipped.add_to(total[:-1], pieces, weights)
        total[-1] = n_clipped * self._count_scale
        return self._releases.add_noise(total)

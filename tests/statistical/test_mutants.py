"""Classic mistakes, planted one at a time: each of them breaks a claim that the code keeps.

A mutant that no claim catches is a claim that is missing.
"""

import dataclasses
import itertools
import math
import warnings
from collections.abc import Callable
from typing import NamedTuple

import claims
import numpy as np
import pytest

from skdp import DPSGDClassifier
from skdp.linear_model import _dpsgd, _first_releases, _training_plan
from skdp.linear_model._start import intercept_of
from skdp.linear_model._training_plan import TrainingPlan
from skdp.mechanisms import _clipping, _gradient, _noise, _release, _unit_clipping
from skdp.mechanisms._clipping import ClippedGradient
from skdp.mechanisms._gradient import NoisyGradient
from skdp.mechanisms._gradient_plan import GradientPlan
from skdp.mechanisms._noise import SeededSource, Streams
from skdp.mechanisms._release import NoisyReleases
from skdp.mechanisms._sampling import Block
from skdp.mechanisms._sum_plan import SumPlan
from skdp.mechanisms._units import Units
from skdp.privacy import SubsampledGaussian

CLAIMS = (
    claims.one_row_moves_no_release_beyond_its_sensitivity,
    claims.one_unit_moves_no_release_beyond_its_sensitivity,
    claims.nothing_else_depends_on_a_row,
    claims.nothing_else_depends_on_a_unit,
    claims.only_priced_releases_are_made_with_fresh_noise,
    claims.every_release_is_paid_for,
    claims.the_fit_can_be_replayed_without_data,
    claims.every_row_is_drawn_as_priced,
    claims.sums_over_many_rows_are_exact,
    claims.rows_without_numbers_are_refused_alike,
    claims.clones_share_no_noise,
)


@pytest.mark.slow
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.__name__)
def test_the_claims_hold_of_the_code_as_it_is(claim):
    """So that a claim that fails of a mutant says something about the mutant."""
    claim()


# The size of the noise


def noise_divided_by_the_batch_size_twice(patch):
    """Once in the trusted code, and once more with the sum."""
    scale = GradientPlan.noise_scale.fget
    patch.setattr(GradientPlan, "noise_scale", property(lambda p: scale(p) / p.batch_size))


def effective_multiplier_ignored(patch):
    """The count of clipped rows rides along for nothing."""

    def mechanism(plan):
        return SubsampledGaussian(plan.noise_multiplier, plan.sample_rate, plan.n_steps)

    patch.setattr(GradientPlan, "mechanism", property(mechanism))


def counts_with_half_their_noise(patch):
    """As if a row were one half of a count."""
    scale = SumPlan.noise_scale.fget
    patch.setattr(SumPlan, "noise_scale", property(lambda plan: scale(plan) / 2))


# Where the noise goes


def noise_left_off_the_intercept(patch):
    """The intercept stands last but one, before the count."""
    add_noise = NoisyReleases.add_noise

    def spare_the_intercept(releases, total):
        intercept = total[-2]
        release = add_noise(releases, total)
        release[-2] = intercept
        return release

    patch.setattr(NoisyReleases, "add_noise", spare_the_intercept)


def noise_on_touched_columns_only(patch):
    """What no row of the batch touches stays zero."""
    add_noise = NoisyReleases.add_noise

    def spare_zeros(releases, total):
        touched = total != 0.0
        return add_noise(releases, total) * touched

    patch.setattr(NoisyReleases, "add_noise", spare_zeros)


def no_noise_for_an_empty_batch(patch):
    """Nobody is in it, so there seems to be nothing to hide."""
    add_noise = NoisyReleases.add_noise

    def skip(releases, total):
        return add_noise(releases, total) if total.any() else total

    patch.setattr(NoisyReleases, "add_noise", skip)


def sums_that_are_not_rounded(patch):
    """On a grid this fine, noise meets the low-order bits of the sum."""
    spacing = _release.grid_spacing
    patch.setattr(_release, "grid_spacing", lambda *sizes: spacing(*sizes) / 2.0**20)


def one_noise_draw_reused(patch):
    """The first release's noise serves them all."""
    opened = NoisyReleases.__init__

    def init(releases, size, **sizes):
        opened(releases, size, **sizes)
        releases._shifted_noise = itertools.repeat(next(releases._shifted_noise))

    patch.setattr(NoisyReleases, "__init__", init)


def one_noise_draw_for_every_step_of_a_block(patch):
    """The same mistake, in the source."""
    normal = SeededSource.normal

    def repeated(source, shape):
        draws = normal(source, shape)
        draws[:] = draws[:1]
        return draws

    patch.setattr(SeededSource, "normal", repeated)


def sampling_and_noise_from_one_stream(patch):
    """Named after the release alone."""
    patch.setattr(
        Streams,
        "open",
        lambda self, release, purpose: _noise.random_source(self.seed, self.owner, release),
    )


def a_seed_reused_by_clones(patch):
    """Drawn once for the class, as a default is."""
    draw_seed = _noise.draw_seed
    patch.setattr(_dpsgd, "draw_seed", lambda state: 20 if state is None else draw_seed(state))


# The clip and the sum


def a_threshold_twice_as_large(patch):
    """As if a row were replaced and the noise were for that."""
    limits = _clipping.residual_limits
    patch.setattr(_clipping, "residual_limits", lambda norms, c: limits(norms, 2 * c))


def clip_after_averaging(patch):
    """The mean of the batch is shrunk to the threshold, and the rows are not."""
    opened, add_to = ClippedGradient.__init__, ClippedGradient.add_to

    def init(clipped, X, targets, loss, plan, **rest):
        opened(clipped, X, targets, loss, plan, **rest)
        clipped.threshold = plan.clip_threshold
        clipped._limits[clipped._limits > 0] = np.inf

    def clip_the_mean(clipped, total, pieces, weights):
        counting, batch = counted(pieces)
        add_to(clipped, total, counting, weights)
        longest = clipped.threshold * max(1, batch.n_rows)
        total *= min(1.0, longest / max(np.linalg.norm(total), 1e-300))
        return 0

    patch.setattr(ClippedGradient, "__init__", init)
    patch.setattr(ClippedGradient, "add_to", clip_the_mean)


def clip_on_weights_only(patch):
    """The gradient of the intercept is forgotten when its length is measured."""
    opened = ClippedGradient.__init__

    def init(clipped, X, targets, loss, plan, **rest):
        opened(clipped, X, targets, loss, plan, **rest)
        clipped._limits = _clipping.residual_limits(clipped._rows.norms(), plan.clip_threshold)

    patch.setattr(ClippedGradient, "__init__", init)


def a_row_without_a_finite_logit_through_the_clip(patch):
    """Neither smaller nor larger than the limit, NaN passes any comparison."""
    patch.setattr(_clipping, "_unusable", lambda scores, limits: np.zeros(len(limits), dtype=bool))


def a_nan_row_let_in(patch):
    """The table is not looked through."""
    patch.setitem(_dpsgd._DATA_CHECKS, "ensure_all_finite", False)


def sums_in_single_precision(patch):
    """The type of the rows is kept for their sum."""
    add_to = ClippedGradient.add_to

    def add_in_single(clipped, total, pieces, weights):
        n_clipped = add_to(clipped, total, pieces, weights)
        total[...] = total.astype(np.float32)
        return n_clipped

    patch.setattr(ClippedGradient, "add_to", add_in_single)


def clipped_rows_counted_at_full_weight(patch):
    """A clipped row then moves the release by the root of two thresholds."""
    patch.setattr(GradientPlan, "count_scale", property(lambda plan: plan.clip_threshold))


def an_exact_count_of_clipped_rows(patch):
    """The number beside the sum leaves as it was counted."""
    add_to, call = ClippedGradient.add_to, NoisyGradient.__call__

    def remember(clipped, total, pieces, weights):
        clipped.n_clipped = add_to(clipped, total, pieces, weights)
        return clipped.n_clipped

    def without_noise_on_the_count(gradient, weights):
        release = call(gradient, weights)
        release[-1] = gradient._clipped.n_clipped * gradient._count_scale
        return release

    patch.setattr(ClippedGradient, "add_to", remember)
    patch.setattr(NoisyGradient, "__call__", without_noise_on_the_count)


def divisor_from_the_realised_batch(patch):
    """The noisy sum is divided by how many rows were drawn."""
    opened, add_to, call = NoisyGradient.__init__, ClippedGradient.add_to, NoisyGradient.__call__

    def init(gradient, X, targets, loss, plan, **rest):
        opened(gradient, X, targets, loss, plan, **rest)
        gradient.batch_size = plan.batch_size

    def count(clipped, total, pieces, weights):
        counting, clipped.batch = counted(pieces)
        return add_to(clipped, total, counting, weights)

    def divided(gradient, weights):
        release = call(gradient, weights)
        return release * (gradient.batch_size / max(1, gradient._clipped.batch.n_rows))

    patch.setattr(NoisyGradient, "__init__", init)
    patch.setattr(ClippedGradient, "add_to", count)
    patch.setattr(NoisyGradient, "__call__", divided)


class Batch:
    """How many rows have been seen."""

    n_rows = 0


def counted(pieces):
    """The pieces of a batch, and what will have counted their rows when they are used up."""
    batch = Batch()

    def counting():
        for selection, piece in pieces:
            batch.n_rows += piece.shape[0]
            yield selection, piece

    return counting(), batch


# Units of several rows


def units_measured_by_their_intercepts_alone(patch):
    """A unit's gradient is then as long as it likes in the coefficients."""
    patch.setattr(_unit_clipping, "_squares", lambda sums: 0.0)


def every_row_of_a_unit_counted_in_full(patch):
    """A person of five rows is five in a histogram."""
    patch.setattr(Units, "sizes_by_row", lambda units: np.ones_like(units._codes))


def n_in_delta_from_the_number_of_rows(patch):
    """The default delta then tells how many rows there are."""
    make_plan, units_of = _dpsgd.make_plan, _dpsgd.units_of
    seen = {}

    def count(privacy_unit, n_rows, **rows):
        seen["n_rows"] = n_rows
        return units_of(privacy_unit, n_rows, **rows)

    def plan_of_rows(params, **sizes):
        plan = make_plan(params, **sizes)
        return dataclasses.replace(plan, delta=1 / (2 * seen.get("n_rows", 40)))

    patch.setattr(_dpsgd, "units_of", count)
    patch.setattr(_dpsgd, "make_plan", plan_of_rows)


# The sampler and the plan


def shuffled_batches_accounted_as_poisson(patch):
    """Every epoch deals the rows out in batches of one size."""

    def shuffled(n_rows, sample_rate, n_steps, source):
        size = round(n_rows * sample_rate)
        batches_per_epoch = n_rows // size
        for step in range(n_steps):
            place = step % batches_per_epoch
            if place == 0:
                order = np.argsort(source.exponential(n_rows))
            yield Block(np.sort(order[place * size : (place + 1) * size]), [size])

    patch.setattr(_gradient, "poisson_blocks", shuffled)


def rows_drawn_with_replacement(patch):
    """As many as the batch should have; some of them twice."""
    poisson_blocks = _gradient.poisson_blocks

    def redrawn(n_rows, sample_rate, n_steps, source):
        for rows, stops in poisson_blocks(n_rows, sample_rate, n_steps, source):
            uniform = np.exp(-source.exponential(stops[-1]))
            rows = (n_rows * uniform).astype(np.int64)
            yield Block(np.minimum(rows, n_rows - 1), stops)

    patch.setattr(_gradient, "poisson_blocks", redrawn)


def a_batch_reused_between_steps(patch):
    """Drawn once for two steps."""
    poisson_blocks = _gradient.poisson_blocks

    def twice(n_rows, sample_rate, n_steps, source):
        if sample_rate == 1.0:
            yield from poisson_blocks(n_rows, sample_rate, n_steps, source)
            return
        for rows, stops in poisson_blocks(n_rows, sample_rate, math.ceil(n_steps / 2), source):
            for start, stop in zip([0, *stops], stops, strict=False):
                yield Block(np.tile(rows[start:stop], 2), [stop - start, 2 * (stop - start)])

    patch.setattr(_gradient, "poisson_blocks", twice)


def rate_of_whole_batches(plan):
    return 1.0 / math.ceil(plan.n_rows / plan.batch_size)


def q_from_whole_batches(patch):
    """1 / ceil(n / b) instead of b / n, for the sampler and the accountant alike."""
    patch.setattr(GradientPlan, "sample_rate", property(rate_of_whole_batches))


def q_from_whole_batches_for_the_accountant_alone(patch):
    """Then rows are drawn more often than is priced."""
    reprice(patch, lambda plan: {"sample_rate": rate_of_whole_batches(plan)})


def steps_rounded_differently_by_trainer_and_plan(patch):
    """Whole epochs are priced, and the last partial one is taken all the same."""
    reprice(
        patch,
        lambda plan: {
            "n_steps": max(1, int(int(plan.n_steps * plan.sample_rate) / plan.sample_rate))
        },
    )


def reprice(patch, changes):
    """State other steps than the plan has."""
    mechanisms = TrainingPlan.mechanisms.fget

    def repriced(plan):
        *counts, steps = mechanisms(plan)
        return (*counts, dataclasses.replace(steps, **changes(plan.gradient)))

    patch.setattr(TrainingPlan, "mechanisms", property(repriced))


def a_neighbours_n_in_q(patch):
    """Rows that hold nothing are dropped before they are numbered."""
    fit = _dpsgd.DPSGDClassifier.fit

    def fit_to_what_holds_something(model, X, y, privacy_unit=None):
        kept = np.asarray(X).any(axis=1)
        return fit(model, X[kept], y[kept], privacy_unit)

    patch.setattr(_dpsgd.DPSGDClassifier, "fit", fit_to_what_holds_something)


# What stays, and what decides


def a_label_set_from_y(patch):
    """The declared label set is not listened to."""
    encode = _dpsgd.encode_labels
    patch.setattr(_dpsgd, "encode_labels", lambda y, classes, **rows: encode(y, None, **rows))


def an_exact_class_count_in_a_fallback(patch):
    """Where no noisy counts were paid for, the intercept starts from the true ones."""
    first_releases = _dpsgd.first_releases

    def with_a_fallback(plan, X, codes, *rest):
        adapted, intercept = first_releases(plan, X, codes, *rest)
        if plan.class_counts is None and codes.max() == 1:
            intercept = intercept_of((np.bincount(codes) + 1) / (len(codes) + 2))
        return adapted, intercept

    patch.setattr(_dpsgd, "first_releases", with_a_fallback)


def counts_left_out_of_the_price(patch):
    """They are listed, and `epsilon_` is the cost of the steps."""
    cost = _training_plan.get_epsilon
    patch.setattr(
        _training_plan, "get_epsilon", lambda mechanisms, delta: cost(mechanisms[-1:], delta)
    )


def counts_calibrated_for_nothing(patch):
    """The steps get the whole budget, and the counts come on top."""
    calibrate = _training_plan.calibrate_noise_multiplier
    patch.setattr(
        _training_plan,
        "calibrate_noise_multiplier",
        lambda *numbers, alongside=(): calibrate(*numbers),
    )


def counts_without_noise(patch):
    """A histogram seems harmless."""

    def exact(bins, plan, source, **rest):
        return np.bincount(bins[bins >= 0], minlength=plan.size).astype(float)

    patch.setattr(_first_releases, "noisy_counts", exact)


def an_error_that_says_in_which_row(patch):
    """Helpful, and one row's value decides what it says."""
    read = _dpsgd.read_usable_rows

    def look_first(estimator, X, **checks):
        bad = np.flatnonzero(~np.isfinite(X.sum(axis=1)))
        if bad.size:
            raise ValueError(f"row {bad[0]} of X holds something else than numbers")
        return read(estimator, X, **checks)

    patch.setattr(_dpsgd, "read_usable_rows", look_first)


def an_exact_median_stored(patch):
    """For somebody who will scale by it."""
    store(patch, "median_", lambda X, y: np.median(X, axis=0))


def an_exact_count_stored(patch):
    """For somebody who will balance by it."""
    store(patch, "class_count_", lambda X, y: np.bincount(y, minlength=3))


def store(patch, name, value):
    """Let `fit` keep one number more."""
    fit = DPSGDClassifier.fit

    def fit_and_keep(model, X, y):
        fit(model, X, y)
        setattr(model, name, value(X, y))
        return model

    patch.setattr(DPSGDClassifier, "fit", fit_and_keep)


def a_warning_that_looks_at_the_rows(patch):
    """Friendly advice, which tells that a long row is there."""
    fit = DPSGDClassifier.fit

    def fit_and_warn(model, X, y):
        if np.abs(X).max() > 1e3:
            warnings.warn("some rows are very long: scale them", UserWarning, stacklevel=2)
        return fit(model, X, y)

    patch.setattr(DPSGDClassifier, "fit", fit_and_warn)


class Mutant(NamedTuple):
    """A mistake, the claim that it breaks, and what that claim then says."""

    plant: Callable
    claim: Callable
    words: str


BEYOND = (claims.one_row_moves_no_release_beyond_its_sensitivity, "a sum moved by")
OF_A_UNIT = (claims.one_unit_moves_no_release_beyond_its_sensitivity, "a sum moved by")
DEPENDS = (claims.nothing_else_depends_on_a_row, "what leaves depends on the rows: state")
REPLAY = (claims.the_fit_can_be_replayed_without_data, "what leaves depends on the rows: state")
REFUSED = claims.rows_without_numbers_are_refused_alike
PAID = claims.every_release_is_paid_for
PRICED = claims.only_priced_releases_are_made_with_fresh_noise
DRAWN = claims.every_row_is_drawn_as_priced

MUTANTS = [
    Mutant(noise_divided_by_the_batch_size_twice, *BEYOND),
    Mutant(effective_multiplier_ignored, *BEYOND),
    Mutant(counts_with_half_their_noise, *BEYOND),
    Mutant(noise_left_off_the_intercept, PRICED, "the noise of some coordinate"),
    Mutant(noise_on_touched_columns_only, PRICED, "the noise of some coordinate"),
    Mutant(no_noise_for_an_empty_batch, PRICED, "the noise of some coordinate"),
    Mutant(sums_that_are_not_rounded, PRICED, "off the public grid"),
    Mutant(one_noise_draw_reused, PRICED, "the noise of some coordinate"),
    Mutant(one_noise_draw_for_every_step_of_a_block, PRICED, "a draw of noise is used twice"),
    Mutant(sampling_and_noise_from_one_stream, PRICED, "a stream was opened twice"),
    Mutant(a_seed_reused_by_clones, claims.clones_share_no_noise, "two fits share their noise"),
    Mutant(a_threshold_twice_as_large, *BEYOND),
    Mutant(clip_after_averaging, *BEYOND),
    Mutant(clip_on_weights_only, *BEYOND),
    Mutant(a_row_without_a_finite_logit_through_the_clip, BEYOND[0], "training diverged"),
    Mutant(a_nan_row_let_in, REFUSED, "randomness was spent"),
    Mutant(sums_in_single_precision, claims.sums_over_many_rows_are_exact, "is off by"),
    Mutant(clipped_rows_counted_at_full_weight, *BEYOND),
    Mutant(an_exact_count_of_clipped_rows, *DEPENDS),
    Mutant(an_exact_count_of_clipped_rows, *REPLAY),
    Mutant(divisor_from_the_realised_batch, *DEPENDS),
    Mutant(divisor_from_the_realised_batch, *REPLAY),
    Mutant(units_measured_by_their_intercepts_alone, *OF_A_UNIT),
    Mutant(every_row_of_a_unit_counted_in_full, *OF_A_UNIT),
    Mutant(
        n_in_delta_from_the_number_of_rows,
        claims.nothing_else_depends_on_a_unit,
        "what leaves depends on the rows",
    ),
    Mutant(shuffled_batches_accounted_as_poisson, DRAWN, "a row is drawn in two steps 0 times"),
    Mutant(rows_drawn_with_replacement, *BEYOND),
    Mutant(a_batch_reused_between_steps, DRAWN, "a row is drawn in two steps"),
    Mutant(q_from_whole_batches, DRAWN, "the rate is not b / n"),
    Mutant(q_from_whole_batches_for_the_accountant_alone, DRAWN, "a row is drawn"),
    Mutant(steps_rounded_differently_by_trainer_and_plan, PRICED, "releases were made and"),
    Mutant(a_neighbours_n_in_q, claims.nothing_else_depends_on_a_row, "what leaves depends"),
    Mutant(a_label_set_from_y, claims.nothing_else_depends_on_a_row, "what leaves depends"),
    Mutant(an_exact_class_count_in_a_fallback, *DEPENDS),
    Mutant(an_exact_class_count_in_a_fallback, *REPLAY),
    Mutant(counts_left_out_of_the_price, PAID, "and the releases cost"),
    Mutant(counts_calibrated_for_nothing, PAID, "more than its budget"),
    Mutant(an_error_that_says_in_which_row, REFUSED, "what leaves depends on the rows: error"),
    Mutant(counts_without_noise, PRICED, "series of releases were made"),
    Mutant(an_exact_median_stored, *DEPENDS),
    Mutant(an_exact_median_stored, *REPLAY),
    Mutant(an_exact_count_stored, *DEPENDS),
    Mutant(a_warning_that_looks_at_the_rows, claims.nothing_else_depends_on_a_row, "said"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant", MUTANTS, ids=lambda mutant: f"{mutant.plant.__name__}-{mutant.claim.__name__}"
)
def test_a_planted_mistake_breaks_its_claim(mutant, monkeypatch):
    """And for its own reason, not because it cannot run at all."""
    mutant.plant(monkeypatch)
    with pytest.raises(AssertionError, match=mutant.words):
        mutant.claim()

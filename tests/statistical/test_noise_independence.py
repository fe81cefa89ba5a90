"""Noise is fresh in every process, clone and fit; sampling does not touch it; nor does the sum.

A correlation of m pairs of independent draws is beyond 6.8 / sqrt(m) with a chance of 1.1e-11, so
a test that looks at 45 of them fails by chance less than once in a billion runs. That holds also
of noise from `os.urandom`, which cannot be seeded. Fits that share their noise have a correlation
of 1.
"""

import itertools
import math
import multiprocessing

import joblib
import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.base import clone

from skdp import DPSGDClassifier
from skdp.linear_model._losses import loss_for
from skdp.mechanisms._gradient import NoisyGradient
from skdp.mechanisms._gradient_plan import GradientPlan
from skdp.mechanisms._noise import SeededSource, random_source
from skdp.mechanisms._release import grid_spacing

FALSE_ALARM = 1e-6
TOLERANCE = 6.8
N_WORKERS = 4
N_STEPS, N_FEATURES = 500, 8
START_METHODS = multiprocessing.get_all_start_methods()

# joblib's own workers start with a fresh interpreter; forked ones inherit every state there is.
# Python warns where a process with threads is forked, which the test runner may have.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def model_without_gradients(**params):
    """On rows of zeros, each step moves the coefficients by noise of standard deviation 1."""
    settings = {
        "noise_multiplier": 100.0,
        "batch_size": 100,
        "n_epochs": N_STEPS,
        "learning_rate": 1.0,
        "fit_intercept": False,
        "average": False,
        "store_path": True,
    }
    return DPSGDClassifier(**(settings | params))


ROWS, LABELS = np.zeros((100, N_FEATURES)), np.arange(100) % 2


def noise_of(model):
    path = model.coef_path_.reshape(N_STEPS, N_FEATURES)
    return np.diff(path, axis=0, prepend=0.0)


def fit(model):
    return model.fit(ROWS, LABELS)


def assert_independent(noises):
    """No two of them go together: step by step, one step later, or column by column turned."""
    for one, other in itertools.combinations(noises, 2):
        for shifted in (other, np.roll(other, 1, axis=0), np.roll(other, 1, axis=1)):
            correlation = np.corrcoef(one.ravel(), shifted.ravel())[0, 1]
            assert abs(correlation) < TOLERANCE / math.sqrt(one.size)


# Methods of the package are what processes that know nothing of this file can call.


def in_forks(objects, method, *args):
    """Processes forked from this one, whose state is the same for all of them."""
    pools = [multiprocessing.get_context("fork").Pool(1) for _ in objects]
    try:
        calls = [
            pool.apply_async(getattr(one, method), args)
            for pool, one in zip(pools, objects, strict=True)
        ]
        return [call.get(timeout=120) for call in calls]
    finally:
        for pool in pools:
            pool.terminate()
            pool.join()


def in_parallel(backend):
    def call(objects, method, *args):
        jobs = (joblib.delayed(getattr(one, method))(*args) for one in objects)
        return joblib.Parallel(n_jobs=N_WORKERS, backend=backend, batch_size=1)(jobs)

    return call


WORKERS = {"fresh processes": in_parallel("loky"), "threads": in_parallel("threading")}
if "fork" in START_METHODS:
    WORKERS["forks"] = in_forks


@pytest.mark.slow
@pytest.mark.true_randomness
@pytest.mark.parametrize("in_workers", WORKERS.values(), ids=WORKERS)
def test_noise_of_four_workers_and_of_their_parent_is_independent(in_workers):
    """What the parent drew before is no state that a worker could go on with."""
    model = model_without_gradients()
    before = noise_of(clone(model).fit(ROWS, LABELS))
    fitted = in_workers([clone(model) for _ in range(N_WORKERS)], "fit", ROWS, LABELS)
    after = noise_of(clone(model).fit(ROWS, LABELS))
    assert_independent([before, *map(noise_of, fitted), after])


@pytest.mark.slow
@pytest.mark.true_randomness
@pytest.mark.parametrize("kind", ["normal", "exponential"])
@pytest.mark.parametrize("in_workers", WORKERS.values(), ids=WORKERS)
def test_no_draw_of_a_worker_is_another_workers(in_workers, kind):
    """1,000 draws of 63 bits or more in doubles: two alike have a chance of 5e-10."""
    source = random_source(None)
    size = (200,) if kind == "normal" else 200
    here = getattr(source, kind)(size)
    draws = np.concatenate([here, *in_workers([source] * N_WORKERS, kind, size)])
    assert len(np.unique(draws)) == draws.size == 1000


@pytest.mark.true_randomness
def test_noise_of_clones_and_of_fits_in_a_row_is_independent():
    """Without a seed, whichever object is fitted, and however often."""
    model = model_without_gradients()
    models = [fit(model), fit(clone(model)), fit(clone(model))]
    noises = [noise_of(one) for one in models]
    noises += [noise_of(fit(model)), noise_of(fit(model))]
    assert_independent(noises)


def test_noise_of_fits_in_a_row_with_one_random_state_is_independent():
    """Each fit takes its own draw from it. Seeded: it passes always or never."""
    model = model_without_gradients(random_state=np.random.RandomState(0))
    assert_independent([noise_of(fit(model)) for _ in range(3)])


@pytest.mark.true_randomness
@pytest.mark.parametrize("random_state", [None, 0])
def test_fits_without_a_seed_differ_everywhere(random_state, two_classes):
    """Coefficients and intercepts, and the clip fraction; with a seed none of them does."""
    X, y = two_classes
    model = DPSGDClassifier(random_state=random_state, clip_threshold=0.7)
    one, other = clone(model).fit(X, y), clone(model).fit(X, y)
    alike = [
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("coef_", "intercept_", "clip_fraction_")
    ]
    assert alike == [random_state is not None] * 3


# Separate streams


@pytest.mark.parametrize(
    "other",
    [
        ("DPSGDClassifier", "gradient", "sampling"),
        ("DPSGDClassifier", "class counts", "noise"),
        ("DPSGDClassifier", "norm counts", "noise"),
        ("Other", "gradient", "noise"),
    ],
)
def test_streams_of_one_seed_with_different_names_are_independent(other):
    """Also one draw or a few later; 100,000 pairs each, seeded."""
    n_draws = 100_000
    for seed in range(3):
        noise = random_source(seed, "DPSGDClassifier", "gradient", "noise").normal((n_draws,))
        source = random_source(seed, *other)
        draws = source.exponential(n_draws) if "sampling" in other else source.normal((n_draws,))
        for lag in range(4):
            correlation = np.corrcoef(noise[lag:], draws[: n_draws - lag])[0, 1]
            assert abs(correlation) < TOLERANCE / math.sqrt(n_draws - lag)


@pytest.mark.parametrize("batch_size", [50, 25, 12.5])
def test_sampling_does_not_change_the_noise(batch_size):
    """One seed: whether and how rows are drawn, the noise of every step is the same."""
    model = model_without_gradients(random_state=0)
    full = noise_of(fit(model))
    sampled = clone(model).set_params(batch_size=batch_size, n_epochs=N_STEPS * batch_size / 100)
    noise = noise_of(fit(sampled)) * batch_size / 100
    assert sampled.n_steps_ == N_STEPS
    assert sampled.sample_rate_ == batch_size / 100
    np.testing.assert_allclose(noise, full, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_the_number_of_drawn_rows_tells_nothing_about_the_noise():
    """Every drawn row adds 1 to the intercept's sum, so that sum and noise can be told apart."""
    n_rows, n_steps, rate = 200, 20_000, 0.3
    plan = GradientPlan(n_rows, n_rows * rate, n_steps, 0.5, 1.0)
    total, noise = [], []
    for labels in (np.zeros(n_rows), np.ones(n_rows)):
        gradient = NoisyGradient(
            np.zeros((n_rows, 1)),
            labels,
            loss_for(2),
            plan,
            sampling=random_source(0, "A", "sampling"),
            noise=random_source(0, "A", "noise"),
            fit_intercept=True,
        )
        releases = np.array([gradient(np.zeros(2)) for _ in range(n_steps)])
        total.append(releases[:, 1])
        noise.append(releases[:, 0])
    # The signs of the gradients differ, and the noise and the batches do not.
    drawn, noise_there = total[0] - total[1], (total[0] + total[1]) / 2
    np.testing.assert_array_equal(noise[0], noise[1])
    assert drawn.std() == pytest.approx(math.sqrt(n_rows * rate * (1 - rate)), rel=0.05)
    for one in (noise_there, noise[0]):
        for lag in range(3):
            correlation = np.corrcoef(one[lag:], drawn[: n_steps - lag])[0, 1]
            assert abs(correlation) < TOLERANCE / math.sqrt(n_steps - lag)


# The last bits


class TwoParts:
    """A seeded source whose draws are added up in twos, as the operating system's are."""

    n_parts = 2

    def __init__(self, seed):
        self._source = SeededSource(seed)

    def normal(self, shape):
        return self._source.normal(shape)


def releases_of(total_in_spacings, source, container, n_steps=20_000):
    """Releases of a clipped sum that is one constant; all in grid spacings."""
    spacing = grid_spacing(1.0, 2)
    # One row of label 1: at zero weights its gradient is minus half the row.
    X = container(np.array([[-2.0 * total_in_spacings * spacing], [0.0]]))
    gradient = NoisyGradient(
        X,
        np.array([1.0, 0.0]),
        loss_for(2),
        GradientPlan(2, 2.0, n_steps, 1.0, 3.0 * spacing),
        sampling=SeededSource(0),
        noise=source,
        fit_intercept=False,
    )
    zero = np.zeros(1)
    return np.array([gradient(zero)[0] for _ in range(n_steps)]) / spacing


def cells(releases):
    """How often each whole number of spacings occurs, from -100 to 99; there are no others."""
    np.testing.assert_array_equal(releases, np.rint(releases))
    return np.bincount(releases.astype(int) + 100, minlength=200)


@pytest.mark.slow
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("source", [SeededSource, TwoParts])
def test_sums_just_below_and_above_a_grid_point_release_the_same_cells_as_often(source, container):
    """The low-order bits of a sum of gradients do not reach what is released: same support, same
    counts within their error. Chi-square over the cells, false alarm 1e-6, seeded."""
    below = cells(releases_of(5.0 - 1e-9, source(1), container))
    above = cells(releases_of(5.0 + 1e-9, source(2), container))
    both = below + above
    common = both >= 20
    assert common.sum() > 15
    statistic = ((below - above)[common] ** 2 / both[common]).sum()
    assert stats.chi2.sf(statistic, common.sum()) > FALSE_ALARM
    # Support: no cell that one sum reaches more than a few times is closed to the other.
    assert (np.minimum(below, above)[common] > 0).all()
    assert both[~common].sum() < 200


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_with_the_same_noise_both_sums_release_the_very_same_numbers(container):
    """To the last bit; and a sum past the middle between two grid points is one spacing away."""
    below, above, further = (
        releases_of(total, SeededSource(1), container, n_steps=1000)
        for total in (5.0 - 1e-9, 5.0 + 1e-9, 5.5001)
    )
    np.testing.assert_array_equal(below, above)
    np.testing.assert_array_equal(further, above + 1.0)

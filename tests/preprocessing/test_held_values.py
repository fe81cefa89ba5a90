"""`clip` holds scaled values within [-clip, clip]: what it moves, and all that it does not."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from skdp import DPSGDClassifier, privacy_statement
from skdp.preprocessing import BoundedScaler, DPMaxAbsScaler, DPStandardScaler

COMMON = {"random_state": 0, "delta": 1e-6}


def bounded(**params):
    return BoundedScaler(**({"bounds": (-2, 2)} | params))


def standard(**params):
    return DPStandardScaler(**(COMMON | {"bounds": (-9, 9)} | params))


def max_abs(**params):
    return DPMaxAbsScaler(**(COMMON | params))


def rooted(**params):
    return DPMaxAbsScaler(**(COMMON | {"power": 0.5} | params))


SCALERS = pytest.mark.parametrize("make", [bounded, standard, max_abs, rooted])
PRIVATE = pytest.mark.parametrize("make", [standard, max_abs, rooted])
CLIPS = pytest.mark.parametrize("clip", [1e-3, 0.4, 0.75])


@pytest.fixture(name="X")
def table(rng):
    """A wide column, a narrow one, and one that is rarely anything but zero."""
    X = rng.normal(size=(3000, 3)) * [2.0, 0.5, 1.0]
    X[rng.random(3000) < 0.98, 2] = 0.0
    return X


# What is held


@SCALERS
@CLIPS
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_comes_out_is_what_came_out_without_it_held_within(make, clip, dtype, X):
    """To the last bit, in `transform` and `fit_transform`, and in the type that went in."""
    X = X.astype(dtype)
    before = X.copy()
    usual = make().fit(X).transform(X)
    expected = np.clip(usual, -dtype(clip), dtype(clip))
    assert not np.array_equal(expected, usual)
    for held in (make(clip=clip).fit(X).transform(X), make(clip=clip).fit_transform(X)):
        assert held.dtype == dtype
        np.testing.assert_array_equal(held, expected)
        assert np.abs(held).max() == dtype(clip)
    np.testing.assert_array_equal(X, before)


@SCALERS
def test_a_clip_that_no_value_reaches_changes_nothing(make, X):
    """Nor does None, which is the default of them all."""
    assert make().clip is None
    usual = make().fit_transform(X)
    np.testing.assert_array_equal(make(clip=1e9).fit_transform(X), usual)
    np.testing.assert_array_equal(make(clip=None).fit_transform(X), usual)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("make", [max_abs, rooted])
def test_sparse_rows_stay_sparse_and_come_out_as_dense_ones_do(make, container, dtype, X):
    """The same places are stored, so that zeros are zeros, and the input is left alone."""
    X = X.astype(dtype)
    rows = container(X)
    scaler = make(clip=0.4).fit(rows)
    held = scaler.transform(rows)
    assert isinstance(held, container)
    assert held.dtype == dtype
    np.testing.assert_array_equal(held.indices, rows.indices)
    np.testing.assert_array_equal(held.toarray(), scaler.transform(X))
    assert np.abs(held.data).max() == dtype(0.4)
    np.testing.assert_array_equal(rows.toarray(), X)


@pytest.mark.parametrize(
    ("make", "container"),
    [
        *((make, np.asarray) for make in (bounded, standard, max_abs, rooted)),
        *((make, sparse.csr_array) for make in (max_abs, rooted)),
    ],
)
def test_one_row_moves_no_other(make, container, X):
    """Each row is held by itself, to the last bit, whatever stands in its neighbour."""
    scaler = make(clip=0.4).fit(container(X))
    scaled = []
    for row in ([0.0, 0.0, 0.0], [1e300, -1e-300, 7.0]):
        other = X.copy()
        other[17] = row
        rows = scaler.transform(container(other))
        scaled.append(rows.toarray() if sparse.issparse(rows) else rows)
    one, two = (np.delete(rows, 17, axis=0).view(np.uint64) for rows in scaled)
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(scaled[0][17], scaled[1][17])


@SCALERS
def test_missing_values_stay_missing_and_infinite_ones_are_held(make):
    """As without a clip: `on_invalid` decides whether such rows are taken, and nothing else."""
    params = {} if make is bounded else {"on_invalid": "drop"}
    scaler = make(clip=0.4, **params).fit(np.ones((2000, 2)))
    rows = [[np.nan, np.inf], [-np.inf, 0.1]]
    held = scaler.transform(rows)
    np.testing.assert_array_equal(np.isnan(held), [[True, False], [False, False]])
    assert held[0, 1] == 0.4
    assert held[1, 0] == -0.4
    if make is not bounded:
        with pytest.raises(ValueError, match="contains NaN"):
            make(clip=0.4).fit(np.ones((2000, 2))).transform([[np.nan, 1.0]])


@SCALERS
def test_the_way_back_leads_to_the_clip_and_no_further(make, X):
    """What was not held comes back; what was comes back as the value that lands on the clip."""
    scaler, usual = make(clip=0.4).fit(X), make().fit(X)
    scaled = usual.transform(X)
    expected = usual.inverse_transform(np.clip(scaled, -0.4, 0.4))
    back = scaler.inverse_transform(scaler.transform(X))
    np.testing.assert_array_equal(back, expected)
    inside = np.abs(scaled) < 0.4
    np.testing.assert_allclose(back[inside], X[inside], atol=1e-12)
    assert not np.allclose(back, X)


@SCALERS
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_holding_takes_no_memory(make, dtype):
    """Values are held where they stand: the highest peak is the one without a clip."""
    X = np.ones((20_000, 10), dtype=dtype)
    peaks = []
    for clip in (None, 0.4):
        scaler = make(clip=clip).fit(X)
        tracemalloc.start()
        scaler.transform(X)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < X.size / 10


# The range of BoundedScaler


@pytest.mark.parametrize(
    ("feature_range", "clip", "expected"),
    [
        ((-1, 1), 0.5, [-0.5, -0.5, 0.0, 0.5, 0.5]),
        ((0, 1), 0.5, [0.0, 0.25, 0.5, 0.5, 0.5]),
        ((-4, 2), 1.0, [-1.0, -1.0, -1.0, 0.5, 1.0]),
        ((0, 1), 1.0, [0.0, 0.25, 0.5, 0.75, 1.0]),
    ],
)
def test_the_clip_is_around_zero_whatever_the_range(feature_range, clip, expected):
    """A range with another middle is cut at one end more than at the other."""
    scaler = BoundedScaler((0, 4), feature_range=feature_range, clip=clip)
    scaled = scaler.fit_transform([[0.0], [1.0], [2.0], [3.0], [4.0]])
    np.testing.assert_array_equal(scaled.ravel(), expected)


@pytest.mark.parametrize("feature_range", [(2, 3), (1, 3), (-3, -2), (-3, -1)])
def test_a_range_of_which_one_value_would_be_left_is_refused(feature_range):
    """Every column would be constant; a range that reaches further in is taken."""
    scaler = BoundedScaler((0, 1), feature_range=feature_range, clip=1)
    with pytest.raises(ValueError, match=r"clip=1.0 would make one value .*feature_range=\("):
        scaler.fit([[0.5]])
    scaler.set_params(clip=1.5 if 1 in map(abs, feature_range) else 2.5).fit([[0.5]])


# What it does not touch


@SCALERS
@pytest.mark.parametrize("clip", [0, 0.0, -1.0, np.nan, np.inf, "3", [1.0], False])
def test_what_is_no_positive_number_is_an_error_that_names_it(make, clip):
    """Before anything is spent. Infinity is None, which says that there is no bound."""
    scaler = make(clip=clip)
    with pytest.raises(ValueError, match="'clip' parameter"):
        scaler.fit([[1.0]])
    assert not hasattr(scaler, "clip_")


@SCALERS
def test_a_clip_set_after_fit_waits_for_the_next_fit(make, X):
    """What stands behind the scaler was trained on values that were held as `fit` found it."""
    scaler = make().fit(X)
    usual = scaler.transform(X)
    np.testing.assert_array_equal(scaler.set_params(clip=0.4).transform(X), usual)
    assert np.abs(scaler.fit(X).transform(X)).max() == 0.4


@SCALERS
def test_clones_pickles_names_and_frames_are_as_ever(make, X):
    """The constructor stores, and a clone gets what was stored; names come out one to one."""
    clip = np.float32(0.25)
    scaler = make(clip=clip)
    assert scaler.clip is clip
    assert clone(scaler).clip == clip
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    held = scaler.set_output(transform="pandas").fit_transform(frame)
    assert list(held) == scaler.get_feature_names_out().tolist() == ["a", "b", "c"]
    assert type(scaler.clip_) is float
    again = pickle.loads(pickle.dumps(scaler)).transform(frame)
    pd.testing.assert_frame_equal(again, held)


@PRIVATE
def test_plan_releases_and_cost_are_those_of_the_scaler_without_it(make, X):
    """Holding comes after the release, so that there is nothing to pay for."""
    usual, held = make(), make(clip=0.4)
    sizes = {"n_rows": len(X), "n_features": 3, "n_classes": 2}
    assert held._planned_releases(**sizes) == usual._planned_releases(**sizes)
    fitted = {}
    for name, scaler in (("usual", usual), ("held", held)):
        scaler.fit(X)
        fitted[name] = {k: v for k, v in vars(scaler).items() if k.endswith("_")}
        fitted[name].pop("fit_id_")
    assert (fitted["usual"].pop("clip_"), fitted["held"].pop("clip_")) == (None, 0.4)
    np.testing.assert_equal(fitted["held"], fitted["usual"])


@SCALERS
def test_a_statement_over_a_pipeline_reads_as_before(make, two_classes):
    """Before the fit and after it: the same figures and words, with nothing that is not covered."""
    X, y = two_classes
    said = []
    for params in ({}, {"clip": 0.4}):
        scaler = make(**params)
        if make is not bounded:
            scaler.set_params(random_state=None)
        model = make_pipeline(scaler, DPSGDClassifier(epsilon=0.5, delta=1e-6, n_epochs=2))
        planned = privacy_statement(model, n_rows=len(X), n_features=3, n_classes=2)
        made = privacy_statement(model.fit(X, y))
        assert planned.covers_everything
        assert made.covers_everything
        said.append((str(planned), planned.to_dict(), str(made), made.to_dict()))
    assert said[0] == said[1]

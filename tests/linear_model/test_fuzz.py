"""Whatever comes in: a fitted, finite model, or a documented error before anything is spent.

Tables, labels and parameters of all kinds are put together by hypothesis, the same ones in every
run. Each entry of the lists below is a way in which data really arrive, or a mistake that people
really make.
"""

import itertools
import math
import tempfile
import warnings
from collections import Counter
from datetime import datetime
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from skdp import DPSGDClassifier, PrivacyWarning
from skdp.exceptions import DivergenceError
from skdp.mechanisms import _noise
from skdp.mechanisms._release import NoisyReleases
from skdp.privacy import get_epsilon

# No such digits come about by themselves, and no text of ours has such a name.
MARKER, NAME = 41972.625, "Zoe Quux"
TRACES = ("41972", "Zoe", "Quux")

SAME_EXAMPLES = settings(
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@st.composite
def mostly(draw, good, odd, *, every=12):
    """One of the good ones, and now and then an odd one."""
    return draw(st.sampled_from(odd if draw(st.integers(1, every)) == 3 else good))


# Tables


def numbers(rng, shape):
    return rng.normal(size=shape)


def sizes(rng, shape):
    return rng.normal(size=shape) * np.exp(rng.uniform(-600, 600, size=shape))


def counts(rng, shape):
    return rng.poisson(1.0, size=shape).astype(float)


def largest(rng, shape):
    return rng.choice([np.finfo(float).max, -np.finfo(float).max, 5e-324, 0.0], size=shape)


def zeros(rng, shape):
    return np.zeros(shape)


def one_nan(rng, shape):
    X = rng.normal(size=shape)
    X[-1, -1] = math.nan
    return X


def one_infinity(rng, shape):
    X = rng.normal(size=shape)
    X[0, -1] = -math.inf
    return X


VALUES = mostly([numbers, counts, sizes, largest, zeros], [one_nan, one_infinity])


def cast(dtype):
    def convert(X):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return X.astype(dtype)

    return convert


def with_text(X):
    X = X.astype(object)
    X[0, 0] = NAME
    return X


def with_nothing(X):
    X = X.astype(object)
    X[0, 0] = None
    return X


def with_a_huge_integer(X):
    X = X.astype(object)
    X[0, 0] = 10**400
    return X


DTYPES = mostly(
    [cast(name) for name in ("f8", "f4", "g", ">f8", "i8", "i4", "u1", "?", "O")],
    [
        *[cast(name) for name in ("f2", "c16", "U32", "S32", "m8[s]", "M8[s]")],
        *[with_text, with_nothing, with_a_huge_integer],
    ],
)


def strided(X):
    return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]


def backwards(X):
    return X[::-1, ::-1].copy()[::-1, ::-1]


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def memory_map(X):
    if X.dtype.hasobject or X.size == 0:
        return X
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, dtype=X.dtype, shape=X.shape, mode="w+")
    mapped[:] = X
    return mapped


def sparse_as(kind):
    def convert(X):
        # SciPy itself refuses some dtypes, which is no concern of ours.
        return kind(X) if X.dtype.char in "dfilqB?D" and X.dtype.isnative else X

    return convert


def with_entries_twice(X):
    if X.dtype.char != "d" or X.shape[0] == 0 or X.shape[1] == 0:
        return X
    columns = np.repeat(np.arange(X.shape[1]), 2)
    return sparse.csr_matrix(
        (
            np.repeat(X / 2, 2, axis=1).ravel(),
            np.tile(columns, X.shape[0]),
            np.arange(X.shape[0] + 1) * len(columns),
        ),
        shape=X.shape,
    )


def frame(X):
    return pd.DataFrame(X, columns=[f"column {k}" for k in range(X.shape[1])])


def frame_with_odd_names(X):
    return pd.DataFrame(X, columns=[("a", k) if k % 2 else k for k in range(X.shape[1])])


def frame_of_other_types(X):
    return frame(X) if X.dtype.kind == "c" else frame(X).convert_dtypes()


def masked(X):
    return np.ma.masked_array(X, mask=np.zeros(X.shape, dtype=bool))


CONTAINERS = mostly(
    [
        *[np.ascontiguousarray, np.asfortranarray, strided, backwards, read_only, memory_map],
        *[sparse_as(kind) for kind in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix)],
        *[sparse_as(kind) for kind in (sparse.csc_array, sparse.coo_matrix, sparse.coo_array)],
        *[sparse_as(kind) for kind in (sparse.lil_matrix, sparse.dok_array, sparse.bsr_array)],
        *[with_entries_twice, masked, frame, frame_of_other_types],
        *[lambda X: X.tolist(), lambda X: tuple(map(tuple, X.tolist()))],
    ],
    [
        *[frame_with_odd_names, lambda X: pd.Series(list(X)), lambda X: iter(X)],
        *[lambda X: X[:, 0], lambda X: X[:, :, np.newaxis], lambda X: X[:0], lambda X: X[:, :0]],
        *[lambda X: None, lambda X: NAME, lambda X: MARKER, lambda X: {"a": X[:, 0].tolist()}],
        *[lambda X: [[1.0], [2.0, MARKER]], lambda X: np.matrix(X), lambda X: [[]]],
    ],
)


@st.composite
def tables(draw, n_columns=(1, 2, 3, 4)):
    """A table with a marker in it; most are usable."""
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    shape = draw(st.sampled_from([2, 7, 12, 40, 1])), draw(st.sampled_from(n_columns))
    X = draw(VALUES)(rng, shape)
    X[0, 0] = MARKER
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # What NumPy and pandas say about making the table is not what is tested.
        warnings.simplefilter("ignore")
        X = draw(DTYPES)(X)
        return draw(CONTAINERS)(X), shape[0]


# Labels


def of(*values):
    return lambda n: np.array([values[k % len(values)] for k in range(n)])


def of_objects(*values):
    def make(n):
        y = np.empty(n, dtype=object)
        y[:] = [values[k % len(values)] for k in range(n)]
        return y

    return make


GOOD_LABELS = [
    *[of(0, 1), of(-1, 1), of(0, 1, 2), of(5, 3, 900, 4), of(False, True), of(0.0, 1.0)],
    *[of("no", "yes"), of("no", "yes", NAME), of(-2.0, 7.0), of_objects("no", NAME), of(0, 41972)],
    *[lambda n: of(0, 1)(n).tolist(), lambda n: of(0, 1)(n)[:, np.newaxis]],
    *[lambda n: pd.Series(of("no", NAME)(n), index=range(9, n + 9))],
    *[lambda n: pd.Series([0, 1] * n, dtype="Int64")[:n]],
]
LABELS = mostly(
    GOOD_LABELS,
    [
        *[of(0), of(NAME), of(0.5, 1.5), of(MARKER, 1.0), of(0.0, math.nan), of(0.0, math.inf)],
        *[of_objects(0, 1), of_objects("no", 1), of_objects(NAME, None), of_objects((1,), {})],
        *[of_objects(NAME, MARKER), of(b"no", b"yes"), of(1j, MARKER), of("no", NAME, 3.5)],
        *[lambda n: of(0, 1)(n + 1), lambda n: None, lambda n: NAME, lambda n: 3],
        *[lambda n: np.c_[of(0, 1)(n), of(1, 0)(n)], lambda n: sparse.csr_matrix(of(0, 1)(n))],
        *[lambda n: pd.Series(of("no", NAME)(n), dtype="category")],
        *[lambda n: [datetime(2020, 1, 1)] * n, lambda n: of(0, 1)(n).astype("M8[s]")],
    ],
)
CLASSES = mostly(
    [None],
    [
        *[[0, 1], [1, 0], [0, 1, 2], ["no", "yes"], ["no", "perhaps", "yes"], [False, True]],
        *[[0, 0], [1], [], 3, "no", ["no", 1], [0.5, 1], [[0, 1]], [None, 1], {0, 1}],
        [0, math.nan],
    ],
    every=4,
)

# Parameters: values that are in range, and values that are not or are of another kind.

IN_RANGE = {
    "epsilon": [1.0, 0.1, 8.0, 50.0],
    "delta": ["auto", 1e-5, 0.2],
    "noise_multiplier": ["auto", 2.0, 50.0],
    "clip_threshold": ["auto", 1.0, 1e-3, 1e50],
    "learning_rate": ["auto", 0.1, 30.0, 1e-9],
    "n_epochs": ["auto", 1, 0.01, 7.3],
    "batch_size": ["auto", 1, 5, 2.5, 10**9, 1e300],
    "max_row_norm": [None, 1.0, 1e-50, 1e50],
    "average": [True, False],
    "alpha": [0.0, 0.01, 10.0, 5e-324],
    "fit_intercept": [True, False],
    "store_path": [False, True],
    "random_state": [0, None, np.random.RandomState(0)],
}
ODD = {
    "epsilon": [None, 1e-9, 1e-300, 1e9, 0, -1.0, math.inf, math.nan, "much", [1.0], True],
    "delta": [1e-300, 0, 1, -1, math.nan, "small", None],
    "noise_multiplier": [0.7, 0, 1e-6, 1e12, -1, math.nan, math.inf, "loud", None],
    "clip_threshold": [1e300, 5e-324, 0, -1, math.inf, math.nan, "x", None],
    "learning_rate": [1e200, 1e307, 5e-324, 0, -1, math.inf, math.nan, "x", None],
    "n_epochs": [1e300, 1e-300, 0, -1, math.inf, math.nan, None],
    "batch_size": [0.5, 0, -1, math.inf, math.nan, None, "x"],
    "max_row_norm": [1e-320, 1e300, 0, -1, math.inf, math.nan, "auto"],
    "average": ["yes", None, 2],
    "alpha": [1e300, -1, math.nan, math.inf, "x", None],
    "fit_intercept": [1, None],
    "store_path": ["x", None],
    "random_state": [-1, 1.5, "seed", 2**32],
}


@st.composite
def parameters(draw):
    """Defaults but for up to four in range, and now and then an odd one."""
    names = draw(st.lists(st.sampled_from(list(IN_RANGE)), max_size=4, unique=True))
    params = {name: draw(st.sampled_from(IN_RANGE[name])) for name in names}
    if draw(st.integers(0, 4)) == 3:
        name = draw(st.sampled_from(list(ODD)))
        params[name] = draw(st.sampled_from(ODD[name]))
    return {"epsilon": 1.0, "random_state": 0} | params


# The claims


class Spent:
    """Counts what is taken of a budget: noise and batches drawn, and releases made."""

    def __init__(self):
        self.draws = 0

    def __enter__(self):
        def counted(function):
            def call(*args, **kwargs):
                self.draws += 1
                return function(*args, **kwargs)

            return call

        places = [
            (_noise, "random_source"),
            *itertools.product(
                (_noise.SystemSource, _noise.SeededSource), ("normal", "exponential")
            ),
            (NoisyReleases, "__init__"),
            (NoisyReleases, "add_noise"),
        ]
        self._patches = [
            mock.patch.object(where, name, counted(getattr(where, name))) for where, name in places
        ]
        for patch in self._patches:
            patch.start()
        return self

    def __exit__(self, *error):
        for patch in self._patches:
            patch.stop()


def outcome(call):
    """Return what a call returns and None, or None and the documented error that it raised."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result, error = None, None
        try:
            result = call()
        except (ValueError, TypeError, DivergenceError) as raised:
            error = raised
    for warning in caught:
        assert is_documented(warning), str(warning)
        assert_shows_nothing(str(warning.message))
    assert_chain_shows_nothing(error)
    return result, error


def is_documented(warning):
    """Ours, and scikit-learn's on labels in a column and on names that it did not see in `fit`."""
    if issubclass(warning.category, (PrivacyWarning, DataConversionWarning)):
        return True
    return "feature names" in str(warning.message)


def assert_shows_nothing(text):
    assert not any(trace in text for trace in TRACES), text


def assert_chain_shows_nothing(error):
    """Nor do the errors that it drags along, which a traceback prints as well."""
    while error is not None:
        assert_shows_nothing(f"{error} {error.args!r}")
        error = error.__cause__ or error.__context__


def assert_finite_and_within_budget(model, params):
    assert model.coef_.ndim == 2
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert 0.0 <= model.clip_fraction_ <= 1.0
    assert model.epsilon_ == get_epsilon(model.mechanisms_, model.delta_)
    if params["epsilon"] is not None:
        assert model.epsilon_ <= params["epsilon"]
    if model.noise_multiplier_ == 0.0:
        assert model.epsilon_ == math.inf


def assert_predicts(model, X, n_rows):
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (n_rows, len(model.classes_))
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert not np.isnan(model.predict_log_proba(X)).any()
    assert np.isin(model.predict(X), model.classes_).all()


@pytest.mark.slow
def test_a_fit_gives_a_finite_model_or_a_documented_error_before_anything_is_spent():
    """Shapes, dtypes, containers, labels and parameters; nothing else, and no value in a text."""
    outcomes = Counter()

    @settings(SAME_EXAMPLES, max_examples=500)
    @given(tables(), LABELS, CLASSES, parameters())
    def fit(table, labels, classes, params):
        X, n_rows = table
        model = DPSGDClassifier(classes=classes, **params)
        before = dict(vars(model))
        y = labels(n_rows)
        # Whether arithmetic over- or underflows may hang on one row: silent also where NumPy is
        # asked to warn.
        with Spent() as spent, np.errstate(all="warn"):
            fitted, error = outcome(lambda: model.fit(X, y))
        outcomes[type(error)] += 1
        if error is None:
            assert fitted is model
            assert spent.draws > 0
            assert_finite_and_within_budget(model, params)
            assert outcome(lambda: assert_predicts(model, X, n_rows))[1] is None
        else:
            # Divergence is found out by training; all other errors cost nothing.
            assert isinstance(error, DivergenceError) or spent.draws == 0
            assert vars(model) == before

    fit()
    # Both happen often, so that neither half of the claim is empty.
    assert outcomes[type(None)] > 200
    assert sum(outcomes.values()) - outcomes[type(None)] > 200


@pytest.mark.slow
@settings(SAME_EXAMPLES, max_examples=300)
@given(st.sampled_from(GOOD_LABELS), parameters())
def test_whether_a_usable_table_trains_hangs_on_sizes_and_parameters_alone(labels, params):
    """Three tables of one shape, ordinary, extreme and empty: the same error, or none."""
    rng = np.random.default_rng(0)
    errors = set()
    for values in (numbers, sizes, zeros):
        X = values(rng, (12, 3))
        model = DPSGDClassifier(**params)
        _, error = outcome(lambda model=model, X=X: model.fit(X, labels(12)))
        # Whether training diverges is judged from noisy weights, so it may differ.
        if not isinstance(error, DivergenceError):
            errors.add((type(error), str(error)))
        if error is None:
            assert_finite_and_within_budget(model, params)
    assert len(errors) <= 1


@pytest.mark.slow
@settings(SAME_EXAMPLES, max_examples=600)
@given(
    tables(n_columns=(3, 3, 3, 2)),
    st.sampled_from(["predict", "predict_proba", "decision_function", "staged_predict"]),
    st.sampled_from([{}, {"max_row_norm": 0.5}]),
)
def test_a_prediction_is_one_answer_a_row_or_a_documented_error(table, method, params):
    """The rows to predict are as sensitive as those to train on."""
    X, n_rows = table
    rng = np.random.default_rng(0)
    model = DPSGDClassifier(store_path=True, n_epochs=3, random_state=0, **params)
    model.fit(rng.normal(size=(30, 3)), np.arange(30) % 3)

    def answer():
        result = getattr(model, method)(X)
        return list(result)[-1] if method == "staged_predict" else result

    result, error = outcome(answer)
    if error is None:
        assert len(result) == n_rows
        assert not np.isnan(result).any()
        assert "decision" in method or "proba" in method or np.isin(result, model.classes_).all()

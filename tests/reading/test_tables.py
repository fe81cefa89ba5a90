"""Tables: what a container says beside its numbers is kept, or the table is refused."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.pipeline import make_pipeline

from skdp import DPSGDClassifier
from skdp.preprocessing import (
    BoundedScaler,
    DPMaxAbsScaler,
    DPStandardScaler,
    PiecewiseLinearFeatures,
    RowNormClipper,
)
from skdp.reading._table import _check_kind

N = 60
Y = np.arange(N) % 2
ESTIMATORS = {
    "classifier": lambda: DPSGDClassifier(random_state=0),
    "standard": lambda: DPStandardScaler(bounds=(-9, 9), random_state=0),
    "max_abs": lambda: DPMaxAbsScaler(random_state=0),
    "bounded": lambda: BoundedScaler(bounds=(-9, 9)),
    "curves": PiecewiseLinearFeatures,
    "clipper": RowNormClipper,
}
LENIENT = ("bounded", "curves")


@pytest.fixture(params=ESTIMATORS)
def kind(request):
    return request.param


@pytest.fixture
def make(kind):
    return ESTIMATORS[kind]


def numbers():
    """A table of three columns."""
    return np.random.default_rng(3).normal(size=(N, 3))


def outcome(model):
    """What was fitted, of whatever kind of estimator."""
    names = ("coef_", "mean_", "scale_", "lower_", "knots_", "n_features_in_")
    return {name: str(getattr(model, name)) for name in names if hasattr(model, name)}


def fitted(make, X):
    model = make()
    return model.fit(X, Y) if hasattr(model, "predict") else model.fit(X)


DATES = {
    "an array of dates": lambda: np.full((N, 2), "2020-01-01", dtype="datetime64[D]"),
    "an array of durations": lambda: np.full((N, 2), 3, dtype="timedelta64[s]"),
    "a list of dates": lambda: [[1.0, datetime.date(2020, 1, 1)]] * N,
    "objects": lambda: np.array([[1.0, np.datetime64("2020-01-01")]] * N, dtype=object),
    "a frame": lambda: pd.DataFrame({"a": 1.0, "admitted": pd.to_datetime(["2020-01-01"] * N)}),
    "a frame with a zone": lambda: pd.DataFrame(
        {"a": 1.0, "admitted": pd.to_datetime(["2020-01-01"] * N).tz_localize("UTC")}
    ),
    "a frame of durations": lambda: pd.DataFrame({"admitted": pd.to_timedelta([1] * N)}),
    "a frame of periods": lambda: pd.DataFrame({"admitted": pd.period_range("2020", periods=N)}),
    "a frame of objects": lambda: pd.DataFrame(
        {"a": 1.0, "admitted": [datetime.datetime(2020, 1, 1)] * N}, dtype=object
    ),
}


@pytest.mark.parametrize("table", DATES)
def test_dates_and_durations_are_refused_by_the_name_of_their_column(make, table):
    """As numbers they would be nanoseconds, which bounds turn into a constant."""
    X = DATES[table]()
    with pytest.raises(ValueError, match="dates or durations") as caught:
        fitted(make, X)
    assert "2020" not in str(caught.value)
    if isinstance(X, pd.DataFrame):
        assert "'admitted'" in str(caught.value)


TEXTS = {
    "an array": lambda: np.array([["1.5", "2"]] * N),
    "bytes": lambda: np.array([[b"1.5", b"2"]] * N),
    "a list with numbers": lambda: [[1.5, "2"]] * N,
    "objects": lambda: np.array([[1.5, "Alice"]] * N, dtype=object),
    "a frame": lambda: pd.DataFrame({"a": 1.5, "name": ["Alice"] * N}),
    "a frame of categories": lambda: pd.DataFrame({"name": pd.Categorical(["Alice"] * N)}),
}


@pytest.mark.parametrize("table", TEXTS)
def test_text_is_refused_by_the_name_of_its_column(make, table):
    """Whether text spells a number depends on each value; the kind of a column does not."""
    X = TEXTS[table]()
    with pytest.raises(ValueError, match="could not convert string to float") as caught:
        fitted(make, X)
    assert "Alice" not in str(caught.value)
    if isinstance(X, pd.DataFrame):
        assert "'name'" in str(caught.value)


@pytest.mark.skipif(
    not hasattr(getattr(np, "dtypes", None), "StringDType"), reason="NumPy before 2.0"
)
def test_text_of_numpys_own_string_type_is_text(make):
    """It has a kind of its own."""
    with pytest.raises(ValueError, match="could not convert string to float"):
        fitted(make, np.array([["1.5", "2"]] * N, dtype=np.dtypes.StringDType()))


HOLES = {
    "a masked array": lambda: np.ma.masked_array(numbers(), mask=hole()),
    "a masked array of integers": lambda: np.ma.masked_array(np.ones((N, 3), int), mask=hole()),
    "masked rows in a list": lambda: [
        np.ma.masked_array(row, mask=mask) for row, mask in zip(numbers(), hole(), strict=True)
    ],
    "None in a list": lambda: with_hole(None).tolist(),
    "NA among objects": lambda: with_hole(pd.NA),
    "NaT among objects": lambda: with_hole(pd.NaT),
    "NA in a frame": lambda: pd.DataFrame(with_hole(pd.NA), columns=list("abc"), dtype="Float64"),
    "None in a frame": lambda: pd.DataFrame(with_hole(None), columns=list("abc"), dtype=object),
}


def hole():
    mask = np.zeros((N, 3), dtype=bool)
    mask[7, 1] = True
    return mask


def with_hole(mark):
    table = numbers().astype(object)
    table[7, 1] = mark
    return table


@pytest.mark.parametrize("table", HOLES)
def test_holes_of_every_kind_count_as_missing(make, kind, table):
    """What lies behind a mask may be a withdrawn consent."""
    X = HOLES[table]()
    if kind in LENIENT:
        out = np.asarray(fitted(make, X).transform(X), dtype=float)
        assert np.isnan(out[7]).any()
        assert np.isfinite(np.delete(out, 7, axis=0)).all()
        return
    with pytest.raises(ValueError, match="Input X contains NaN") as caught:
        fitted(make, X)
    for advice in ("HistGradientBoosting", "an imputer", "drop samples"):
        assert advice not in str(caught.value)
    assert 'SimpleImputer(strategy="constant"' in str(caught.value)


def test_a_mask_that_hides_nothing_changes_nothing(make):
    """The same fit as without it."""
    assert outcome(fitted(make, np.ma.masked_array(numbers()))) == outcome(fitted(make, numbers()))


@pytest.mark.parametrize(
    "container",
    [
        lambda X: X.tolist(),
        lambda X: tuple(map(tuple, X)),
        lambda X: X.astype(object),
        lambda X: [[decimal.Decimal(value) for value in row] for row in X],
        lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
        lambda X: pd.DataFrame(X, columns=["a", "b", "c"], dtype=object),
    ],
)
def test_numbers_are_read_alike_whatever_holds_them(make, container):
    """Lists, objects, decimals and frames give the fit of the array."""
    assert outcome(fitted(make, container(numbers()))) == outcome(fitted(make, numbers()))


def test_arrays_of_other_libraries_are_read(make):
    """By the protocol that they share with NumPy."""
    xp = pytest.importorskip("array_api_strict")
    X = xp.asarray(numbers())
    assert outcome(fitted(make, X)) == outcome(fitted(make, numbers()))


def test_names_of_columns_survive_what_is_converted():
    """Those of a frame of objects, and of a sparse one."""
    frame = pd.DataFrame(numbers(), columns=["a", "b", "c"], dtype=object)
    assert DPMaxAbsScaler().fit(frame).feature_names_in_.tolist() == ["a", "b", "c"]
    sparse_frame = frame.astype(pd.SparseDtype(float, 0.0))
    model = DPSGDClassifier(random_state=0).fit(sparse_frame, Y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(
        model.coef_, DPSGDClassifier(random_state=0).fit(sparse.csr_array(numbers()), Y).coef_
    )
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(sparse_frame[["b", "a", "c"]])


def test_a_sparse_frame_with_another_fill_value_is_refused_by_name():
    """Its zeros would be something else."""
    frame = pd.DataFrame(numbers(), columns=["a", "b", "c"]).astype(pd.SparseDtype(float))
    with pytest.raises(ValueError, match=r"column 'a' of X is sparse with another fill value"):
        DPSGDClassifier().fit(frame, Y)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.coo_matrix])
def test_finiteness_is_checked_whatever_scikit_learn_is_told_to_assume(kind, value, container):
    """No promise of epsilon 1 over a mean that is NaN."""
    X = numbers()
    X[7, 1] = value
    if kind in LENIENT or (kind == "standard" and container is not np.asarray):
        return
    with (
        config_context(assume_finite=True),
        pytest.raises(ValueError, match=r"contains (NaN|infinity)"),
    ):
        fitted(ESTIMATORS[kind], container(X))


@pytest.mark.parametrize("name", ["standard", "max_abs", "classifier"])
def test_rows_that_are_dropped_are_rows_that_are_not_there(name):
    """Whatever they hold: every release is that of the table without what they contribute.

    And it is no other when such a row is replaced by a different one of its kind.
    """
    X, labels = numbers(), Y.astype(float)
    released = []
    for value, label in ((np.nan, 0.0), (np.inf, 1.0), (-np.inf, np.nan), (0.0, 7.0)):
        if name != "classifier" and value == 0.0:
            continue
        spoiled, y = X.copy(), labels.copy()
        spoiled[7, 1], y[7] = value, label
        model = ESTIMATORS[name]().set_params(on_invalid="drop")
        if name == "classifier":
            model.set_params(classes=[0, 1]).fit(spoiled, y)
        else:
            model.fit(spoiled)
        released.append(outcome(model))
        text = str(released[-1])
        assert "nan" not in text
        assert "inf" not in text
    assert all(one == released[0] for one in released)


def test_a_column_of_any_unit_trains_alike():
    """From picofarads to nanoseconds since 1970 (seeded, mean of three seeds)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    y = (X @ [2.0, -1.0, 1.0, 0.0, 0.0] + rng.logistic(size=1500) > 0).astype(int)
    for unit in (1e-12, 1e-9, 1e-6, 1.0, 1e9, 1e18):
        for make in (DPSGDClassifier, behind_a_scaler):
            scores = [
                make(random_state=seed).fit(X * unit, y).score(X * unit, y) for seed in (1, 2)
            ]
            assert np.mean(scores) > 0.75, unit


def behind_a_scaler(random_state):
    """A classifier on columns that were scaled by sizes with noise."""
    scaler = DPMaxAbsScaler(0.3, random_state=random_state)
    return make_pipeline(scaler, DPSGDClassifier(0.7, random_state=random_state))


class Foreign:
    """An array of a library that nobody knows, which NumPy can read."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.shape, self.ndim = self.values.shape, self.values.ndim

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)

    def __len__(self):
        return len(self.values)


def test_an_unknown_array_is_read_as_the_array_that_it_gives(make):
    """Numbers are taken; dates and text in it are refused as elsewhere."""
    assert outcome(fitted(make, Foreign(numbers()))) == outcome(fitted(make, numbers()))
    days = np.arange(3 * N).reshape(N, 3).astype("datetime64[D]")
    with pytest.raises(ValueError, match="dates or durations"):
        fitted(make, Foreign(days))
    with pytest.raises(ValueError, match="holds text"):
        fitted(make, Foreign(numbers().astype(str)))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("dictionary<values=date32[day], indices=int32, ordered=0>", "dates or durations"),
        ("dictionary<values=string, indices=int32, ordered=0>", "holds text"),
        ("dictionary<values=string, indices=int32, ordered=0>[pyarrow]", "holds text"),
        ("string_view", "holds text"),
        ("Date", "dates or durations"),
        ("month_day_nano_interval", "dates or durations"),
        ("fixed_size_binary[2]", "holds fixed_size_binary, not numbers"),
        ("struct<a: int64>", "holds struct, not numbers"),
        ("List(Int64)", "holds List, not numbers"),
        ("interval[int64, right]", "holds interval, not numbers"),
        ("extension<arrow.uuid>", "holds extension, not numbers"),
    ],
)
def test_columns_of_other_kinds_are_refused_by_name(kind, words):
    """As Arrow, polars and pandas write them; some would be read as numbers that mean nothing."""
    with pytest.raises(ValueError, match=f"column 'a' of X.*{words}|{words}"):
        _check_kind(kind, "column 'a' of X")


@pytest.mark.parametrize(
    "kind",
    [
        *("int64", "UInt8", "Int128", "float32", "double[pyarrow]", "halffloat", "bool", "boolean"),
        *("decimal128(5, 2)", "Decimal(precision=3, scale=1)", "null", "object", "Object"),
        *("Sparse[float64, 0]", "dictionary<values=int64, indices=int32, ordered=0>"),
    ],
)
def test_columns_of_numbers_are_taken(kind):
    """By the names that pandas, polars and Arrow give them; objects are looked at one by one."""
    _check_kind(kind, "column 'a' of X")


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pd.Series(pd.to_datetime(["2020-01-01"] * N)).astype("category"), "dates or durations"),
        (pd.Series(pd.period_range("2020", periods=N, freq="D")), "dates or durations"),
        (pd.Series(["1"] * N).astype("category"), "holds text"),
        (pd.cut(pd.Series(np.linspace(0, 1, N)), 3), "holds interval, not numbers"),
    ],
)
def test_columns_of_a_frame_without_numbers_are_refused(make, column, words):
    """Categories by what they stand for."""
    with pytest.raises(ValueError, match=words):
        fitted(make, pd.DataFrame({"a": column, "b": 0.0}))


def test_rows_of_different_lengths_are_refused_as_such(make):
    """Not withheld: how many numbers a row has is public."""
    with pytest.raises(ValueError, match="rows of different lengths"):
        fitted(make, [[1.0, 2.0], [3.0]] * (N // 2))

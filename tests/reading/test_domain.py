"""Whether one row is invalid is not told where such rows contribute nothing, whatever is wrong.

Each table here differs from a good one in a single row. It is taken, and the model is that of any
other table in which this row is invalid in another way: to the last bit.
"""

import decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from skdp import DPSGDClassifier
from skdp.preprocessing import BoundedScaler, RowNormClipper

N = 60
X = np.random.default_rng(4).normal(size=(N, 3))
Y = (X[:, 0] > 0).astype(int)
IDS = np.arange(N) // 2 + 2**60
LONG = np.iinfo(np.int64).max


def model(**params):
    return DPSGDClassifier(classes=[0, 1], on_invalid="drop", random_state=0, **params)


def with_first(column, value, make=list):
    """A column of Python's numbers with another first one."""
    return make([value, *column.tolist()[1:]])


def same(one, other):
    return np.array_equal(one.coef_, other.coef_) and one.intercept_ == other.intercept_


@pytest.mark.parametrize(
    "label",
    [None, 0.5, 7, -1, np.inf, 10**30, 10**400, decimal.Decimal("NaN"), decimal.Decimal("0.5")],
)
def test_no_label_of_one_row_is_refused(label):
    """A fraction in a column of whole labels is one more that is not declared."""
    without = model().fit(X, with_first(Y, np.nan))
    assert same(model().fit(X, with_first(Y, label)), without)


def test_a_fraction_among_labels_of_a_typed_column_is_dropped():
    """The type of the column is public, and what stands in it is not."""
    without = model().fit(X, with_first(Y, np.nan, np.array))
    assert same(model().fit(X, with_first(Y, 0.5, np.array)), without)
    with pytest.raises(ValueError, match="fractions"):
        model().set_params(on_invalid="raise").fit(X, with_first(Y, 0.5, np.array))
    # Without declared labels they are read from y, and public.
    with pytest.raises(ValueError, match="fractions"):
        model().set_params(classes=None).fit(X, with_first(Y, 0.5, np.array))


@pytest.mark.parametrize("value", [0.5, np.inf, -np.inf, 1e300, 2.0**53, np.nan])
def test_no_id_of_one_row_is_refused_in_a_column_of_doubles(value):
    """Doubles that are too large may stand for several ids, and so are none."""
    ids = (IDS - 2**60).astype(float)
    ids[0] = value
    missing = ids.copy()
    missing[0] = np.nan
    assert same(model().fit(X, Y, ids), model().fit(X, Y, missing))
    if not np.isnan(value):
        with pytest.raises(ValueError, match="integers or text"):
            model().set_params(on_invalid="raise").fit(X, Y, ids)


@pytest.mark.parametrize("make", [list, lambda ids: pd.Series(ids, dtype="Int64")])
def test_large_ids_beside_a_gap_stay_apart(make):
    """As doubles, ids of 60 bits are one, and a whole study would be one person."""
    apart = model(unit_name="person").fit(X[1:], Y[1:], IDS[1:])
    one_gap = model(unit_name="person").fit(X, Y, make(with_first(IDS, None)))
    assert one_gap.mechanisms_ == apart.mechanisms_
    assert same(one_gap, apart)


def test_ids_of_any_number_of_bits_are_told_apart():
    """Hashes of 128 bits, of which the lower 64 may be alike."""
    long_ids = [int(one) << 70 for one in IDS]
    assert same(model().fit(X, Y, long_ids), model().fit(X, Y, IDS))
    long_ids[0] = 10**400
    assert model().fit(X, Y, long_ids).n_features_in_ == 3


@pytest.mark.parametrize("value", [10**400, -(10**400), decimal.Decimal("NaN"), None])
def test_no_number_of_one_row_is_refused(value):
    """What is beyond the range of doubles is infinite."""
    rows = X.tolist()
    rows[3][1] = value
    spoiled = X.copy()
    spoiled[3, 1] = np.nan
    assert same(model().fit(rows, Y), model().fit(spoiled, Y))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.coo_matrix])
def test_a_clipper_in_front_hands_invalid_rows_on(make, value):
    """Else it would tell of them what the classifier keeps to itself."""
    spoiled = X.copy()
    spoiled[3, 1] = value
    clipper = RowNormClipper(1.0, on_invalid="drop")
    clipped = clipper.fit_transform(make(spoiled))
    others = RowNormClipper(1.0).fit_transform(make(np.delete(X, 3, axis=0)))
    dense = clipped.toarray() if sparse.issparse(clipped) else clipped
    expected = others.toarray() if sparse.issparse(others) else others
    np.testing.assert_array_equal(np.delete(dense, 3, axis=0), expected)
    assert not np.isfinite(dense[3]).all()
    chain = make_pipeline(clipper, model()).fit(make(spoiled), Y)
    zeros = spoiled.copy()
    zeros[3] = np.nan
    assert same(chain[-1], make_pipeline(clipper, model()).fit(make(zeros), Y)[-1])
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        RowNormClipper(1.0).fit(make(spoiled))


def test_bounds_in_front_hand_invalid_rows_on():
    """They look at no row at all."""
    spoiled = X.copy()
    spoiled[3, 1] = np.inf
    chain = make_pipeline(BoundedScaler((-3, 3)), model()).fit(spoiled, Y)
    assert np.isfinite(chain[-1].coef_).all()


@pytest.mark.parametrize("wrong", ["row", "label"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_invalid_row_of_a_unit_adds_nothing_to_what_its_other_rows_add(wrong, value):
    """With the noise of one seed, the model is that of the table without the row."""
    rows, labels, ids = X.copy(), Y.astype(float), np.arange(N) // 3
    if wrong == "row":
        rows[4, 1] = value
    else:
        labels[4] = value
    settings = {"epsilon": None, "noise_multiplier": 9.0, "clip_threshold": 1.0, "batch_size": 20}
    others = np.arange(N) != 4
    dropped = model(**settings).fit(rows, labels, ids)
    without = model(**settings).fit(X[others], Y[others], ids[others])
    np.testing.assert_allclose(dropped.coef_, without.coef_, rtol=1e-9)
    np.testing.assert_allclose(dropped.intercept_, without.intercept_, rtol=1e-9)

"""BoundedScaler: public bounds in, scaled columns out, and nothing learned from the rows."""

import numpy as np
import pandas as pd
import pytest

from skdp.preprocessing import BoundedScaler

NAMES = ["age", "income"]
FORMS = {
    "numbers": (0, 10),
    "one number a column": ([0, 0], [10, 10]),
    "arrays": (np.zeros(2), np.full(2, 10.0)),
    "number and array": (0, [10, 10]),
    "mapping": {"income": (0, 10), "age": (0, 10)},
}


def frame(values):
    return pd.DataFrame(values, columns=NAMES)


@pytest.mark.parametrize("bounds", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("feature_range", [(-1, 1), (0, 1), (-3.0, 5.0)])
def test_bounds_land_on_the_range_and_what_lies_outside_is_clipped(bounds, feature_range):
    """In every form that bounds may take."""
    X = frame([[0.0, 10.0], [5.0, 2.5], [-99.0, 1e300]])
    start, end = feature_range
    scaled = BoundedScaler(bounds, feature_range=feature_range).fit_transform(X)
    shares = np.array([[0, 1], [0.5, 0.25], [0, 1]])
    np.testing.assert_allclose(scaled, start + (end - start) * shares, rtol=1e-14, atol=1e-14)
    assert scaled.min() >= start
    assert scaled.max() <= end


def test_a_mapping_is_matched_by_name_not_by_order():
    """Each column has its own pair."""
    scaler = BoundedScaler({"income": (0, 100), "age": (0, 10)}).fit(frame([[1, 2]]))
    np.testing.assert_allclose(scaler.transform(frame([[5, 50]])), [[0, 0]])


def test_nothing_is_learned_from_the_rows(rng):
    """Two fits on different rows leave the same object, and each row is scaled by itself."""
    first, second = rng.normal(size=(5, 3)), 100 * rng.normal(size=(9, 3))
    one, other = (BoundedScaler((-2, 2)).fit(X) for X in (first, second))
    for name, value in vars(one).items():
        np.testing.assert_array_equal(value, vars(other)[name])
    whole = one.transform(second)
    for row, scaled in zip(second, whole, strict=True):
        np.testing.assert_array_equal(one.transform([row])[0], scaled)


def test_inverse_transform_returns_to_the_units_of_the_bounds(rng):
    """Values inside come back; values outside come back as their bound."""
    X = rng.uniform(0, 10, size=(20, 2))
    scaler = BoundedScaler((0, 10)).fit(X)
    np.testing.assert_allclose(scaler.inverse_transform(scaler.transform(X)), X)
    outside = scaler.inverse_transform(scaler.transform([[-5.0, 25.0]]))
    np.testing.assert_allclose(outside, [[0.0, 10.0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_is_kept_and_missing_values_stay(dtype):
    """As in scikit-learn's scalers."""
    scaled = BoundedScaler((0, 10)).fit_transform(np.array([[np.nan, 5.0]], dtype=dtype))
    assert scaled.dtype == dtype
    np.testing.assert_array_equal(scaled, [[np.nan, 0.0]])


def test_names_come_out_and_frames_too():
    """set_output and get_feature_names_out."""
    scaler = BoundedScaler((0, 10)).set_output(transform="pandas")
    scaled = scaler.fit_transform(frame([[1.0, 2.0]]))
    assert scaled.columns.tolist() == NAMES
    assert scaler.get_feature_names_out().tolist() == NAMES


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        (None, "bounds=None.*needs public bounds"),
        (5, r"bounds must be a pair \(low, high\)"),
        ((0, 1, 2), "pair"),
        ((10, 0), "column 'age' has low=10 and high=0"),
        ((3, 3), "low below high"),
        (([0, 9], [10, 5]), "column 'income'"),
        ((0, np.inf), "finite"),
        ((np.nan, 1), "finite"),
        ((-1.7e308, 1.7e308), "finite"),
        (([0, 0, 0], 10), r"one a column \(2\); got shape \(3,\)"),
        (("low", "high"), "low in bounds must be numbers"),
        ("01", "pair"),
        ({"age": ([0], [1]), "income": (0, [1, 2])}, r"each end of bounds\['income'\]"),
        ({"age": (0, 1)}, r"missing \['income'\]"),
        ({"age": (0, 1), "income": (0, 1), "sex": (0, 1)}, r"not in X \['sex'\]"),
        ({"age": (0, 1), "income": 4}, r"bounds\['income'\] must be a pair"),
    ],
)
def test_bounds_that_cannot_be_used_are_named(bounds, words):
    """And the message says what would do."""
    with pytest.raises(ValueError, match=words):
        BoundedScaler(bounds).fit(frame([[1.0, 2.0]]))


def test_a_mapping_needs_names():
    """An array has none."""
    with pytest.raises(ValueError, match="columns named by text"):
        BoundedScaler({"age": (0, 1)}).fit([[1.0]])


@pytest.mark.parametrize("feature_range", [(1, 0), (0, 0), (0, np.inf), (0, 1, 2), ("a", "b")])
def test_a_range_that_cannot_be_used_is_named(feature_range):
    """Before anything is stored."""
    with pytest.raises(ValueError, match="feature_range"):
        BoundedScaler((0, 1), feature_range=feature_range).fit([[0.5]])


def test_changing_the_range_after_fit_changes_nothing_until_the_next_fit():
    """As with every parameter in scikit-learn."""
    scaler = BoundedScaler((0, 1)).fit([[0.5]])
    assert scaler.set_params(feature_range=(0, 8)).transform([[1.0]]) == 1.0
    assert scaler.fit([[0.5]]).transform([[1.0]]) == 8.0


def test_errors_show_no_value_of_the_data():
    """A text in a column is not repeated."""
    with pytest.raises(ValueError, match="could not convert") as caught:
        BoundedScaler((0, 1)).fit([["Alice"]])
    assert "Alice" not in str(caught.value)


def test_a_refused_fit_leaves_the_last_one_whole():
    """Also the number of columns."""
    scaler = BoundedScaler((0, 1)).fit([[0.5, 0.5]])
    with pytest.raises(ValueError, match="bounds"):
        scaler.set_params(bounds=None).fit([[0.5]])
    assert scaler.n_features_in_ == 2

"""PiecewiseLinearFeatures: public knots in, curves out, and nothing learned from the rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

from skdp import DPSGDClassifier
from skdp.preprocessing import BoundedScaler, PiecewiseLinearFeatures

KNOTS = [-2.0, -0.5, 0.0, 1.0, 4.0]
NAMES = ["age", "smoker"]


def frame(values):
    return pd.DataFrame(values, columns=NAMES)


def factor(k):
    """What k centred shares are multiplied by."""
    return k * np.sqrt(3 / (2 * k - 3))


def test_features_are_the_splines_of_scikit_learn_centred_and_scaled(rng):
    """SplineTransformer's hats of degree 1, inside, at and beyond the knots."""
    X = np.concatenate([rng.uniform(-4, 6, size=(200, 2)), [[knot, knot] for knot in KNOTS]])
    hats = SplineTransformer(
        degree=1, knots=np.column_stack([KNOTS, KNOTS]), extrapolation="constant"
    ).fit_transform(X)
    features = PiecewiseLinearFeatures(KNOTS).fit_transform(X)
    np.testing.assert_allclose(features, (hats - 1 / 5) * factor(5), atol=1e-12)


def test_weights_are_the_heights_of_the_curve(rng):
    """A linear function of the features is NumPy's interpolation between the knots."""
    values, heights = rng.uniform(-4, 6, size=(100, 1)), rng.normal(size=5)
    heights -= heights.mean()
    curve = PiecewiseLinearFeatures(KNOTS).fit_transform(values) @ heights / factor(5)
    np.testing.assert_allclose(curve, np.interp(values[:, 0], KNOTS, heights), atol=1e-12)


def test_a_linear_model_behind_is_an_additive_model(rng):
    """Any sum of curves with these knots is fitted without an error."""
    X = rng.uniform(-3, 5, size=(300, 3))
    heights = rng.normal(size=(3, 5))
    y = sum(np.interp(X[:, column], KNOTS, heights[column]) for column in range(3))
    model = make_pipeline(PiecewiseLinearFeatures(KNOTS), LinearRegression()).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-10)


@pytest.mark.parametrize("k", [2, 3, 5, 9, 30])
def test_features_have_mean_square_one_where_values_are_spread_evenly(k):
    """As standardised columns have, which the classifier's defaults are made for."""
    knots = np.cumsum(np.arange(1.0, k + 1))
    shares = (np.arange(2000) + 0.5) / 2000
    # Each interval holds as many values as any other, however long it is.
    values = (knots[:-1, np.newaxis] + np.diff(knots)[:, np.newaxis] * shares).reshape(-1, 1)
    features = PiecewiseLinearFeatures(knots).fit_transform(values)
    assert np.mean(features**2) == pytest.approx(1, rel=1e-6)


def test_the_norm_of_a_row_depends_little_on_its_values():
    """With the default knots it stays within a factor 1.6, so that clipping treats rows alike."""
    values = np.linspace(-2, 2, 1001).reshape(-1, 1)
    norms = np.linalg.norm(PiecewiseLinearFeatures().fit_transform(values), axis=1)
    assert norms.max() / norms.min() < 1.6


def test_two_knots_give_a_standardised_column_and_its_mirror_image():
    """A uniform column between the knots has mean zero and variance one afterwards."""
    X = np.linspace(3, 8, 11).reshape(-1, 1)
    features = PiecewiseLinearFeatures([3, 8]).fit_transform(X)
    standardised = (X[:, 0] - 5.5) / (5 / np.sqrt(12))
    np.testing.assert_allclose(features, np.column_stack([-standardised, standardised]), atol=1e-12)


def test_nothing_is_learned_from_the_rows(rng):
    """Two fits on different rows leave the same object, and each row is mapped by itself."""
    first, second = rng.normal(size=(5, 3)), 100 * rng.normal(size=(9, 3))
    one, other = (PiecewiseLinearFeatures(KNOTS).fit(X) for X in (first, second))
    assert vars(one).keys() == vars(other).keys()
    assert one.n_features_in_ == other.n_features_in_
    assert one.knots_.keys() == other.knots_.keys()
    for column, knots in one.knots_.items():
        np.testing.assert_array_equal(knots, other.knots_[column])
    whole = one.transform(second)
    for row, mapped in zip(second, whole, strict=True):
        np.testing.assert_array_equal(one.transform([row])[0], mapped)


@pytest.mark.parametrize("mapping", [{"age": [20, 40, 60]}, {0: [20, 40, 60]}])
def test_columns_that_a_mapping_leaves_out_pass_through(mapping):
    """By name or by position; what a 0 and a 1 mean is not changed, and nothing is clipped."""
    X = frame([[30.0, 1.0], [99.0, -7.5]])
    features = PiecewiseLinearFeatures(mapping).fit_transform(X)
    np.testing.assert_array_equal(features[:, 3], X["smoker"])
    np.testing.assert_allclose(features[:, :3], [[0.5, 0.5, -1], [-1, -1, 2]], atol=1e-12)


def test_each_column_has_its_own_knots_in_its_own_place():
    """Whatever the order of the mapping, and with another number of knots in each."""
    features = PiecewiseLinearFeatures({2: [0, 1], "b": [0, 1, 2]})
    X = pd.DataFrame([[5.0, 2.0, 0.0]], columns=["a", "b", "c"])
    root = np.sqrt(3)
    np.testing.assert_allclose(features.fit_transform(X), [[5, -1, -1, 2, root, -root]])
    assert features.get_feature_names_out().tolist() == [
        "a",
        "b_at_0",
        "b_at_1",
        "b_at_2",
        "c_at_0",
        "c_at_1",
    ]


def test_an_empty_mapping_changes_nothing():
    """No column is named, so all pass through."""
    X = np.array([[1.0, 2.0]])
    np.testing.assert_array_equal(PiecewiseLinearFeatures({}).fit_transform(X), X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_dtype_is_kept_and_missing_values_stay(dtype):
    """In every feature of the column, and in no other."""
    X = np.array([[np.nan, 0.0], [0.0, np.nan]], dtype=dtype)
    features = PiecewiseLinearFeatures({0: [-1, 0, 1]}).fit_transform(X)
    assert features.dtype == dtype
    np.testing.assert_allclose(features, [[np.nan] * 3 + [0], [-1, 2, -1, np.nan]], atol=1e-6)


def test_names_come_out_and_frames_too():
    """set_output and get_feature_names_out; a knot is written as short as it can be."""
    features = PiecewiseLinearFeatures({"age": [-1, 0.1, 1e20]}).set_output(transform="pandas")
    out = features.fit_transform(frame([[1.0, 2.0]]))
    expected = ["age_at_-1", "age_at_0.1", "age_at_1e+20", "smoker"]
    assert out.columns.tolist() == expected
    assert features.get_feature_names_out().tolist() == expected
    with pytest.raises(ValueError, match="input_features"):
        features.get_feature_names_out(["age"])


def test_names_of_close_knots_differ():
    """Every double has a text of its own."""
    knots = [1.0, np.nextafter(1.0, 2.0)]
    names = PiecewiseLinearFeatures(knots).fit([[0.0]]).get_feature_names_out()
    assert len(set(names)) == 2


def test_the_largest_numbers_are_mapped_without_a_warning():
    """The distance from a knot may overflow; the share does not."""
    features = PiecewiseLinearFeatures([-8e307, 8e307]).fit_transform([[-1.7e308], [1.7e308]])
    np.testing.assert_allclose(features, np.sqrt(3) * np.array([[1, -1], [-1, 1]]))


@pytest.mark.parametrize(
    ("knots", "words"),
    [
        (None, "knots must be numbers"),
        (7, "got 7"),
        ([0], "at least two"),
        ([], "at least two"),
        ([0, 0, 1], "increasing"),
        ([1, 0], "increasing"),
        ([0, np.inf], "finite"),
        ([0, np.nan, 1], "finite"),
        ([-1.7e308, 1.7e308], "finite"),
        ([[0, 1], [0, 1]], "knots must be"),
        ([0, [1, 2]], "knots must be"),
        (["low", "high"], "knots must be"),
        ("0123", "knots must be"),
        ({"age": [1, 0]}, r"knots\['age'\] must be"),
        ({1: 5}, r"knots\[1\] must be"),
        ({"sex": [0, 1]}, "column 'sex', which is not in X"),
        ({2: [0, 1]}, "positions from 0 to 1, got 2"),
        ({-1: [0, 1]}, "got -1"),
        ({True: [0, 1]}, "got True"),
        ({0.0: [0, 1]}, r"got 0\.0"),
        ({"age": [0, 1], 0: [0, 1]}, "column 0 twice"),
    ],
)
def test_knots_that_cannot_be_used_are_named(knots, words):
    """And the message says what would do."""
    with pytest.raises(ValueError, match=words):
        PiecewiseLinearFeatures(knots).fit(frame([[1.0, 2.0]]))


def test_a_mapping_from_names_needs_names():
    """An array has none."""
    with pytest.raises(ValueError, match=r"columns named by text.*positions"):
        PiecewiseLinearFeatures({"age": [0, 1]}).fit([[1.0]])


def test_changing_the_knots_after_fit_changes_nothing_until_the_next_fit():
    """As with every parameter in scikit-learn, also where the list itself is changed."""
    knots = [0.0, 1.0]
    features = PiecewiseLinearFeatures(knots).fit([[0.5]])
    before = features.transform([[1.0]])
    knots[1] = 8.0
    np.testing.assert_array_equal(features.transform([[1.0]]), before)
    assert not np.array_equal(features.fit([[0.5]]).transform([[1.0]]), before)


def test_errors_show_no_value_of_the_data():
    """A text in a column is not repeated."""
    with pytest.raises(ValueError, match="could not convert") as caught:
        PiecewiseLinearFeatures().fit([["Alice"]])
    assert "Alice" not in str(caught.value)


def test_sparse_input_is_refused():
    """A zero has a share too, so that the features would not be sparse."""
    with pytest.raises(TypeError, match="Sparse data was passed"):
        PiecewiseLinearFeatures().fit(sparse.csr_array([[1.0, 0.0]]))


def test_a_refused_fit_leaves_the_last_one_whole():
    """Also the number of columns."""
    features = PiecewiseLinearFeatures().fit([[0.5, 0.5]])
    with pytest.raises(ValueError, match="knots"):
        features.set_params(knots=None).fit([[0.5]])
    assert features.n_features_in_ == 2
    assert features.transform([[0.5, 0.5]]).shape == (1, 18)


def test_a_private_model_finds_a_valley_that_a_linear_one_cannot(rng):
    """At the same budget: the class depends on the distance from the middle alone."""
    X = rng.uniform(0, 10, size=(2000, 1))
    y = np.abs(X[:, 0] - 5) > 2.5
    linear = make_pipeline(BoundedScaler((0, 10)), DPSGDClassifier(epsilon=1.0, random_state=0))
    additive = make_pipeline(
        BoundedScaler((0, 10)),
        PiecewiseLinearFeatures(),
        DPSGDClassifier(epsilon=1.0, random_state=0),
    )
    assert linear.fit(X, y).score(X, y) < 0.6
    assert additive.fit(X, y).score(X, y) > 0.9
    assert additive[-1].epsilon_ <= 1.0

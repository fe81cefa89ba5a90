"""Labels, ids, bounds and knots: indices, masks, holes and kinds are looked at before they go."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict, cross_validate

from skdp import DPSGDClassifier, PrivacyWarning
from skdp.model_selection import UnitKFold
from skdp.preprocessing import BoundedScaler, DPStandardScaler, PiecewiseLinearFeatures

N = 80
X = np.random.default_rng(5).normal(size=(N, 2))
FRAME = pd.DataFrame(X, columns=["age", "income"], index=np.arange(N)[::-1])
Y = np.arange(N) % 2
IDS = np.arange(N) // 2


def model(**params):
    return DPSGDClassifier(random_state=0, **params)


def test_ids_in_another_order_than_the_rows_are_refused():
    """Rows of one person would be spread over several units, and the promise would be false."""
    ids = pd.Series(IDS, index=FRAME.index)
    model().fit(FRAME, Y, privacy_unit=ids)
    shuffled = ids.sample(frac=1, random_state=1)
    with pytest.raises(ValueError, match="different indices"):
        model().fit(FRAME, Y, privacy_unit=shuffled)
    # Behind a step that gives arrays, the labels tell the order.
    with pytest.raises(ValueError, match="different indices"):
        model().fit(X, pd.Series(Y, index=FRAME.index), privacy_unit=shuffled)
    with pytest.raises(ValueError, match="different indices"):
        next(UnitKFold(3).split(FRAME, Y, groups=shuffled))
    model().fit(FRAME, Y, privacy_unit=shuffled.to_numpy())


def test_labels_in_another_order_are_matched_by_position_with_a_warning():
    """As scikit-learn matches them; it costs accuracy, and the budget all the same."""
    y = pd.Series(Y, index=FRAME.index)
    with pytest.warns(UserWarning, match="same index labels in different orders"):
        model().fit(FRAME, y.sort_index())
    model().fit(FRAME, y)
    model().fit(FRAME, y.reset_index(drop=True)[: N - 1].pipe(lambda s: [*s, 1]))


@pytest.mark.parametrize("hole", [None, np.nan, pd.NA, pd.NaT, "masked"])
@pytest.mark.parametrize("kind", [str, int])
@pytest.mark.parametrize("container", [list, pd.Series, "objects"])
def test_holes_in_labels_and_ids_are_seen(hole, kind, container):
    """A list of text with NaN would become text, and all holes one label, or one person."""
    values = [kind(value) for value in IDS]
    is_masked = isinstance(hole, str)
    values[3] = None if is_masked else hole
    column = np.array(values, dtype=object)
    if is_masked:
        mask = np.arange(N) == 3
        column = np.ma.masked_array([kind(value) for value in IDS], mask=mask)
    elif container != "objects":
        column = container(values) if container is list else pd.Series(values, dtype=object)
    with pytest.raises(ValueError, match="privacy_unit has missing entries"):
        model().fit(X, Y, privacy_unit=column)
    with pytest.raises(ValueError, match="groups must hold"):
        next(UnitKFold(3).split(X, groups=column))
    with pytest.raises(ValueError, match="y has missing labels"):
        model().fit(X, column)
    with pytest.raises(ValueError, match="missing"):
        model(classes=column).fit(X, Y)


def test_missing_labels_and_ids_contribute_nothing_where_that_is_asked_for():
    """A row without a label is none; one without an id belongs to no unit."""
    labels = pd.Series(np.array(["no", "yes"])[Y], dtype=object)
    labels[3] = None
    for declared in (None, ["no", "yes"]):
        fitted = model(on_invalid="drop", classes=declared).fit(X, labels)
        assert fitted.classes_.tolist() == ["no", "yes"]
        other = labels.copy()
        other[3] = np.nan
        again = model(on_invalid="drop", classes=declared).fit(X, other)
        np.testing.assert_array_equal(again.coef_, fitted.coef_)
    ids = pd.array(IDS, dtype="Int64")
    ids[6:8] = pd.NA
    fitted = model(on_invalid="drop").fit(X, Y, privacy_unit=ids)
    assert fitted.unit_ == "unit"
    kept = np.r_[0:6, 8:N]
    left_out = model(on_invalid="drop").fit(X[kept], Y[kept], privacy_unit=IDS[kept])
    np.testing.assert_array_equal(fitted.coef_, left_out.coef_)


@pytest.mark.parametrize("values", [[0, "1"] * 40, [0.5, "a"] * 40, [b"a", "b"] * 40])
def test_mixed_kinds_are_refused(values):
    """NumPy makes text of them, and 1 the same person as "1"."""
    with pytest.raises(ValueError, match=r"y holds several kinds|Unknown label"):
        model().fit(X, values)
    with pytest.raises(ValueError, match="privacy_unit"):
        model().fit(X, Y, privacy_unit=values)
    with pytest.raises(ValueError, match="groups holds several kinds"):
        next(UnitKFold(3).split(X, groups=values))
    with pytest.raises(ValueError, match="classes holds several kinds"):
        model(classes=values[:2]).fit(X, Y)


def test_dates_are_neither_labels_nor_ids():
    """They would be nanoseconds."""
    days = pd.date_range("2020", periods=N)
    for column in (days, pd.Series(days), days.to_numpy(), days.tolist()):
        with pytest.raises(ValueError, match="privacy_unit holds dates"):
            model().fit(X, Y, privacy_unit=column)
        with pytest.raises(ValueError, match="y holds dates"):
            model().fit(X, column)


@pytest.mark.skipif(
    not hasattr(getattr(np, "dtypes", None), "StringDType"), reason="NumPy before 2.0"
)
def test_text_of_numpys_own_string_type_is_text():
    """For labels, classes and ids alike."""
    text = np.dtypes.StringDType()
    labels = np.array(["no", "yes"], dtype=text)[Y]
    fitted = model(classes=np.array(["no", "yes"], dtype=text)).fit(X, labels)
    assert fitted.predict(X).tolist() == model().fit(X, labels.tolist()).predict(X).tolist()
    assert fitted.score(X, labels) == model().fit(X, labels.tolist()).score(X, labels.tolist())
    ids = IDS.astype(str).astype(text)
    by_text = model().fit(X, Y, privacy_unit=ids)
    np.testing.assert_array_equal(
        by_text.coef_, model().fit(X, Y, privacy_unit=IDS.astype(str)).coef_
    )
    assert len(list(UnitKFold(3).split(X, groups=ids))) == 3


CODEBOOK = pd.DataFrame({"low": [0, 0], "high": [120, 200_000]}, index=["income", "age"])


@pytest.mark.parametrize("scaler", [BoundedScaler, DPStandardScaler])
def test_bounds_that_carry_names_are_read_by_name(scaler):
    """A codebook in another order would clip income to the range of ages."""
    bounds = (CODEBOOK.low, CODEBOOK.high)
    assert scaler(bounds=bounds).fit(FRAME).upper_.tolist() == [200_000, 120]
    for table, ends in (
        (X, bounds),
        (FRAME, tuple(end.rename({"age": "wage"}) for end in bounds)),
        (FRAME, tuple(end.set_axis([1, 0]) for end in bounds)),
    ):
        with pytest.raises(ValueError, match="carries labels that are not the names"):
            scaler(bounds=ends).fit(table)
    in_order = tuple(end.set_axis([0, 1]) for end in bounds)
    assert scaler(bounds=in_order).fit(X).upper_.tolist() == [120, 200_000]
    with pytest.raises(ValueError, match="must be a pair"):
        scaler(bounds=CODEBOOK).fit(FRAME)


@pytest.mark.parametrize(
    "end",
    [
        np.ma.masked_array([1.0, 2.0], mask=[False, True]),
        ["1", "2"],
        [1.0, None],
        np.array(["2020", "2021"], dtype="datetime64[Y]"),
        [1.0, np.nan],
    ],
)
def test_bounds_and_knots_are_numbers_all_of_them(end):
    """Nothing is read from behind a mask, out of text or out of a date."""
    for transformer in (BoundedScaler((-9.0, end)), PiecewiseLinearFeatures(end)):
        with pytest.raises(ValueError, match=r"bounds|knots"):
            transformer.fit(X)


@pytest.mark.parametrize("wrong", [X, X.tolist(), FRAME])
def test_no_message_prints_a_table_that_was_passed_by_mistake(wrong):
    """`BoundedScaler(X).fit(X)` is a slip that happens."""
    for transformer in (
        BoundedScaler(bounds=wrong),
        BoundedScaler(bounds=(wrong, wrong)),
        BoundedScaler((-1, 1), feature_range=wrong),
        DPStandardScaler(bounds=wrong),
        PiecewiseLinearFeatures(knots=wrong),
        PiecewiseLinearFeatures(knots={0: wrong}),
    ):
        with pytest.raises(ValueError, match=r".") as caught:
            transformer.fit(X)
        assert f"{X[0, 0]:.4f}"[:6] not in str(caught.value)
        assert len(str(caught.value)) < 400


def test_scores_show_no_label():
    """scikit-learn's message about labels of two kinds shows one."""
    fitted = model().fit(X, Y)
    with pytest.raises(ValueError, match="another kind") as caught:
        fitted.score(X, ["SECRET"] * N)
    assert "SECRET" not in str(caught.value)


def test_a_feature_that_would_get_the_name_of_another_is_refused():
    """A column called age_at_0 beside a knot at 0 of age."""
    frame = pd.DataFrame({"age": X[:, 0], "age_at_0": X[:, 1]})
    with pytest.raises(ValueError, match="two features would be called 'age_at_0'"):
        PiecewiseLinearFeatures({"age": [0, 50, 100]}).fit(frame)


def test_folds_that_lack_a_class_keep_its_column_and_text_is_answered():
    """scikit-learn numbers the labels first, which the message says of this function too."""
    rare = np.where(np.arange(N) < 3, 2, Y)
    probabilities = cross_val_predict(
        model(classes=range(3)), X, rare, cv=KFold(3), method="predict_proba"
    )
    assert probabilities.shape == (N, 3)
    text = np.array(["a", "b", "c"])
    with pytest.raises(ValueError, match=r"cross_val_predict.*range\(k\)"):
        cross_val_predict(model(classes=text), X, text[rare], cv=KFold(3), method="predict_proba")


def test_a_fit_without_units_between_folds_of_units_warns():
    """Ids for the splitter alone leave every fit with a promise for single rows."""
    with pytest.warns(PrivacyWarning, match="split by units"):
        cross_validate(model(), X, Y, cv=UnitKFold(2), groups=IDS)
    cross_validate(model(), X, Y, cv=UnitKFold(2), groups=IDS, params={"privacy_unit": IDS})
    # Nothing is left of it when the folds are over, or were left early.
    next(UnitKFold(2).split(X, groups=IDS))
    model().fit(X, Y)


def test_with_routing_one_name_serves_splitter_and_fits():
    """And groups alone are warned of, also where the fits happen after the splits."""
    with sklearn.config_context(enable_metadata_routing=True):
        asks = clone(model()).set_fit_request(privacy_unit=True)
        found = cross_validate(
            asks,
            X,
            Y,
            cv=UnitKFold(2, random_state=0),
            params={"privacy_unit": IDS},
            return_estimator=True,
        )
        assert {fitted.unit_ for fitted in found["estimator"]} == {"unit"}
        with pytest.warns(PrivacyWarning, match="UnitKFold was given groups and no privacy_unit"):
            list(UnitKFold(2).split(X, groups=IDS))


@pytest.mark.parametrize("names", [[2, 0], ["income", "age"], [(1, "b"), (0, "a")]])
def test_bounds_are_read_by_the_labels_of_the_columns_whatever_they_are(names):
    """Numbers are names too where the columns are called so."""
    frame = pd.DataFrame(X, columns=names)
    low = pd.Series([-20.0, -10.0], index=names[::-1])
    np.testing.assert_array_equal(BoundedScaler((low, 40)).fit(frame).lower_, [-10.0, -20.0])
    in_order = pd.Series([-20.0, -10.0], index=names)
    np.testing.assert_array_equal(BoundedScaler((in_order, 40)).fit(frame).lower_, [-20.0, -10.0])
    scaler = DPStandardScaler(bounds=(low, 40), random_state=0).fit(frame)
    np.testing.assert_array_equal(
        scaler.mean_, DPStandardScaler(bounds=([-10, -20], 40), random_state=0).fit(X).mean_
    )


def test_knots_are_read_by_the_labels_of_the_columns_where_they_are_numbers():
    """A position that is another column's name would be that column's knots."""
    frame = pd.DataFrame(X, columns=[1, 0])
    knots = PiecewiseLinearFeatures({1: [0.0, 5.0]}).fit(frame).knots_
    assert list(knots) == [0]
    with pytest.raises(ValueError, match="which is not in X"):
        PiecewiseLinearFeatures({7: [0.0, 5.0]}).fit(frame)


@pytest.mark.parametrize("dtype", ["Int64", "int32", "float64", object])
def test_indices_of_other_types_with_equal_labels_are_in_one_order(dtype):
    """What a reader of files calls the type of an index says nothing about the rows."""
    index = pd.Index(range(N), dtype=dtype)
    frame = pd.DataFrame(X)
    model().fit(frame, pd.Series(Y, index=index), pd.Series(IDS, index=index))


class Labelled:
    """An array with labelled dimensions, as xarray has them."""

    def __init__(self, values, labels):
        self.values = np.asarray(values)
        self.dtype, self.shape = self.values.dtype, self.values.shape
        self.dims = tuple(f"dim {i}" for i in range(self.values.ndim))
        self.indexes = {"dim 0": pd.Index(labels)}

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)

    def __len__(self):
        return len(self.values)


def test_labels_of_a_dimension_are_an_index():
    """By whatever name the dimension goes."""
    table = Labelled(X, range(N))
    model().fit(table, Y, Labelled(IDS, range(N)))
    model().fit(table, Y, pd.Series(IDS))
    with pytest.raises(ValueError, match="different indices"):
        model().fit(table, Y, Labelled(IDS[::-1], range(N)[::-1]))


def test_scores_warn_of_another_order_as_fits_do():
    """A score of labels that are matched with other rows says nothing."""
    y = pd.Series(Y, index=FRAME.index)
    fitted = model().fit(FRAME, y)
    fitted.score(FRAME, y)
    with pytest.warns(UserWarning, match="different orders"):
        fitted.score(FRAME, y.sort_index())


def test_a_scalar_in_the_place_of_a_column_is_not_shown():
    """Labels and ids have one entry for each row."""
    secret = np.array({"Alice": 41972})
    for use in (
        lambda: model().fit(X, secret),
        lambda: model().fit(X, Y, secret),
        lambda: next(UnitKFold(2).split(X, groups=secret)),
    ):
        with pytest.raises(ValueError, match="one entry for every row") as caught:
            use()
        assert "Alice" not in f"{caught.value} {caught.value.__context__}"


@pytest.mark.parametrize("ids", [IDS + 0.5, np.full(N, np.inf), IDS * 1j, IDS * 2.0**60])
def test_a_splitter_takes_the_ids_that_a_fit_takes(ids):
    """Else folds are split by ids that the fits inside refuse."""
    with pytest.raises(ValueError, match="integers or text"):
        next(UnitKFold(2).split(X, groups=ids))
    with pytest.raises(ValueError, match="integers or text"):
        model().fit(X, Y, ids)


def test_an_infinite_label_is_no_label():
    """No finite label would ever be it."""
    with pytest.raises(ValueError, match="infinite entry"):
        model(classes=[0, 1, np.inf]).fit(X, Y)


def test_a_splitter_does_not_say_how_many_rows_there_are():
    """With units the number of rows is private."""
    with pytest.raises(ValueError, match="inconsistent numbers of samples") as caught:
        next(UnitKFold(2).split(X, groups=IDS[:-1]))
    assert str(N) not in str(caught.value)


def test_intervals_are_said_to_be_intervals():
    """`pandas.cut` without labels makes them, a common first step."""
    with pytest.raises(ValueError, match="y holds intervals"):
        model().fit(FRAME, pd.cut(FRAME["age"], [-9, 0, 9]))

"""privacy_statement: the total of every nesting, against its mechanisms written out by hand."""

import math
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    KFold,
    LeaveOneOut,
    RandomizedSearchCV,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from skdp import DPSGDClassifier, privacy_statement
from skdp.mechanisms._gradient_plan import SENSITIVITY_FACTOR
from skdp.preprocessing import BoundedScaler, DPStandardScaler
from skdp.privacy import Gaussian, GroupedGaussian, SubsampledGaussian, get_epsilon
from skdp.statement._account import copied, expand
from skdp.statement._privacy_statement import _Walk

N = 120
DELTA = 1e-5


class NoisyScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A private transformer that is none of ours: known by what it offers, not by name."""

    def __init__(self, noise=8.0):
        self.noise = noise

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        self.n_ = X.shape[0]
        self.delta_ = 1e-6
        return self

    def transform(self, X):
        return X

    def _privacy_releases(self):
        return [Gaussian(self.noise)]

    def _planned_releases(self, *, n_rows, n_features, n_classes, unit="row"):
        return [Gaussian(self.noise)]

    @property
    def _n_privacy_units(self):
        return self.n_


def clf(noise=4.0, **rest):
    return DPSGDClassifier(noise_multiplier=noise, batch_size=12, n_epochs=1, **rest)


def training(n=N, noise=4.0, copies=1):
    """What one fit of `clf` on n rows releases, to a row that stands in them `copies` times."""
    batch = min(12, n)
    return GroupedGaussian(noise / SENSITIVITY_FACTOR, batch / n, math.ceil(n / batch), copies)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, 3))
    return X, (X[:, 0] > 0).astype(int)


@pytest.fixture
def three(rng):
    X = rng.normal(size=(N, 3))
    return X, np.argmax(X, axis=1)


def statement(model, data, **rest):
    return privacy_statement(model.fit(*data), **rest)


def check(made, by_hand, gaps=()):
    """The total is that of these mechanisms, and these words are all that is not covered."""
    assert made.delta == DELTA
    assert made.epsilon_of_releases == pytest.approx(get_epsilon(by_hand, DELTA), rel=1e-9)
    assert get_epsilon(made.mechanisms, DELTA) == made.epsilon_of_releases
    assert made.covers_everything == (not gaps)
    assert made.epsilon == (math.inf if gaps else made.epsilon_of_releases)
    found = [gap.name for gap in made.not_covered]
    assert len(found) == len(gaps), found
    for words, name in zip(gaps, found, strict=True):
        assert words in name


def test_one_estimator_costs_what_it_says(data):
    model = clf().fit(*data)
    check(privacy_statement(model), [training()])
    assert privacy_statement(model).epsilon == model.epsilon_


def test_a_pipeline_composes_its_private_steps(data):
    """The sum of the two epsilons is not what is reported; the largest delta is."""
    made = statement(make_pipeline(BoundedScaler(bounds=(-3, 3)), NoisyScaler(), clf()), data)
    check(made, [Gaussian(8.0), training()])
    apart = get_epsilon(Gaussian(8.0), 1e-6) + get_epsilon(training(), 1e-5)
    assert made.epsilon < 0.9 * apart


def test_a_private_scaler_and_classifier_share_one_budget(data):
    """0.1 and 0.9 cost less than 1 together, since they are composed and not added up."""
    scaler = DPStandardScaler(epsilon=0.1, bounds=(-4, 4))
    model = make_pipeline(scaler, DPSGDClassifier(epsilon=0.9)).fit(*data)
    made = privacy_statement(model)
    check(made, [*model[0].mechanisms_, *model[1].mechanisms_])
    assert made.epsilon < 0.95 < model[0].epsilon_ + model[1].epsilon_


def test_delta_can_be_asked_for(data):
    made = statement(clf(), data, delta=1e-7)
    assert made.delta == 1e-7
    assert made.epsilon == get_epsilon(training(), 1e-7)


def test_side_by_side_transformers_are_all_counted(data):
    """FeatureUnion and ColumnTransformer, the remainder and a nested pipeline included."""
    union = FeatureUnion([("a", NoisyScaler(9.0)), ("b", NoisyScaler(7.0)), ("c", "drop")])
    check(statement(make_pipeline(union, clf()), data), [Gaussian(9.0), Gaussian(7.0), training()])
    columns = ColumnTransformer(
        [
            ("a", make_pipeline(BoundedScaler(bounds=(-3, 3)), NoisyScaler(9.0)), [0]),
            ("none", NoisyScaler(5.0), []),
            ("off", "drop", [1]),
        ],
        remainder=NoisyScaler(7.0),
    )
    check(
        statement(make_pipeline(columns, clf()), data), [Gaussian(9.0), Gaussian(7.0), training()]
    )


def test_every_voter_sees_every_row(data):
    voters = [("a", clf()), ("b", make_pipeline(NoisyScaler(), clf(6.0))), ("c", "drop")]
    made = statement(VotingClassifier(voters), data)
    check(made, [training(), Gaussian(8.0), training(noise=6.0)])


def test_one_vs_rest_trains_once_a_class_on_every_row(three):
    made = statement(OneVsRestClassifier(clf()), three)
    check(made, [training()] * 3)
    assert made.parts[0].n_fits == made.parts[0].n_fits_of_one_row == 3


def test_stacking_trains_members_on_folds_and_on_all_rows_before_the_final_estimator(data):
    """A row is in two of three folds' fits; those objects are not kept."""
    members = [("a", clf()), ("b", clf(6.0))]
    made = statement(StackingClassifier(members, final_estimator=clf(5.0), cv=KFold(3)), data)
    by_hand = [training(noise=5.0)]
    for noise in (4.0, 6.0):
        by_hand += [training(noise=noise)] + [training(80, noise)] * 2
    check(made, by_hand)


def test_stacking_of_members_that_were_fitted_before_counts_them_once(data):
    members = [("a", clf().fit(*data)), ("b", clf(6.0).fit(*data))]
    made = statement(StackingClassifier(members, final_estimator=clf(5.0), cv="prefit"), data)
    check(made, [training(), training(noise=6.0), training(noise=5.0)])


def test_a_final_estimator_without_noise_is_not_covered(data):
    """Stacking's default is one."""
    made = statement(StackingClassifier([("a", clf())], cv=KFold(2)), data)
    check(made, [training(), training(60)], gaps=["LogisticRegression 'final_estimator'"])


def test_a_frozen_estimator_was_fitted_once_wherever_it_stands(data):
    """In a pipeline, in two voters, and in all folds of a search."""
    frozen = FrozenEstimator(NoisyScaler().fit(data[0]))
    check(statement(make_pipeline(frozen, clf()), data), [Gaussian(8.0), training()])
    voters = [(name, make_pipeline(frozen, clf())) for name in "ab"]
    check(statement(VotingClassifier(voters), data), [Gaussian(8.0), training(), training()])
    search = GridSearchCV(make_pipeline(frozen, clf()), {}, cv=KFold(2))
    made = statement(search, data)
    check(made, [Gaussian(8.0), training(), training(60)], gaps=["choice", "scores"])


def test_calibration_on_folds_keeps_a_classifier_a_fold(data):
    """A row is in all of them but one; the calibrators see exact scores."""
    model = CalibratedClassifierCV(clf(), cv=KFold(3), ensemble=True)
    check(statement(model, data), [training(80)] * 2, gaps=["CalibratedClassifierCV"])


def test_calibration_with_one_classifier_fits_folds_and_all_rows(data):
    model = CalibratedClassifierCV(clf(), cv=KFold(3), ensemble=False)
    made = statement(model, data)
    check(made, [training(80)] * 2 + [training()], gaps=["CalibratedClassifierCV"])


def test_calibration_of_a_frozen_classifier_fits_nothing_again(data):
    model = CalibratedClassifierCV(FrozenEstimator(clf().fit(*data)), cv=KFold(3))
    check(statement(model, data), [training()], gaps=["CalibratedClassifierCV"])


def by_each_row(bagging, n=N, **rest):
    """Total over rows: each row's own copies in each member's sample, written out."""
    samples = bagging.estimators_samples_
    counts = np.stack([np.bincount(rows, minlength=n) for rows in samples], axis=1)
    costs = []
    for row in np.unique(counts, axis=0):
        size = len(samples[0])
        releases = [training(size, copies=int(copies)) for copies in row if copies]
        releases += [Gaussian(8.0 / copies) for copies in row if copies and "scaler" in rest]
        costs.append(get_epsilon(releases, DELTA) if releases else 0.0)
    return max(costs)


SEEDED = ["DPSGDClassifier 'estimators_'", "BaggingClassifier"]


@pytest.mark.parametrize("settings", [{}, {"max_samples": 0.5}, {"max_samples": 30}])
def test_a_row_drawn_k_times_into_a_bootstrap_counts_as_k_rows(data, settings):
    """Each row's own draws count, and the dearest row decides."""
    model = BaggingClassifier(clf(), n_estimators=3, random_state=3, **settings).fit(*data)
    made = privacy_statement(model)
    assert [gap.name for gap in made.not_covered] == SEEDED
    assert made.epsilon == math.inf
    assert made.epsilon_of_releases == pytest.approx(by_each_row(model), rel=1e-9)
    assert "rows of one person" in str(made)


def test_a_bag_without_replacement_holds_a_row_once(data):
    model = BaggingClassifier(
        clf(), n_estimators=4, random_state=3, bootstrap=False, max_samples=0.5
    ).fit(*data)
    made = privacy_statement(model)
    assert made.epsilon_of_releases == pytest.approx(by_each_row(model), rel=1e-9)
    assert "rows of one person" not in str(made)


def test_a_bag_of_pipelines_counts_copies_in_every_step(data):
    model = BaggingClassifier(make_pipeline(NoisyScaler(), clf()), n_estimators=2, random_state=3)
    made = privacy_statement(model.fit(*data))
    assert made.epsilon_of_releases == pytest.approx(by_each_row(model, scaler=True), rel=1e-9)


@pytest.mark.slow
def test_many_members_are_bounded_from_above(data):
    """Where rows differ in too many ways, one that is at least as dear stands for them."""
    model = BaggingClassifier(clf(), n_estimators=12, random_state=3).fit(*data)
    made = privacy_statement(model)
    exact = by_each_row(model)
    assert exact * (1 - 1e-9) <= made.epsilon_of_releases <= exact * 1.25


def test_twelve_candidates_five_folds_and_a_refit(rng):
    """Each row is in 48 fold fits and the refit; the choice and the scores are not covered."""
    X = rng.normal(size=(1250, 3))
    y = X[:, 0] > 0
    model = DPSGDClassifier(noise_multiplier=5, batch_size=64, n_epochs=19.2)
    grid = {"learning_rate": np.geomspace(0.01, 1, 12)}
    made = privacy_statement(GridSearchCV(model, grid, cv=KFold(5)).fit(X, y))
    gradients = [SubsampledGaussian(5, 0.064, 300)] * 48 + [SubsampledGaussian(5, 0.0512, 375)]
    assert get_epsilon(gradients, 1e-5) == pytest.approx(7.44, abs=0.01)
    assert 7.44 <= made.epsilon_of_releases <= 7.58
    noise = 5 / SENSITIVITY_FACTOR
    check(
        made,
        [SubsampledGaussian(noise, 0.064, 300 * 48), SubsampledGaussian(noise, 0.0512, 375)],
        gaps=["the choice of GridSearchCV", "the scores of GridSearchCV"],
    )


def test_one_candidate_two_folds_and_the_refit_is_not_forgotten(rng):
    """1.04 for the gradients; 0.838 would be the fold alone."""
    X = rng.normal(size=(1250, 3))
    model = DPSGDClassifier(noise_multiplier=5, batch_size=40, n_epochs=19.2)
    made = privacy_statement(GridSearchCV(model, {}, cv=KFold(2)).fit(X, X[:, 0] > 0))
    gradients = [SubsampledGaussian(5, 0.064, 300), SubsampledGaussian(5, 0.032, 600)]
    assert get_epsilon(gradients, 1e-5) == pytest.approx(1.04, abs=0.005)
    noise = 5 / SENSITIVITY_FACTOR
    by_hand = [SubsampledGaussian(noise, 0.064, 300), SubsampledGaussian(noise, 0.032, 600)]
    check(made, by_hand, gaps=["choice", "scores"])
    assert made.epsilon == math.inf


SEARCHED = ["choice", "scores"]


def test_folds_of_unequal_size_count_for_the_row_that_is_worst_off(rng):
    """Of 122 rows KFold(4) trains on 91, 91, 92 and 92; a row is left out of one of them."""
    X = rng.normal(size=(122, 3))
    made = statement(GridSearchCV(clf(), {}, cv=KFold(4)), (X, X[:, 0] > 0))
    folds = {91: 2, 92: 2}
    costs = []
    for left_out in folds:
        releases = [training(122)]
        for size, times in folds.items():
            releases += [training(size)] * (times - (size == left_out))
        costs.append(get_epsilon(releases, DELTA))
    assert made.epsilon_of_releases == max(costs)


@pytest.mark.parametrize(
    ("cv", "folds"),
    [
        (RepeatedKFold(n_splits=3, n_repeats=2), [80] * 4),
        (ShuffleSplit(3, test_size=0.25), [90] * 3),
        (TimeSeriesSplit(2), [40, 80]),
        (KFold(4, shuffle=True), [90] * 3),
    ],
)
def test_splitters_by_position_are_counted(data, cv, folds):
    """Repeats leave a row out once each; random and growing splits may hold it every time."""
    made = statement(GridSearchCV(clf(), {}, cv=cv), data)
    check(made, [training(), *(training(n) for n in folds)], gaps=SEARCHED)


def test_leaving_one_out_leaves_each_row_out_once(rng):
    X = rng.normal(size=(30, 3))
    y = np.arange(30) % 2
    made = statement(GridSearchCV(clf(20.0), {}, cv=LeaveOneOut()), (X, y))
    by_hand = [training(30, 20.0)] + [training(29, 20.0)] * 29
    check(made, by_hand, gaps=SEARCHED)


def test_candidates_with_different_noise_are_planned_one_by_one(data):
    """The refit is the chosen one's; the folds are everyone's."""
    search = GridSearchCV(clf(), {"noise_multiplier": [4.0, 6.0, 9.0]}, cv=KFold(3)).fit(*data)
    by_hand = [training(noise=search.best_params_["noise_multiplier"])]
    for noise in (4.0, 6.0, 9.0):
        by_hand += [training(80, noise)] * 2
    check(privacy_statement(search), by_hand, gaps=SEARCHED)


def test_a_random_search_counts_the_candidates_that_it_drew(data):
    search = RandomizedSearchCV(
        clf(), {"noise_multiplier": [4.0, 6.0, 9.0]}, n_iter=2, cv=KFold(3), random_state=0
    ).fit(*data)
    by_hand = [training(noise=search.best_params_["noise_multiplier"])]
    for candidate in search.cv_results_["params"]:
        by_hand += [training(80, candidate["noise_multiplier"])] * 2
    check(privacy_statement(search), by_hand, gaps=SEARCHED)


@pytest.mark.parametrize("kind", [HalvingGridSearchCV, HalvingRandomSearchCV])
def test_a_halving_search_counts_every_round_on_its_sample_of_the_folds(data, kind):
    grid = {"noise_multiplier": [4.0, 6.0, 9.0]}
    search = kind(clf(), grid, cv=KFold(3), factor=2, min_resources=60, random_state=0).fit(*data)
    results = search.cv_results_
    assert set(results["n_resources"]) == {60, 120}
    by_hand = [training(noise=search.best_params_["noise_multiplier"])]
    for resources, candidate in zip(results["n_resources"], results["params"], strict=True):
        by_hand += [training(int(resources / N * 80), candidate["noise_multiplier"])] * 2
    check(privacy_statement(search), by_hand, gaps=SEARCHED)


def test_a_halving_search_over_another_resource_uses_whole_folds(data):
    search = HalvingGridSearchCV(
        clf(),
        {"noise_multiplier": [4.0, 6.0]},
        cv=KFold(3),
        factor=2,
        resource="n_epochs",
        max_resources=2,
    ).fit(*data)

    def fit(n, candidate):
        steps = math.ceil(candidate["n_epochs"] * n / 12 - 1e-9)
        return SubsampledGaussian(candidate["noise_multiplier"] / SENSITIVITY_FACTOR, 12 / n, steps)

    by_hand = [fit(N, search.best_params_)]
    for candidate in search.cv_results_["params"]:
        by_hand += [fit(80, candidate)] * 2
    check(privacy_statement(search), by_hand, gaps=SEARCHED)


def test_a_search_over_a_pipeline_plans_every_private_step(data):
    """The candidate's parameters reach their own step."""
    pipeline = make_pipeline(NoisyScaler(), clf())
    search = GridSearchCV(pipeline, {"noisyscaler__noise": [8.0, 5.0]}, cv=KFold(2)).fit(*data)
    refit = search.best_params_["noisyscaler__noise"]
    by_hand = [Gaussian(refit), training(), Gaussian(8.0), Gaussian(5.0), *[training(60)] * 2]
    check(privacy_statement(search), by_hand, gaps=SEARCHED)


def test_calibrated_noise_is_planned_for_each_folds_size(data):
    """The plan of a fold is the plan that the fold's fit made, "auto" settings and all."""
    search = GridSearchCV(DPSGDClassifier(), {"epsilon": [0.5, 1.0]}, cv=KFold(2)).fit(*data)
    by_hand = list(search.best_estimator_.mechanisms_)
    for epsilon in (0.5, 1.0):
        fold = DPSGDClassifier(epsilon=epsilon).fit(data[0][:60], data[1][:60])
        by_hand += fold.mechanisms_
    check(privacy_statement(search), by_hand, gaps=SEARCHED)


def test_candidates_that_change_the_columns_have_no_plan_where_the_noise_depends_on_them(data):
    """Anything unknown is not covered; with the noise given, the columns do not matter."""
    grid = {"polynomialfeatures__degree": [1, 2]}
    bounded = [PolynomialFeatures(include_bias=False), BoundedScaler(bounds=(-9, 9))]
    made = statement(
        GridSearchCV(make_pipeline(*bounded, DPSGDClassifier()), grid, cv=KFold(2)), data
    )
    assert made.epsilon_of_releases == math.inf
    assert any("numbers of columns" in gap.reason for gap in made.not_covered)
    made = statement(GridSearchCV(make_pipeline(*bounded, clf()), grid, cv=KFold(2)), data)
    check(made, [training(), *[training(60)] * 2], gaps=SEARCHED)


def test_a_step_that_is_itself_a_candidate_is_planned(data):
    """Also where a candidate that was not chosen leaves a gap."""
    grid = {"noisyscaler": [NoisyScaler(5.0), "passthrough", BoundedScaler(bounds=(-3, 3))]}
    search = GridSearchCV(make_pipeline(NoisyScaler(), clf()), grid, cv=KFold(2)).fit(*data)
    refit = [training()]
    if isinstance(search.best_estimator_[0], NoisyScaler):
        refit.append(Gaussian(5.0))
    check(privacy_statement(search), [*refit, Gaussian(5.0), *[training(60)] * 3], gaps=SEARCHED)


def test_without_a_refit_the_number_of_rows_must_be_said(data):
    search = GridSearchCV(clf(), {"learning_rate": [0.1, 0.2]}, cv=KFold(3), refit=False).fit(*data)
    made = privacy_statement(search)
    assert made.epsilon_of_releases == math.inf
    assert any("n_samples" in gap.instead for gap in made.not_covered)
    check(privacy_statement(search, n_samples=N), [training(80)] * 4, gaps=SEARCHED)


@pytest.mark.slow
def test_candidates_that_were_refused_cost_nothing(data):
    """A budget that the first step exceeds is refused before a row is read; others are counted."""
    grid = {"noise_multiplier": [4.0, 0.01], "epsilon": [1.0]}
    search = GridSearchCV(clf(), grid, cv=KFold(2), error_score=np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(*data)
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True]
    check(privacy_statement(search), [training(), training(60)], gaps=SEARCHED)


def test_several_metrics_and_a_refit_by_a_function(data):
    search = GridSearchCV(
        clf(),
        {"learning_rate": [0.1, 0.2]},
        cv=KFold(2),
        scoring=["accuracy", "roc_auc"],
        refit=lambda results: 1,
    )
    check(statement(search, data), [training(), *[training(60)] * 2], gaps=SEARCHED)


def test_a_search_over_thresholds_counts_the_fits_behind_them(data):
    """And knows how many rows they saw."""
    search = GridSearchCV(FixedThresholdClassifier(clf()), {"threshold": [0.1, 0.5]}, cv=KFold(2))
    made = statement(search, data)
    check(made, [training(), *[training(60)] * 2], gaps=SEARCHED)


def test_a_search_over_votes_stacks_and_one_vs_rest(three):
    """Templates of meta-estimators are planned on folds as they are walked when fitted."""
    votes = VotingClassifier([("a", clf()), ("b", clf(6.0))])
    made = statement(GridSearchCV(votes, {"a__noise_multiplier": [4.0]}, cv=KFold(2)), three)
    by_hand = [training(n, noise) for n in (N, 60) for noise in (4.0, 6.0)]
    check(made, by_hand, gaps=SEARCHED)

    rest = OneVsRestClassifier(clf())
    made = statement(GridSearchCV(rest, {"estimator__alpha": [0.0, 0.1]}, cv=KFold(2)), three)
    check(made, [training()] * 3 + [training(60)] * 6, gaps=SEARCHED)

    stack = StackingClassifier([("a", clf())], final_estimator=clf(5.0), cv=KFold(2))
    made = statement(GridSearchCV(stack, {}, cv=KFold(2)), three)
    by_hand = [training(), training(60), training(noise=5.0)]
    by_hand += [training(60), training(30), training(60, 5.0)]
    check(made, by_hand, gaps=SEARCHED)


@pytest.mark.parametrize("ensemble", [True, False])
def test_a_search_over_calibrated_classifiers(data, ensemble):
    model = CalibratedClassifierCV(clf(), cv=KFold(2), ensemble=ensemble)
    made = statement(GridSearchCV(model, {}, cv=KFold(2)), data)
    by_hand = [training(60), training(30)] + ([] if ensemble else [training(), training(60)])
    check(made, by_hand, gaps=[*SEARCHED, "CalibratedClassifierCV 'estimator'"])


def test_a_search_over_bags_without_replacement(data):
    """The ensemble seeds its members anew in every fold, so there is a total."""
    bags = BaggingClassifier(clf(), n_estimators=2, bootstrap=False)
    made = statement(GridSearchCV(bags, {}, cv=KFold(2)), data)
    assert made.epsilon_of_releases == pytest.approx(
        get_epsilon([training()] * 2 + [training(60)] * 2, DELTA), rel=1e-9
    )


def test_a_seeded_ensemble_sets_the_same_seeds_in_every_fold(data):
    """So its fits share noise, and no total holds."""
    bags = BaggingClassifier(clf(), n_estimators=1, bootstrap=False, random_state=0)
    made = statement(GridSearchCV(bags, {}, cv=ShuffleSplit(1)), data)
    assert made.epsilon_of_releases == math.inf
    assert any("share noise" in gap.reason for gap in made.not_covered)


def test_a_search_over_bootstraps_cannot_be_counted(data):
    """Nobody knows how often the bags of a fold drew a row."""
    bags = BaggingClassifier(clf(), n_estimators=2)
    made = statement(GridSearchCV(bags, {}, cv=KFold(2)), data)
    assert made.epsilon_of_releases == math.inf
    assert any("how often" in gap.reason for gap in made.not_covered)


def test_a_search_inside_a_search(data):
    """On a fold, the inner search runs its own folds and refits any of its candidates."""
    inner = GridSearchCV(clf(), {"noise_multiplier": [4.0, 6.0]}, cv=KFold(2))
    outer = GridSearchCV(inner, {}, cv=KFold(2)).fit(*data)
    refit = outer.best_estimator_.best_params_["noise_multiplier"]
    by_hand = [training(noise=refit), training(60), training(60, 6.0)]
    # On the outer fold: inner folds of 30, and the dearer candidate as the refit.
    by_hand += [training(30), training(30, 6.0), training(60)]
    check(privacy_statement(outer), by_hand, gaps=[*SEARCHED, *SEARCHED])


def search_of(noise=4.0):
    return GridSearchCV(clf(noise), {"alpha": [0.0, 0.1]}, cv=KFold(2))


def searched(n=N, noise=4.0):
    return [training(n, noise), *[training(n // 2, noise)] * 2]


def test_searches_inside_votes_pipelines_and_one_vs_rest(data, three):
    made = statement(VotingClassifier([("a", search_of()), ("b", clf(6.0))]), data)
    check(made, [*searched(), training(noise=6.0)], gaps=SEARCHED)

    made = statement(make_pipeline(NoisyScaler(), search_of()), data)
    check(made, [Gaussian(8.0), *searched()], gaps=SEARCHED)

    made = statement(OneVsRestClassifier(search_of()), three)
    check(made, searched() * 3, gaps=SEARCHED)


def test_a_search_inside_calibration(data):
    """Each fold holds a whole search; a row may be in the larger part of every search's folds."""
    model = CalibratedClassifierCV(search_of(), cv=KFold(2), ensemble=True)
    check(statement(model, data), searched(60), gaps=[*SEARCHED, "CalibratedClassifierCV"])


def test_a_search_inside_a_bag_shares_the_seed_that_the_bag_sets(data):
    """All its fits then use one integer, so no total holds."""
    made = statement(BaggingClassifier(search_of(), n_estimators=2), data)
    assert made.epsilon_of_releases == math.inf
    assert any("share noise" in gap.reason for gap in made.not_covered)


def test_copies_of_a_row_may_stand_in_all_folds_of_a_search(data):
    """A bag's row drawn k times is in every fold of the search inside, k copies at most."""
    account = _Walk().account(search_of().fit(*data), (), N)
    (pattern,) = copied(account, 3).patterns
    by_hand = [training(N, copies=3), *[training(60, copies=3)] * 4]
    assert get_epsilon(expand(pattern), DELTA) == get_epsilon(by_hand, DELTA)


def test_votes_of_stacks_of_pipelines(data):
    """Three levels deep."""
    stack = StackingClassifier(
        [("p", make_pipeline(NoisyScaler(), clf()))], final_estimator=clf(5.0), cv=KFold(2)
    )
    made = statement(VotingClassifier([("s", stack), ("c", clf(7.0))]), data)
    by_hand = [Gaussian(8.0), training(), Gaussian(8.0), training(60), training(noise=5.0)]
    check(made, [*by_hand, training(noise=7.0)])


def test_a_wrong_number_of_rows_is_refused(data):
    """Where a part says how many rows all of them saw."""
    model = make_pipeline(NoisyScaler(), clf()).fit(*data)
    with pytest.raises(ValueError, match="n_samples=1000 differs"):
        privacy_statement(model, n_samples=1000)
    assert privacy_statement(model, n_samples=N).epsilon > 0

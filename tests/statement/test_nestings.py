"""Random nestings, fitted, fitted again and changed: no finite figure is below the record.

The record is kept apart from the package's own marks: every fit of a private part is noted as it
happens, with the private transformers through which its rows had come in the pipelines around it.
What is on an object is found by pickling it.
"""

import contextlib
import functools
import io
import math
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import Normalizer

from skdp import DPSGDClassifier, PrivacyBudget, privacy_statement
from skdp._estimator import PrivateEstimator
from skdp.preprocessing import BoundedScaler, DPMaxAbsScaler, DPStandardScaler
from skdp.privacy import get_epsilon

DELTA = 1e-5
N = 60
N_EXAMPLES = 120


class Record:
    """All private fits, by their marks, with what their rows had been through."""

    def __init__(self):
        self.mechanisms, self.upstream, self.around = {}, {}, []

    @contextlib.contextmanager
    def kept(self, monkeypatch):
        counted, fit_pipeline = PrivateEstimator._counted, Pipeline.fit

        @contextlib.contextmanager
        def noted(estimator, mechanisms, **rest):
            mechanisms = tuple(mechanisms)
            with counted(estimator, mechanisms, **rest) as marks:
                self.mechanisms[marks["fit_id_"]] = mechanisms
                self.upstream[marks["fit_id_"]] = set().union(*self.around)
                yield marks

        def fit(pipeline, *args, **rest):
            self.around.append(set())
            try:
                return fit_pipeline(pipeline, *args, **rest)
            finally:
                self.around.pop()

        with monkeypatch.context() as patch:
            patch.setattr(PrivateEstimator, "_counted", noted)
            patch.setattr(Pipeline, "fit", fit)
            for scaler in (DPMaxAbsScaler, DPStandardScaler):
                patch.setattr(scaler, "transform", self.noting(scaler.transform))
            yield self

    def noting(self, transform):
        def noted(scaler, X):
            for passed in self.around:
                passed.add(scaler.fit_id_)
            return transform(scaler, X)

        return noted

    def behind(self, fitted):
        """The releases of every fit on an object, and of those that made its rows."""
        waiting, found = set(marks_in_pickle_of(fitted)), set()
        while waiting:
            mark = waiting.pop()
            found.add(mark)
            waiting |= self.upstream[mark] - found
        return [mechanism for mark in found for mechanism in self.mechanisms[mark]]


def marks_in_pickle_of(fitted):
    marks = []

    class Finder(pickle.Pickler):
        def persistent_id(self, thing):
            if isinstance(thing, PrivateEstimator) and hasattr(thing, "fit_id_"):
                marks.append(thing.fit_id_)

    Finder(io.BytesIO()).dump(fitted)
    return marks


class Maker:
    """Draws models; some of their parts were fitted before, some are frozen."""

    def __init__(self, rng):
        self.rng = rng
        self.X = rng.normal(size=(N, 3))
        self.y = np.arange(N) % 2

    def classifier(self, depth):
        kinds = [self.plain, self.pipeline, self.voting, self.threshold, self.rest, self.frozen]
        make = kinds[self.rng.integers(len(kinds))] if depth else self.plain
        made = make(depth)
        return made.fit(self.X, self.y) if self.rng.random() < 0.15 and depth else made

    def plain(self, depth):
        noise = float(self.rng.choice([3.0, 6.0, 9.0]))
        return DPSGDClassifier(noise_multiplier=noise, batch_size=20, n_epochs=1)

    def pipeline(self, depth):
        steps = [self.transformer(depth - 1) for _ in range(self.rng.integers(1, 3))]
        return Pipeline(
            [(f"t{i}", step) for i, step in enumerate(steps)] + [("c", self.classifier(depth - 1))]
        )

    def voting(self, depth):
        return VotingClassifier([(name, self.classifier(depth - 1)) for name in "ab"])

    def threshold(self, depth):
        return FixedThresholdClassifier(self.classifier(depth - 1), threshold=0.4)

    def rest(self, depth):
        return OneVsRestClassifier(self.classifier(depth - 1))

    def frozen(self, depth):
        return FrozenEstimator(self.classifier(depth - 1).fit(self.X, self.y))

    def transformer(self, depth):
        kind = self.rng.integers(7 if depth > 0 else 4)
        if kind == 0:
            return BoundedScaler((-9, 9))
        if kind == 1:
            return Normalizer()
        if kind in (2, 3):
            scaler = DPMaxAbsScaler(float(self.rng.choice([0.2, 0.5])))
            return scaler.fit(self.X) if self.rng.random() < 0.2 else scaler
        if kind == 4:
            return FeatureUnion([(name, self.transformer(0)) for name in "ab"])
        if kind == 5:
            scaler = DPStandardScaler(0.3, bounds=(-9, 9)).fit(self.X)
            return FrozenEstimator(scaler) if self.rng.random() < 0.5 else clone(scaler)
        parts = [("a", self.transformer(0), [0, 1]), ("b", self.transformer(0), [2])]
        return ColumnTransformer(parts, sparse_threshold=0)

    def change(self, model):
        """Fit a part again, set its parameters, or put another one in its place."""
        private = [
            part
            for part in model.get_params(deep=True).values()
            if isinstance(part, PrivateEstimator)
        ]
        if not private:
            return
        part = private[self.rng.integers(len(private))]
        how = self.rng.integers(3)
        if isinstance(part, DPSGDClassifier):
            part.set_params(noise_multiplier=50.0)
        else:
            part.set_params(epsilon=0.01)
        if how == 1 and hasattr(part, "n_features_in_"):
            part.fit(np.ones((N, part.n_features_in_)), self.y)
        elif how == 2 and isinstance(model, Pipeline):
            model.set_params(t0=DPMaxAbsScaler(0.01).fit(self.X))


def drawn(seed, monkeypatch, change=None):
    """A fitted model, its maker and its record; None where scikit-learn refuses the nesting."""
    maker, record = Maker(np.random.default_rng(seed)), Record()
    with record.kept(monkeypatch):
        try:
            model = maker.classifier(3)
            model = model if change is None else change(model)
            n_before = len(record.mechanisms)
            return model.fit(maker.X, maker.y), maker, record, n_before
        except (AttributeError, TypeError, ValueError):
            return None


def examples(monkeypatch):
    """Fitted models, changed and unchanged, each with what is behind it."""
    for seed in range(N_EXAMPLES):
        made = drawn(seed, monkeypatch)
        if made is None:
            continue
        model, maker, record, _ = made
        yield model, record.behind(model)
        for _ in range(2):
            with record.kept(monkeypatch):
                maker.change(model)
            yield model, record.behind(model)


@pytest.mark.slow
def test_no_finite_figure_is_below_what_was_recorded(monkeypatch):
    """Whatever was fitted before, fitted again, shared, frozen, changed or replaced."""
    finite, infinite = 0, 0
    for model, truth in examples(monkeypatch):
        made = privacy_statement(model, delta=DELTA)
        if math.isinf(made.epsilon):
            infinite += 1
            continue
        finite += bool(truth)
        assert made.epsilon >= (get_epsilon(truth, DELTA) if truth else 0.0) * (1 - 1e-9), model
        again = privacy_statement(pickle.loads(pickle.dumps(model)), delta=DELTA)
        assert again.epsilon == pytest.approx(made.epsilon, rel=1e-12)
    assert finite >= 100
    assert infinite >= 10


@pytest.mark.slow
def test_what_was_fitted_anew_is_stated_exactly(monkeypatch):
    """Of unfitted parts alone the figure is that of the record: tight, not only safe."""
    exact = 0
    for seed in range(1000, 1080):
        made = drawn(seed, monkeypatch, change=clone)
        if made is None:
            continue
        model, _, record, _ = made
        stated = privacy_statement(model, delta=DELTA)
        if math.isfinite(stated.epsilon):
            truth = get_epsilon(record.behind(model), DELTA)
            assert stated.epsilon == pytest.approx(truth, rel=1e-9)
            exact += 1
    assert exact >= 20


@pytest.mark.slow
def test_an_attached_budget_misses_no_fit(monkeypatch):
    """As many entries as fits, at what they released."""
    counted = 0
    for seed in range(2000, 2060):
        budget = PrivacyBudget(50.0, DELTA)
        made = drawn(seed, monkeypatch, change=budget.attach)
        if made is None:
            continue
        _, _, record, n_before = made
        fits = list(record.mechanisms.values())[n_before:]
        if not fits:
            continue
        counted += 1
        number = "1 fit" if len(fits) == 1 else f"{len(fits)} fits"
        assert f" {number}," in budget.in_short()
        released = [one for fit in fits for one in fit]
        assert budget.epsilon_if_fixed == pytest.approx(get_epsilon(released, DELTA), rel=1e-9)
    assert counted >= 30


@pytest.mark.oracle
def test_no_finite_figure_is_below_what_dp_accounting_says(monkeypatch):
    """To 0.2 %, by which its upper bound on these compositions is above the truth at most."""
    pytest.importorskip("dp_accounting")
    compared = 0
    for model, truth in examples(monkeypatch):
        made = privacy_statement(model, delta=DELTA)
        if truth and math.isfinite(made.epsilon):
            assert made.epsilon >= their_epsilon(truth) * (1 - 2e-3)
            compared += 1
    assert compared >= 100


def their_epsilon(mechanisms):
    from dp_accounting.pld import privacy_loss_distribution as pld

    def loss(mechanism):
        return pld.from_gaussian_mechanism(
            mechanism.noise_multiplier,
            sampling_prob=getattr(mechanism, "sample_rate", 1.0),
            value_discretization_interval=2e-4,
            use_connect_dots=True,
        ).self_compose(getattr(mechanism, "n_steps", 1))

    total = functools.reduce(lambda one, other: one.compose(other), map(loss, mechanisms))
    return total.get_epsilon_for_delta(DELTA)

"""Models can be given away without pickles: the round trip through skops."""

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.pipeline import make_pipeline

from skdp import DPSGDClassifier, privacy_statement
from skdp.preprocessing import (
    BoundedScaler,
    DPMaxAbsScaler,
    DPStandardScaler,
    PiecewiseLinearFeatures,
    RowNormClipper,
)

SCALERS = {
    "bounded": BoundedScaler((-3, 3)),
    "mapping": BoundedScaler({"a": (-3, 3), "b": (-3, 3), "c": (-3, 3)}),
    "curves": make_pipeline(BoundedScaler((-3, 3)), PiecewiseLinearFeatures()),
    "max_abs": DPMaxAbsScaler(epsilon=0.5),
    "held": DPMaxAbsScaler(epsilon=0.5, power=0.5, clip=0.8),
    "standard": DPStandardScaler(epsilon=0.5, bounds=(-3, 3)),
    "clipper": RowNormClipper(max_norm=2.0),
}


@pytest.fixture(params=SCALERS)
def model_and_copy(request, three_classes):
    """A fitted pipeline, and what skops makes of the bytes that it wrote."""
    X, y = three_classes
    if request.param == "mapping":
        X = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    model = make_pipeline(SCALERS[request.param], DPSGDClassifier(epsilon=1.0, store_path=True))
    stored = skops.io.dumps(model.fit(X, y))
    unknown = skops.io.get_untrusted_types(data=stored)
    return X, model, skops.io.loads(stored, trusted=unknown), unknown


def test_a_stored_model_predicts_as_before(model_and_copy):
    """Coefficients, classes, names and the path survive."""
    X, model, copy, _ = model_and_copy
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    stages = zip(
        model[-1].staged_predict(model[:-1].transform(X)),
        copy[-1].staged_predict(copy[:-1].transform(X)),
        strict=True,
    )
    for before, after in stages:
        np.testing.assert_array_equal(after, before)


def test_a_stored_model_still_states_what_it_cost(model_and_copy):
    """The promise travels with the model."""
    _, model, copy, _ = model_and_copy
    assert privacy_statement(copy).to_dict() == privacy_statement(model).to_dict()
    assert copy[-1].mechanisms_ == model[-1].mechanisms_
    assert copy[-1].epsilon_ == model[-1].epsilon_


def test_a_reader_is_asked_to_trust_public_types_of_skdp_alone(model_and_copy):
    """Anything else in the file would be a reason not to open it."""
    *_, unknown = model_and_copy
    assert unknown
    assert all(name.startswith("skdp.") and "._" not in name for name in unknown)


def test_a_model_needs_no_private_object_to_predict(model_and_copy):
    """Arrays, numbers and text do: what a file names is all that a reader has to look at."""
    X, model, copy, unknown = model_and_copy
    features, classifier = model[:-1].transform(X), copy[-1]
    for name, value in list(vars(classifier).items()):
        if type(value).__module__.startswith("skdp"):
            delattr(classifier, name)
    np.testing.assert_array_equal(classifier.predict(features), model.predict(X))
    mechanisms = {f"skdp.privacy.{type(one).__name__}" for one in model[-1].mechanisms_}
    steps = {f"{type(one).__module__}.{type(one).__name__}" for one in steps_of(model)}
    assert set(unknown) == {name for name in mechanisms | steps if name.startswith("skdp.")}


def steps_of(pipeline):
    """The steps of a pipeline and of those inside it."""
    for _, step in pipeline.steps:
        yield from steps_of(step) if hasattr(step, "steps") else [step]

"""What a fit leaves behind: no row in a pickle, and the last model where it was interrupted."""

import gc
import io
import pickle
import weakref

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skdp import DPSGDClassifier
from skdp.linear_model import _dpsgd, _first_releases
from skdp.mechanisms._clipping import ClippedGradient
from skdp.mechanisms._release import NoisyReleases

MARKER = 1234.567890123
LABEL = "Zoe-" + "5" * 12

CONTAINERS = {
    "double": np.asarray,
    "single": lambda X: X.astype(np.float32),
    "columns": np.asfortranarray,
    "csr": sparse.csr_matrix,
    "csr array": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "frame": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
    "list": lambda X: X.tolist(),
}
PARAMETERS = {
    "defaults": {},
    "path": {"store_path": True},
    "batches": {"batch_size": 10, "n_epochs": 2},
    "bounded": {"max_row_norm": 2.0},
    "given noise": {"noise_multiplier": 2.0, "n_epochs": 2, "random_state": 0},
}


def traces(value):
    """How a number may stand in a file: in both precisions and byte orders, and as text."""
    numbers = [np.float64(value), np.float32(value)]
    raw = [number.tobytes() for number in numbers]
    return raw + [one[::-1] for one in raw] + [repr(value).encode()]


def marked_rows(rng):
    X = rng.normal(size=(60, 3))
    X[7], X[11] = MARKER, [0.0, MARKER, 0.0]
    return X


def files_of(model):
    """The model as it is usually saved; older protocols spell bytes in another way."""
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    return [pickle.dumps(model, protocol) for protocol in (3, 4, 5)] + [buffer.getvalue()]


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("params", PARAMETERS.values(), ids=PARAMETERS)
def test_a_saved_model_holds_no_entry_of_a_row(params, container, rng):
    """In whatever the rows came, and whatever is kept."""
    model = DPSGDClassifier(**params).fit(container(marked_rows(rng)), np.arange(60) % 2)
    for file in files_of(model):
        assert not any(trace in file for trace in traces(MARKER))


def test_the_search_finds_a_row_that_is_kept(rng):
    """So that finding none says something; lists and text included."""
    X = marked_rows(rng)
    for container in CONTAINERS.values():
        model = DPSGDClassifier(random_state=0).fit(container(X), np.arange(60) % 2)
        model.rows_ = container(X)
        assert all(any(trace in file for trace in traces(MARKER)) for file in files_of(model))
    model.rows_ = str(MARKER)
    assert all(any(trace in file for trace in traces(MARKER)) for file in files_of(model))


def test_a_saved_model_holds_no_label_of_a_row_where_classes_are_declared(rng):
    """A refused fit keeps none either: the label that it stumbled over is private."""
    X, y = marked_rows(rng), np.array(["no", "yes"] * 30, dtype=object)
    model = DPSGDClassifier(classes=["no", "yes"]).fit(X, y)
    y[5] = LABEL
    with pytest.raises(ValueError, match="outside classes") as caught:
        model.fit(X, y)
    for file in files_of(model):
        assert LABEL.encode() not in file
        assert not any(trace in file for trace in traces(MARKER))
    assert LABEL not in str(caught.value)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_rows_can_be_freed_after_the_fit(order, rng):
    """Nothing on the estimator refers to them, in any roundabout way."""
    X, y = np.array(marked_rows(rng), order=order), np.arange(60) % 2
    model = DPSGDClassifier(store_path=True, random_state=0).fit(X, y)
    gone = [weakref.ref(X), weakref.ref(y)]
    del X, y
    gc.collect()
    assert [reference() for reference in gone] == [None, None]
    assert model.n_features_in_ == 3


def test_the_size_of_a_saved_model_does_not_grow_with_the_rows(rng):
    """Only numbers in it get longer: nothing is kept a row."""
    sizes = []
    for n_rows in (64, 4096):
        X = rng.normal(size=(n_rows, 3))
        model = DPSGDClassifier(noise_multiplier=2.0, n_epochs=1, random_state=0)
        sizes.append(len(pickle.dumps(model.fit(X, np.arange(n_rows) % 2))))
    assert abs(sizes[1] - sizes[0]) < 64


# Interrupts

STAGES = {
    "checking the data": (_dpsgd, "encode_labels"),
    "planning": (_dpsgd, "make_plan"),
    "copying": (_dpsgd, "in_row_order"),
    "counting": (_first_releases, "noisy_counts"),
    "measuring norms": (ClippedGradient, "__init__"),
    "adding up": (ClippedGradient, "add_to"),
    "releasing": (NoisyReleases, "add_noise"),
    "descending": (_dpsgd, "descend"),
    "shaping the model": (_dpsgd, "as_model"),
    "adopting the model": (_dpsgd, "replace_fitted"),
}


@pytest.fixture(params=STAGES.values(), ids=STAGES)
def interrupted(request, monkeypatch):
    """Ctrl-C at one stage of a fit; add up and release a few times before that."""
    where, name = request.param
    original, calls = getattr(where, name), []

    def interrupt(*args, **kwargs):
        calls.append(name)
        if name in ("add_to", "add_noise") and len(calls) < 4:
            return original(*args, **kwargs)
        raise KeyboardInterrupt

    monkeypatch.setattr(where, name, interrupt)
    return calls


@pytest.fixture
def fitted(two_classes):
    X, y = two_classes
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    return DPSGDClassifier(store_path=True, random_state=0).fit(frame, np.where(y, "yes", "no"))


def test_an_interrupted_fit_leaves_the_last_model_whole(fitted, interrupted, three_classes):
    """Other rows, columns and labels had been on their way in; names and n_features_in_ stay.

    The order of the fixtures matters: the first fit is not interrupted.
    """
    before = dict(vars(fitted))
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(*three_classes)
    assert interrupted
    after = vars(fitted)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    assert fitted.n_features_in_ == 3
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    frame = pd.DataFrame(np.zeros((2, 3)), columns=["a", "b", "c"])
    assert set(fitted.predict(frame)) <= {"yes", "no"}


def test_an_interrupted_first_fit_leaves_an_unfitted_model(interrupted, two_classes):
    """Half a fit must not look like a whole one, and what it saw must not be saved."""
    X, y = two_classes
    X[7] = MARKER
    model = DPSGDClassifier(random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert interrupted
    assert vars(model) == model.get_params()
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert not any(trace in file for file in files_of(model) for trace in traces(MARKER))

"""Replay: the releases alone, without X and y, are the fitted estimator."""

import secrets
import warnings

import claims
import numpy as np
import pytest
from claims import N_FEATURES, N_ROWS, PARAMETERS, fit_of, table_with
from neighbours import difference, record

from skdp import DPSGDClassifier, PrivacyWarning
from skdp.linear_model import _dpsgd, _first_releases


class NoData:
    """Stands where a table or labels were: it has a public shape, and nothing can be read."""

    shape = (N_ROWS, N_FEATURES)

    def astype(self, dtype):
        return self


def refit_without_data(params, releases, n_classes, monkeypatch):
    """Run `fit` with no table anywhere, and with the releases in the place of the trusted code."""
    tape = (release.copy() for release in releases)

    class Player:
        def __init__(self, X, targets, loss, plan, *, fit_intercept, **rest):
            self.n_weights = (N_FEATURES + fit_intercept) * loss.n_outputs

        def __call__(self, weights):
            return next(tape)

    names = {"n_features_in_": N_FEATURES}
    monkeypatch.setattr(_dpsgd, "public_columns", lambda _, X, **checks: (X, X.shape, names))
    monkeypatch.setattr(_dpsgd, "read_usable_rows", lambda _, X, **checks: (X, None))
    monkeypatch.setattr(_dpsgd, "read_labels", lambda _, y, **rows: (y, None))
    no_labels = np.arange(n_classes), np.zeros(N_ROWS, dtype=int)
    monkeypatch.setattr(_dpsgd, "encode_labels", lambda y, classes, **rows: no_labels)
    monkeypatch.setattr(_dpsgd, "in_row_order", lambda X: X)
    monkeypatch.setattr(_dpsgd, "NoisyGradient", Player)
    monkeypatch.setattr(_first_releases, "norm_bins", lambda X, *units, **rows: X)
    monkeypatch.setattr(_first_releases, "noisy_counts", lambda *rows, **units: next(tape))
    monkeypatch.setattr(secrets, "token_hex", lambda n_bytes: "0" * 2 * n_bytes)
    model = DPSGDClassifier(**params).fit(NoData(), NoData())
    assert next(tape, None) is None, "some releases were not needed"
    return model


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", PARAMETERS)
def test_the_releases_alone_rebuild_every_attribute(name, n_classes, monkeypatch):
    """By the post-processing theorem, what is computed from releases costs nothing more.

    The seed, the label set and the sizes are public; nothing else goes in. (The random name of a
    fit is held fixed.)
    """
    params = {"random_state": 0, "store_path": True, "classes": list(range(n_classes))}
    params |= PARAMETERS[name]
    first = record(fit_of(table_with("long", n_classes), params, n_classes))
    releases = [release.value for series in first.series for release in series.releases]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        model = refit_without_data(params, releases, n_classes, monkeypatch)
    assert difference(first.state, vars(model)) is None
    assert first.mechanisms == list(model.mechanisms_)


def test_a_table_of_zeros_that_is_fed_the_releases_leaves_the_same_estimator():
    """Through `fit` itself, with its warnings and its use of randomness."""
    claims.the_fit_can_be_replayed_without_data()


def test_what_is_priced_is_what_was_released():
    """`mechanisms_` are the recorded releases, each with noise of its multiplier times the
    sensitivity that the neighbour tests measure."""
    claims.only_priced_releases_are_made_with_fresh_noise()


def test_what_was_released_is_paid_for():
    """With `epsilon_`, and within the budget."""
    claims.every_release_is_paid_for()

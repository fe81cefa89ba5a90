"""Neighbours: with one row left out, sums move by their sensitivity, and nothing else does."""

import claims
import numpy as np
import pytest
from claims import (
    CONTAINERS,
    PARAMETERS,
    ROWS,
    Table,
    fit_of,
    neighbours_of,
    runs_of,
    table_with,
)
from neighbours import (
    assert_equal_to_everyone,
    assert_moved_within_sensitivity,
    assert_noise_as_priced,
    difference,
    record,
)
from sklearn.base import BaseEstimator, TransformerMixin

from skdp.mechanisms import _counts
from skdp.mechanisms._counts import count_plan, norm_bins
from skdp.mechanisms._gradient_plan import COUNT_WEIGHT
from skdp.mechanisms._noise import Streams
from skdp.mechanisms._release import NoisyReleases


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("params", PARAMETERS.values(), ids=PARAMETERS)
def test_one_row_moves_sums_within_their_sensitivity_and_nothing_else(params, row, n_classes):
    """The same randomness and the same releases: what leaves is equal, to the last bit."""
    for container in CONTAINERS.values():
        first, others = runs_of(row, params, n_classes, container)
        assert_noise_as_priced(first)
        for other in others:
            assert_moved_within_sensitivity(first, other)
            assert_equal_to_everyone(first, other)


@pytest.mark.slow
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["a budget", "a budget and small batches", "a low threshold"])
def test_a_persons_rows_move_sums_by_as_many_sensitivities(name, n_classes, container):
    """Several rows of one person, a long one and a copy among them; only those drawn count."""
    table = table_with("long", n_classes)
    table.X[30] = table.X[7]
    table = table._replace(rows=[3, 7, 11, 30])
    first = record(fit_of(table, PARAMETERS[name], n_classes, container))
    for other in neighbours_of(table):
        run = record(
            fit_of(other, PARAMETERS[name], n_classes, container), left_out=other.rows, play=first
        )
        assert_moved_within_sensitivity(first, run)
        assert_equal_to_everyone(first, run)
        parts = {release.left_out for series in run.series for release in series.releases}
        assert max(parts) > 1


@pytest.mark.slow
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("params", PARAMETERS.values(), ids=PARAMETERS)
def test_a_unit_moves_sums_within_one_sensitivity_however_many_rows_it_has(
    params, n_classes, container
):
    """The number of units is public and the number of rows is not: nothing else may tell it.

    Left out, a unit does not change the sums over the others in the last bit, whatever its rows.
    """
    first, others = claims.runs_by_unit(params, n_classes, container)
    assert_noise_as_priced(first)
    for other in others:
        assert_moved_within_sensitivity(first, other)
        assert_equal_to_everyone(first, other)
        assert difference(clean_sums(others[0]), clean_sums(other)) is None
    drawn = {release.left_out for series in others[0].series for release in series.releases}
    assert 1 in drawn


def clean_sums(run):
    return [release.clean for series in run.series for release in series.releases]


def test_rows_without_numbers_are_refused_alike():
    """Whichever row it is, and whether it would contribute or not."""
    claims.rows_without_numbers_are_refused_alike()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_clipped_row_reaches_the_sensitivity_and_a_row_that_is_not_drawn_moves_nothing(n_classes):
    """Leaving a row out does leave it out: else every bound would hold for nothing.

    Count and gradient together are the threshold times the root of 1 + k^2, before rounding.
    """
    # So slow that no row is learned by heart, and the long one is clipped at every step.
    params = {"noise_multiplier": 2.0, "batch_size": 10, "n_epochs": 10, "learning_rate": 1e-12}
    first, others = runs_of("long", params, n_classes)
    reached = first.state["clip_threshold_"] * np.hypot(1.0, COUNT_WEIGHT)
    for other in others:
        drawn = np.array([release.left_out for release in other.series[0].releases])
        assert set(drawn) == {0, 1}
        moved = [
            np.linalg.norm(one.clean - two.clean)
            for one, two in zip(first.series[0].releases, other.series[0].releases, strict=True)
        ]
        np.testing.assert_allclose(moved, reached * drawn, rtol=1e-9, atol=1e-12)


def test_played_releases_keep_two_runs_in_step():
    """Left to themselves the runs part, and their sums differ by more than one row explains."""
    table = table_with("long")
    params = {"noise_multiplier": 1.0, "batch_size": 40, "learning_rate": 30.0}
    first = record(fit_of(table, params))
    alone = record(fit_of(table, params), left_out=table.rows)
    in_step = record(fit_of(table, params), left_out=table.rows, play=first)
    assert_moved_within_sensitivity(first, in_step)
    with pytest.raises(AssertionError, match="a sum moved by"):
        assert_moved_within_sensitivity(first, alone)


def test_the_settings_include_empty_batches_and_runs_that_the_budget_cuts():
    """What the grid is said to cover, it covers."""
    table = table_with("random")
    empty = record(fit_of(table, PARAMETERS["empty batches"]))
    assert any(not release.clean.any() for release in empty.series[0].releases)
    cut = record(fit_of(table, PARAMETERS["a budget and given noise"]))
    assert any("the budget ends training" in text for _, text in cut.said)
    assert not empty.error
    assert not cut.error


# What the harness itself must see, with a transformer of which it knows nothing


class NormHistogram(TransformerMixin, BaseEstimator):
    """Releases how many rows have which norm."""

    def fit(self, X, y=None):
        plan = count_plan(64, 5.0)
        noise = Streams(0, "NormHistogram").open("norms", "noise")
        self.histogram_ = _counts.noisy_counts(norm_bins(X), plan, noise)
        self.plan_ = plan
        return self

    def transform(self, X):
        return X

    def _privacy_releases(self):
        return [self.plan_.mechanism]


class Boastful(NormHistogram):
    """Prints one number too many."""

    def fit(self, X, y=None):
        print(np.abs(X).max())
        return super().fit(X)


class BackDoor(NormHistogram):
    """Adds noise to a sum that no way into the trusted code has announced."""

    def fit(self, X, y=None):
        noise = Streams(0, "BackDoor").open("sums", "noise")
        releases = NoisyReleases(
            X.shape[1], sensitivity=1.0, noise_scale=5.0, n_releases=1, source=noise
        )
        self.sums_ = releases.add_noise(X.sum(axis=0))
        return self


def runs_of_transformer(transformer):
    table = table_with("long")
    first = record(lambda: transformer().fit(table.X))
    return first, [
        record(lambda X=other.X: transformer().fit(X), left_out=other.rows, play=first)
        for other in neighbours_of(table)
    ]


def test_a_transformer_is_recorded_like_a_classifier():
    """Whatever the trusted code releases is."""
    first, others = runs_of_transformer(NormHistogram)
    assert_noise_as_priced(first)
    for other in others:
        assert_moved_within_sensitivity(first, other)
        assert_equal_to_everyone(first, other)


def test_what_a_fit_prints_is_seen():
    """As is what it warns of: an onlooker reads both."""
    first, others = runs_of_transformer(Boastful)
    with pytest.raises(AssertionError, match="said"):
        assert_equal_to_everyone(first, others[1])


def test_a_way_into_the_vault_that_the_harness_does_not_know_is_an_error():
    """Rows that cannot be left out would make every neighbour an equal."""
    table = Table(np.ones((5, 2)), np.zeros(5, dtype=int), [0])
    with pytest.raises(AssertionError, match="LEAVE_OUT does not know"):
        record(lambda: BackDoor().fit(table.X), left_out=table.rows)

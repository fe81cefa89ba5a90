"""What several rows of one person cost."""

import math

import pytest
from scipy.stats import norm

from skdp.privacy import (
    Gaussian,
    GroupedGaussian,
    SubsampledGaussian,
    get_epsilon,
    group_epsilon,
)

TRAINING = SubsampledGaussian(2.0, 0.08, 100)
DELTA = 1e-5


def test_one_row_costs_what_get_epsilon_says():
    """A person with one row is a row."""
    for mechanism in (TRAINING, Gaussian(3.0), GroupedGaussian(2.0, 0.08, 100, 3)):
        assert group_epsilon(mechanism, DELTA, 1) == get_epsilon(mechanism, DELTA)


@pytest.mark.parametrize("k", [2, 5])
def test_k_rows_of_a_sampled_sum_are_a_binomial_number_of_contributions(k):
    """The mechanism that is made for it, so exactly its figure."""
    expected = get_epsilon(GroupedGaussian(2.0, 0.08, 100, k), DELTA)
    assert group_epsilon(TRAINING, DELTA, k) == expected


@pytest.mark.parametrize("k", [1, 3])
def test_k_rows_of_a_full_sum_move_it_k_times_as_far(k):
    """Against the closed form of the Gaussian mechanism, evaluated here."""
    epsilon = group_epsilon(Gaussian(4.0), DELTA, k)
    mu = k / 4.0
    delta = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert delta == pytest.approx(DELTA, rel=1e-6)


def test_a_group_of_groups_is_the_product():
    """Two drawers of three copies each hold six rows."""
    grouped = GroupedGaussian(2.0, 0.08, 100, 3)
    assert group_epsilon(grouped, DELTA, 2) == group_epsilon(TRAINING, DELTA, 6)


def test_a_sequence_is_composed_not_added_up():
    """All releases on the same rows, on one grid."""
    together = group_epsilon([TRAINING, Gaussian(4.0)], DELTA, 2)
    by_hand = get_epsilon([GroupedGaussian(2.0, 0.08, 100, 2), Gaussian(2.0)], DELTA)
    apart = group_epsilon(TRAINING, DELTA, 2) + group_epsilon(Gaussian(4.0), DELTA, 2)
    assert together == pytest.approx(by_hand, rel=1e-12)
    assert together < apart


def test_more_than_k_times_epsilon_at_the_same_delta():
    """Multiplying one row's epsilon by k would promise too much."""
    assert group_epsilon(TRAINING, DELTA, 4) > 4 * get_epsilon(TRAINING, DELTA)


@pytest.mark.parametrize(("k", "error"), [(0, ValueError), (1.5, TypeError), (True, TypeError)])
def test_what_is_no_number_of_rows_is_refused_by_name(k, error):
    """A group of none would cost nothing, and a fraction of a row has no meaning."""
    with pytest.raises(error, match="k must be"):
        group_epsilon(TRAINING, DELTA, k)

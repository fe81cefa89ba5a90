"""Figures in texts: what is spent is never printed too low, and what is left never too high."""

import decimal
import math

import numpy as np
import pytest

from skdp.privacy import Gaussian, PrivacyStatement, get_epsilon
from skdp.privacy._promise import digits_down, digits_up, share_up, summary, weaknesses

# Three values a decade, with digits in all places, numbers that look round, and their neighbours.
RAW = [m * 10.0**e for e in range(-300, 300, 7) for m in (1.0, 1.2345649, 9.9994321)]
USUAL = [m * 10.0**e for e in range(-8, 7) for m in (1.0, 1.2345649, 3.0000001, 9.9994321)]
EDGES = [0.1 + 0.2, 0.5, 0.001, 1e-5, 1 / 3, 5e-324, 1.7e308, 1234.5631, 0.00012345649]
VALUES = [
    value
    for near in (*RAW, *USUAL, *EDGES)
    for value in (near, math.nextafter(near, math.inf), math.nextafter(near, 0.0))
    if value > 0
]


def epsilon_in(lines):
    return float(lines[0].split(" at delta ")[0].removeprefix("Epsilon "))


@pytest.mark.parametrize("digits", [3, 4, 6])
def test_rounding_keeps_its_direction_at_every_magnitude(digits):
    """Of a number that has just so many digits, nothing is added."""
    for value in VALUES:
        up, down = float(digits_up(value, digits)), float(digits_down(value, digits))
        assert down <= value <= up
        if 1e-300 < value < 1e300:
            step = 1.001 * 10.0 ** (1 - digits)
            assert up <= value * (1 + step)
            assert down >= value * (1 - step)
    assert digits_up(1e-5, digits) == digits_down(1e-5, digits) == "1e-05"
    assert digits_up(0.3, digits) == digits_down(0.3, digits) == "0.3"


@pytest.mark.parametrize("value", [*USUAL, *EDGES[:5], *EDGES[-2:]])
def test_a_summary_is_never_below_the_epsilon_it_sums_up(value):
    """Nor more than 0.2 % above it, from costs that are nothing to those that protect nobody."""
    shown = epsilon_in(summary(value, 1e-5, unit="row", noise_source="system"))
    assert value <= shown <= value * 1.002


def test_a_summary_shows_a_rounded_epsilon_as_people_write_it():
    """A calibrated fit comes a little below its budget, and shows the budget."""
    for epsilon, shown in ((0.99971, "1"), (1.0, "1"), (2.99951, "3"), (0.1, "0.1"), (0, "0")):
        lines = summary(epsilon, 1e-5, unit="row", noise_source="system")
        assert lines[0].startswith(f"Epsilon {shown} at delta 1e-05")


def test_shares_that_are_spent_are_rounded_up():
    """A ledger that is overspent by a hair does not print 100 %."""
    for share in (0.0, 1e-9, 0.25, 1 / 3, 0.9999, 1.0, 1.0000001, 17.123456):
        printed = float(share_up(share).removesuffix("%"))
        assert share <= printed / 100 <= share + 0.00101
    assert share_up(0.25) == "25.0%"
    assert share_up(1.0000001) == "100.1%"
    assert share_up(math.inf) == "inf%"


def test_what_is_infinite_or_nothing_is_printed_as_it_is():
    """No digits to round."""
    assert [digits_up(value) for value in (0.0, math.inf)] == ["0", "inf"]
    assert [digits_down(value) for value in (0.0, math.inf)] == ["0", "inf"]


def test_the_users_decimals_change_no_figure():
    """Contexts of the decimal module are shared by all that runs in a thread."""
    with decimal.localcontext(prec=2, rounding=decimal.ROUND_DOWN):
        assert (digits_up(1.2341, 4), share_up(0.12341)) == ("1.235", "12.4%")


def test_warnings_show_no_less_than_what_is_spent():
    """Four digits, rounded up."""
    high, rare = weaknesses(10.00001, 0.0234501, 50)
    assert "epsilon_ is 10.01: " in high
    assert "delta=0.02346 is" in rare


@pytest.mark.parametrize("noise", [1e4, 10.0, 1.0, 0.1, 0.04, 0.02])
def test_a_statement_prints_no_figure_below_the_true_one(noise):
    """Epsilon, the factor that it stands for, and the share of right guesses."""
    statement = PrivacyStatement("a model", (Gaussian(noise),), delta=1e-5)
    text = str(statement)
    shown = float(text.split("epsilon ")[1].split(" ")[0])
    assert statement.epsilon <= shown <= statement.epsilon * 1.01
    factor = text.split("at most ")[1].split(" times")[0]
    if factor.startswith("exp("):
        assert float(factor[4:-1]) >= statement.epsilon > 700
    else:
        assert float(factor) >= math.exp(statement.epsilon)
    right = float(text.split("the object, at most ")[1].split(" guesses")[0])
    assert right >= 50 + 50 * statement.membership_advantage


def test_numbers_of_numpy_are_printed_as_those_of_python():
    """Fitted attributes may be either."""
    epsilon = get_epsilon(Gaussian(3.0), 1e-5)
    assert digits_up(np.float64(epsilon)) == digits_up(epsilon)

"""What messages show of a value that was passed by mistake."""

import numpy as np
import pytest

from skdp.exceptions import shown
from skdp.privacy import (
    Gaussian,
    PrivacyStatement,
    SubsampledGaussian,
    get_delta,
    get_epsilon,
    get_renyi_divergence,
    privacy_profile,
    textbook_epsilon,
    trade_off_curve,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (-1.5, "-1.5"),
        (True, "True"),
        ("automatic", "'automatic'"),
        ((0, 1), "(0, 1)"),
        ((0.5,), "(0.5,)"),
        ([1, 2.5, 3, 4], "[1, 2.5, 3, 4]"),
        ([], "[]"),
        ([1, 2, 3, 4, 5], "an object of type list"),
        (["a", "b"], "an object of type list"),
        ([[1, 2]], "an object of type list"),
        (np.zeros(3), "an object of type ndarray"),
        ({"a": 1}, "an object of type dict"),
        (b"a", "an object of type bytes"),
        (10**70, "a very long number of type int"),
    ],
)
def test_single_values_are_shown_and_tables_are_named(value, text):
    """A number or a word tells what went wrong; a table may be the data."""
    assert shown(value) == text


def test_a_long_text_is_cut():
    """It may be a file's content, where its name was asked for."""
    # Python writes no whole number of so many digits.
    assert shown(10**5000) == "a very long number of type int"
    assert shown("x" * 60) == repr("x" * 60)
    assert shown("x" * 61) == repr("x" * 60) + "..."


TABLE = np.full((50, 2), -7.25)
STEPS = SubsampledGaussian(2.0, 0.1, 10)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: Gaussian(TABLE),
        lambda: SubsampledGaussian(1.0, TABLE, 1),
        lambda: SubsampledGaussian(1.0, 0.5, TABLE),
        lambda: get_epsilon(TABLE, 1e-5),
        lambda: get_epsilon(STEPS, TABLE),
        lambda: get_delta(STEPS, TABLE),
        lambda: privacy_profile(STEPS, TABLE),
        lambda: privacy_profile(STEPS, [*TABLE.astype(str).tolist(), "id"]),
        lambda: trade_off_curve(STEPS, TABLE),
        lambda: get_renyi_divergence(STEPS, TABLE),
        lambda: textbook_epsilon(100, 10, 1.0, TABLE),
        lambda: PrivacyStatement("a model", (), None, unit=TABLE),
    ],
)
def test_no_message_of_the_accountant_shows_a_table(ask):
    """Arguments change places, and messages end in logs."""
    with pytest.raises((TypeError, ValueError)) as refused:
        ask()
    assert "7.25" not in str(refused.value)
    assert "an object of type" in str(refused.value)

"""Published values of other accountants (vectors/published.json, each with its source).

`kind` says what a row is: upper bounds of the PRV accountant contain a slack of 0.01, Renyi values
are looser bounds, others are figures to meet. Each row that states a direction is compared in
that direction alone.
"""

import json
import re
from pathlib import Path

import pytest

from skdp.privacy import SubsampledGaussian, calibrate_noise_multiplier, get_delta, get_epsilon
from skdp.privacy._mechanism import GroupedGaussian
from skdp.privacy._pld import add_direction, remove_direction

ROWS = json.loads((Path(__file__).parent / "vectors" / "published.json").read_text())
SAME_NEIGHBOURS = [
    row
    for row in ROWS
    if re.match(r"(Poisson-subsampled )?Gaussian", row["mechanism"])
    and not re.search("substitute|REPLACE", row["mechanism"])
    and not isinstance(row["sigma"], str)
]


def rows_of(pattern, directed=False):
    rows = [row for row in SAME_NEIGHBOURS if re.match(pattern, row["kind"])]
    return [row for row in rows if bool(re.search("ADD|REM", row["mechanism"])) == directed]


def noise_of(row):
    stated = re.search(r"sensitivity (\d+)", row["mechanism"])
    return row["sigma"] / (float(stated.group(1)) if stated else 1.0)


def mechanism_of(row):
    return SubsampledGaussian(noise_of(row), row["q"], row["T"])


def test_every_kind_of_row_is_used():
    """The counts below change only with the file."""
    counts = {
        "upper": len(rows_of("(PRV )?eps UPPER")),
        "renyi": len(rows_of("RDP")),
        "figure": len(rows_of(r"PLD eps|eps( \(FFT.*)?$")),
        "delta": len(rows_of("delta at eps")),
        "directed": len(rows_of("delta at eps|single-step", directed=True)),
        "calibration": len(rows_of("calibration")),
    }
    assert counts == {
        "upper": 41,
        "renyi": 17,
        "figure": 11,
        "delta": 8,
        "directed": 36,
        "calibration": 7,
    }


@pytest.mark.slow
@pytest.mark.parametrize("row", rows_of("(PRV )?eps UPPER"), ids=str)
def test_prv_upper_bounds_contain_their_slack(row):
    """A tight figure is below such a bound, by at most twice the error of 0.01 it adds."""
    epsilon = get_epsilon(mechanism_of(row), row["delta"])
    assert row["epsilon"] - 0.0201 <= epsilon <= row["epsilon"]


@pytest.mark.parametrize("row", rows_of("RDP"), ids=str)
def test_renyi_values_are_not_exceeded(row):
    """Renyi accounting gives upper bounds, so a tight figure above one of them would be wrong."""
    rounding = 0.005 if "2 decimals" in row["kind"] else 1e-9
    assert get_epsilon(mechanism_of(row), row["delta"]) <= row["epsilon"] + rounding


@pytest.mark.parametrize("row", rows_of(r"PLD eps|eps( \(FFT.*)?$"), ids=str)
def test_figures_of_other_pld_accountants_are_met(row):
    """Some are rounded to three decimals, some use grids of their own."""
    epsilon = get_epsilon(mechanism_of(row), row["delta"])
    assert epsilon == pytest.approx(row["epsilon"], rel=2e-3)


@pytest.mark.parametrize("row", rows_of("delta at eps"), ids=str)
def test_deltas_of_other_accountants_are_met(row):
    """Within 0.2 %, or within the tolerance that the source states for itself."""
    tolerance = {"abs": 1e-3} if "tol 1e-3" in row["kind"] else {"rel": 2e-3}
    assert get_delta(mechanism_of(row), row["epsilon"]) == pytest.approx(row["delta"], **tolerance)


@pytest.mark.parametrize("row", rows_of("delta at eps|single-step", directed=True), ids=str)
def test_one_direction_alone_meets_its_value(row):
    """Without sampling both directions are the same; ADD/REM rows are checked in both."""
    noise, rate = noise_of(row), min(row["q"], 1 - 1e-14)
    parts = [GroupedGaussian(noise, rate, 1, 1)]
    sides = []
    if "ADD" in row["mechanism"]:
        sides.append(add_direction(parts))
    if "REM" in row["mechanism"]:
        sides.append(remove_direction(parts))
    # Rows about the standard deviation state it to three decimals.
    tolerance = 1e-2 if "std" in row["kind"] else 1e-3
    for side in sides:
        assert side.delta(row["epsilon"]) == pytest.approx(row["delta"], rel=tolerance, abs=6e-9)


@pytest.mark.parametrize("row", rows_of("calibration"), ids=str)
def test_calibrations_of_other_accountants_are_met(row):
    """Renyi and PRV searches stop within 0.01 of epsilon; the central limit is too optimistic."""
    epsilon = get_epsilon(mechanism_of(row), row["delta"])
    if "gdp" in row["kind"]:
        assert epsilon > row["epsilon"]
    elif "rdp" in row["kind"]:
        assert epsilon < row["epsilon"]
    elif "prv" in row["kind"]:
        assert row["epsilon"] - 0.0301 <= epsilon <= row["epsilon"] + 0.0001
    else:
        noise = calibrate_noise_multiplier(row["epsilon"], row["delta"], row["q"], row["T"])
        assert noise == pytest.approx(noise_of(row), rel=1e-3)


def test_the_central_limit_is_below_the_truth():
    """The row "CLT": 6.60 where 6.768 is the value."""
    (row,) = [row for row in ROWS if row["kind"].startswith("GDP-CLT")]
    epsilon = get_epsilon(mechanism_of(row), row["delta"])
    assert 6.76 < epsilon < 6.78


def test_different_mechanisms_meet_their_published_values():
    """Ten mechanisms of ten steps each, 4 rows of PLD-Accountant."""
    rows = [
        row
        for row in ROWS
        if isinstance(row["sigma"], str) and "substitute" not in row["mechanism"]
    ]
    assert len(rows) == 4
    mix = [SubsampledGaussian(1.6 + 0.2 * i / 9, 0.05 + 0.01 * i / 9, 10) for i in range(10)]
    for row in rows:
        if row["kind"] == "eps":
            assert get_epsilon(mix, row["delta"]) == pytest.approx(row["epsilon"], rel=2e-3)
        else:
            assert get_delta(mix, row["epsilon"]) == pytest.approx(row["delta"], rel=4e-3)

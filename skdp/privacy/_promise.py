"""What every private fit shares: its default delta, and what to say where a promise is weak."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from numbers import Real

__all__ = ["chosen_delta", "digits_down", "digits_up", "share_up", "summary", "weaknesses"]

# Figures are rounded as decimals, whatever context the user has set; digits beyond these are noise.
_DECIMALS = Context(prec=400)
_MOST_DIGITS = 15


def chosen_delta(delta: float | str, n: int) -> float:
    """The delta that was asked for; "auto" is `min(1e-5, 1 / (2 n))`.

    Parameters
    ----------
    delta : float or "auto"
        What the user set.
    n : int
        Number of units of privacy, a public number.

    Returns
    -------
    delta : float
        Strictly between 0 and 1.
    """
    return float(delta) if isinstance(delta, Real) else min(1e-5, 1.0 / (2.0 * n))


def weaknesses(epsilon: float, delta: float, n: int, *, unit: str = "row") -> list[str]:
    """What weakens a promise, in public numbers; usually nothing.

    Parameters
    ----------
    epsilon, delta : float
        The promise.
    n : int
        Number of units of privacy.
    unit : {"row", "unit"}
        Whom the promise is for.

    Returns
    -------
    found : list of str
        One sentence for each.
    """
    found = []
    if epsilon > 10.0:
        found.append(
            f"epsilon_ is {digits_up(epsilon, 4)}: above 10 the guarantee says little about what "
            "an adversary can learn; lower epsilon, or raise the noise"
        )
    if delta >= 1.0 / n:
        found.append(
            f"delta={digits_up(delta, 4)} is at least 1 / n_{unit}s ({n} {unit}s): publishing a "
            f'random {unit} would pass as private; choose a smaller delta, or delta="auto"'
        )
    return found


def summary(epsilon: float, delta: float, *, unit: str, noise_source: str) -> list[str]:
    """Three lines on a fitted model's promise: by how much, over what, under which condition.

    Parameters
    ----------
    epsilon, delta : float
        The promise.
    unit : {"row", "unit"}
        Whom it is for.
    noise_source : {"system", "seeded"}
        Where the noise came from.

    Returns
    -------
    lines : list of str
        A single one where there is no promise.
    """
    if epsilon == math.inf:
        return ["No promise: fitted without noise."]
    condition = "The noise came from the operating system's random numbers."
    if noise_source == "seeded":
        condition = "The noise came from a seed: no promise holds against whoever has the seed."
    return [
        f"Epsilon {_thousandths_up(epsilon)} at delta {digits_up(delta)}, for every single {unit}.",
        "It covers all fitted attributes, but no fitted step in front, no choice by looking at "
        "scores, and no score on the training rows.",
        condition,
    ]


def digits_up(value: float, digits: int = 3) -> str:
    """So many digits, never rounded down: neither a cost nor a chance must look smaller than it is.

    Parameters
    ----------
    value : float
        What is spent, or promised.
    digits : int, default=3
        How many are kept.

    Returns
    -------
    text : str
        As "g" formats it.

    Examples
    --------
    >>> digits_up(7.142857e-06)
    '7.15e-06'
    """
    return _rounded(value, digits, ROUND_CEILING)


def digits_down(value: float, digits: int = 3) -> str:
    """So many digits, never rounded up: what is left must not look larger than it is.

    Parameters
    ----------
    value : float
        What is left.
    digits : int, default=3
        How many are kept.

    Returns
    -------
    text : str
        As "g" formats it.

    Examples
    --------
    >>> digits_down(1.9999)
    '1.99'
    """
    return _rounded(value, digits, ROUND_FLOOR)


def share_up(share: float) -> str:
    """A share that is spent, as a percentage with one decimal, never rounded down.

    Parameters
    ----------
    share : float
        1 is all.

    Returns
    -------
    text : str
        With its sign.

    Examples
    --------
    >>> share_up(0.25), share_up(1.00001)
    ('25.0%', '100.1%')
    """
    if not math.isfinite(share):
        return f"{share:.1%}"
    percentage = _DECIMALS.multiply(_as_written(share), Decimal(100))
    return f"{percentage.quantize(Decimal('0.1'), ROUND_CEILING, _DECIMALS)}%"


def _thousandths_up(value: float) -> str:
    """Three decimals, or four digits where these would be too coarse, never rounded down."""
    if value < 0.5:
        return digits_up(value, 4)
    return digits_up(value, min(_as_written(value).adjusted() + 4, _MOST_DIGITS))


def _rounded(value: float, digits: int, rounding: str) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:.3g}"
    exact = _as_written(value)
    unit = Decimal(1).scaleb(exact.adjusted() - digits + 1, _DECIMALS)
    return f"{float(exact.quantize(unit, rounding, _DECIMALS)):.{digits}g}"


def _as_written(value: float) -> Decimal:
    """The shortest decimal that is this number: 0.1 is a tenth, and not a little more."""
    return Decimal(repr(float(value)))

"""What every private fit shares: its default delta, and what to say where a promise is weak."""

import math
from numbers import Real

__all__ = ["chosen_delta", "digits_up", "summary", "weaknesses"]


def chosen_delta(delta: float | str, n: int) -> float:
    """The delta that was asked for; "auto" is `min(1e-5, 1 / (2 n))`.

    Parameters
    ----------
    delta : float or "auto"
        What the user set.
    n : int
        Number of units of privacy, a public number.
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
    """
    found = []
    if epsilon > 10.0:
        found.append(
            f"epsilon_ is {epsilon:.4g}: above 10 the guarantee says little about what an "
            "adversary can learn; lower epsilon, or raise the noise"
        )
    if delta >= 1.0 / n:
        found.append(
            f"delta={delta:.4g} is at least 1 / n_{unit}s ({n} {unit}s): publishing a random "
            f'{unit} would pass as private; choose a smaller delta, or delta="auto"'
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
    """
    if epsilon == math.inf:
        return ["No promise: fitted without noise."]
    # Rounded up: a printed figure is a promise too.
    shown = math.ceil(epsilon * 1e3) / 1e3 if epsilon > 1e-3 else epsilon
    condition = "The noise came from the operating system's random numbers."
    if noise_source == "seeded":
        condition = "The noise came from a seed: no promise holds against whoever has the seed."
    return [
        f"Epsilon {shown:g} at delta {digits_up(delta)}, for every single {unit}.",
        "It covers all fitted attributes, but no fitted step in front, no choice by looking at "
        "scores, and no score on the training rows.",
        condition,
    ]


def digits_up(value: float) -> str:
    """Three digits, never rounded down: neither a cost nor a chance must look smaller than it is.

    Examples
    --------
    >>> digits_up(7.142857e-06)
    '7.15e-06'
    """
    if value == 0 or math.isinf(value):
        return f"{value:.3g}"
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.ceil(value / unit * (1 - 1e-12)) * unit:.3g}"

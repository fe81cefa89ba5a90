"""What every private fit shares: its default delta, and what to say where a promise is weak."""

from numbers import Real

__all__ = ["chosen_delta", "weaknesses"]


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
            f"epsilon_ is {epsilon:.4g}: above 10 the guarantee says little about what an attacker "
            "can learn; lower epsilon, or raise the noise"
        )
    if delta >= 1.0 / n:
        found.append(
            f"delta={delta:.4g} is at least 1 / n_{unit}s ({n} {unit}s): publishing a random "
            f'{unit} would pass as private; choose a smaller delta, or delta="auto"'
        )
    return found

"""What a fit will release, known before it reads a row: out of settings and public sizes."""

from collections.abc import Sequence
from typing import Any

from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import has_fit_parameter

from skdp.exceptions import PrivacyError
from skdp.privacy._mechanism import Mechanism, check_count
from skdp.statement._free import gap_of, is_a, is_free, is_used, offers_releases

__all__ = ["planned_releases"]


def planned_releases(
    estimator: Any, *, n_rows: int, n_features: int | None, n_classes: int, unit: str
) -> tuple[Mechanism, ...]:
    """Return what a fit would release.

    Parameters
    ----------
    estimator : estimator, Pipeline or FixedThresholdClassifier
        Offers `_planned_releases(n_rows, n_features, n_classes, unit)`, or consists of what does
        and of what is free.
    n_rows : int
        Rows, or units where these are protected.
    n_features : int or None
        None where the caller did not say.
    n_classes : int
    unit : {"row", "unit"}
        Whom the fit has to protect.

    Returns
    -------
    releases : tuple of mechanisms

    Raises
    ------
    PrivacyError
        Where the fit would have no promise, or none to that unit.
    TypeError
        Where nothing says what it would release.
    ValueError
        Where a number is missing, and where `fit` itself would refuse.
    """
    check_count("n_rows", n_rows)
    check_count("n_classes", n_classes)
    columns = None if n_features is None else check_count("n_features", n_features)
    _check_without_seed(estimator)
    releases: list[Mechanism] = []
    for step in _steps_that_do_something(estimator):
        if offers_releases(step):
            _check_unit(step, unit)
            releases.extend(
                _planned_by(step, n_rows=n_rows, n_features=columns, n_classes=n_classes, unit=unit)
            )
        elif not is_free(step):
            raise _unknown(step)
        if not isinstance(step, OneToOneFeatureMixin):
            columns = None
    return tuple(releases)


def _steps_that_do_something(estimator: Any) -> list[Any]:
    if is_a(estimator, "sklearn.model_selection.FixedThresholdClassifier"):
        return _steps_that_do_something(estimator.estimator)
    if not is_a(estimator, "sklearn.pipeline.Pipeline"):
        return [estimator]
    used = (step for _, step in estimator.steps if is_used(step))
    return [inner for step in used for inner in _steps_that_do_something(step)]


def _check_unit(step: Any, unit: str) -> None:
    if unit == "unit" and not has_fit_parameter(step, "privacy_unit"):
        raise PrivacyError(
            f"{type(step).__name__} protects rows, since its fit has no privacy_unit, and the "
            "ledger every single unit, so its fit cannot be on this budget: use "
            "skdp.preprocessing.BoundedScaler with public bounds in its place"
        )


def _planned_by(step: Any, **sizes: Any) -> Sequence[Mechanism]:
    if not hasattr(step, "_planned_releases"):
        raise _unknown(step)
    releases = step._planned_releases(**sizes)
    if releases is None:
        raise ValueError(
            f"what {type(step).__name__} releases depends on its number of columns, since settings "
            'are left at "auto": give n_features. Behind a step of a Pipeline that changes the '
            "number, reserve the estimator by itself"
        )
    return tuple(releases)


def _check_without_seed(estimator: Any) -> None:
    parameters = estimator.get_params() if hasattr(estimator, "get_params") else {}
    for name, value in parameters.items():
        if name.split("__")[-1] == "random_state" and value is not None:
            raise PrivacyError(
                f"{name}={value!r} stays on the estimator and regenerates its noise, so its fit "
                f"has no promise and cannot be on a budget: leave {name}=None"
            )


def _unknown(step: Any) -> Exception:
    name = type(step).__name__
    gap = gap_of(step, ())
    if hasattr(step, "transform") and not gap.has_no_total:
        return PrivacyError(
            f"{name} in front leaves the fit without a promise, so it cannot be on a budget: "
            f"{gap.reason}. Use {gap.instead}"
        )
    return TypeError(
        f"what {name} will release cannot be known before it is fitted, so it cannot be reserved: "
        "reserve private estimators of skdp alone or in a Pipeline, or fit it and record it with "
        "spend"
    )

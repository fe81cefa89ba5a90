"""One walk through an object, fitted or not: every part is noisy, free or not covered.

What the rules do not reach is swept up afterwards: whatever is fitted and can be reached from the
object leaves with it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from skdp.privacy import Gap
from skdp.statement._account import NOTHING, Account, in_sequence, side_by_side
from skdp.statement._free import gap_of, holds_noisy_parts, is_free, left_by_free
from skdp.statement._known import is_a, is_fitted, is_used, label, offers_releases, parts_inside
from skdp.statement._place import Place
from skdp.statement._private_fit import account_of_fit, account_of_plan
from skdp.statement._rules import Part, Rule, no_parts, rule_of

__all__ = ["Walk"]

# What scikit-learn may leave on any estimator beside parameters and what its own fit learns.
_LEFT_BY_ANY = frozenset(
    {
        *("n_features_in_", "feature_names_in_", "_sklearn_output_config", "_metadata_request"),
        *("_skl_callbacks", "_callback_fit_ctx", "_parent_callback_ctx", "_sklearn_version"),
    }
)
# The label set is public.
_LABEL_SETS = ("sklearn.preprocessing.LabelEncoder", "sklearn.preprocessing.LabelBinarizer")


class Walk:
    """One walk; it remembers what it has accounted for.

    Parameters
    ----------
    thing : object
        Where it starts.
    """

    def __init__(self, thing: Any):
        self._thing = thing
        self._seen: dict[int, Any] = {}

    def account(self, place: Place | None) -> Account:
        """Everything about the object; `place` says where a plan begins, None that it is fitted."""
        walked = self._account(Part("", self._thing, place), ())
        return side_by_side(walked, *self._fitted_before())

    def _account(self, part: Part, path: tuple[str, ...]) -> Account:
        thing = part.thing
        if not is_used(thing):
            return NOTHING
        if not part.is_cloned:
            if id(thing) in self._seen:
                return _stands_twice(part, path)
            self._seen[id(thing)] = thing
        account = self._account_of(part, path)
        return side_by_side(account, Account(gaps=(*_callback_gaps(thing, path),)))

    def _account_of(self, part: Part, path: tuple[str, ...]) -> Account:
        thing, place = part.thing, part.place
        rule = rule_of(thing)
        if rule is not None:
            return self._account_by_rule(rule, part, path)
        if offers_releases(thing):
            if place is not None:
                return account_of_plan(thing, path, place)
            foreign = Account(gaps=tuple(_foreign(thing, path, _left_by_private(thing))))
            return side_by_side(account_of_fit(thing, path), foreign)
        if is_free(thing):
            left = left_by_free(thing)
            return Account(gaps=tuple(_foreign(thing, path, left)) if place is None else ())
        self._remember_inside(thing)
        return Account(gaps=(gap_of(thing, path),))

    def _account_by_rule(self, rule: Rule, part: Part, path: tuple[str, ...]) -> Account:
        thing, place = part.thing, part.place
        gaps = Account(gaps=tuple(rule.gaps(thing, path, place)) if rule.gaps else ())
        if rule.parts is no_parts:
            self._remember_inside(thing)
            return gaps
        inner = [
            self._account(_inside(part, one), (*path, one.name)) for one in rule.parts(thing, place)
        ]
        total = in_sequence(gaps, *(inner if rule.in_sequence else [side_by_side(*inner)]))
        foreign = _foreign(thing, path, rule.left) if place is None else ()
        return side_by_side(total, Account(gaps=tuple(foreign)))

    def _remember_inside(self, thing: Any) -> None:
        """Nothing inside it is told apart from it."""
        self._seen.update((id(inside), inside) for inside in parts_inside(thing))

    def _fitted_before(self) -> Iterator[Account]:
        """Whatever else is fitted and leaves with the object, such as what a fit cloned."""
        for part in parts_inside(self._thing, functions=True):
            if id(part) in self._seen or not _may_be_fitted(part):
                continue
            self._seen[id(part)] = part
            path = (type(self._thing).__name__,)
            if offers_releases(part):
                yield account_of_fit(part, path, place=", fitted before")
            elif rule_of(part) is None and not is_free(part) and not is_a(part, *_LABEL_SETS):
                yield Account(gaps=(_before_gap(part, path),))


def _inside(around: Part, part: Part) -> Part:
    return replace(
        part,
        was_fitted=part.was_fitted or around.was_fitted,
        is_cloned=(part.is_cloned or around.is_cloned) and not part.was_fitted,
    )


def _stands_twice(part: Part, path: tuple[str, ...]) -> Account:
    """One object in two places, each of which fits it, so that one fit is lost."""
    is_frozen = is_a(part.thing, "sklearn.frozen.FrozenEstimator")
    if part.was_fitted or is_frozen or not holds_noisy_parts(part.thing):
        return NOTHING
    gap = Gap(
        label(part.thing, path),
        "it stands in several places, and a fit in one takes the place of the fit in another",
        "sklearn.base.clone of it in each of the places",
        has_no_total=True,
    )
    return Account(gaps=(gap,))


def _may_be_fitted(part: Any) -> bool:
    return hasattr(part, "fit") and not isinstance(part, type) and is_fitted(part)


def _before_gap(part: Any, path: tuple[str, ...]) -> Gap:
    gap = gap_of(part, path)
    return Gap(
        f"{gap.name}, fitted before",
        f"the object holds it beside its own parts, and {gap.reason}",
        "sklearn.base.clone of it, which is not fitted",
        has_no_total=gap.has_no_total,
    )


def _left_by_private(thing: Any) -> Iterable[str]:
    """What the fit of a private estimator says that it left; without a word, by its name."""
    left = getattr(thing, "_left_by_fit", None)
    return (name for name in vars(thing) if name.endswith("_")) if left is None else left


def _foreign(thing: Any, path: tuple[str, ...], left: Iterable[str]) -> Iterator[Gap]:
    """Attributes that are neither parameters nor left by `fit`: nobody knows what they hold."""
    known = {*left, *_LEFT_BY_ANY, *thing.get_params(deep=False)}
    for name in sorted(set(vars(thing)) - known):
        yield Gap(
            f"{name} of {label(thing, path)}",
            "it is no parameter, and no fit of the class leaves it, so that nothing says what of "
            "the rows it holds",
            f"the object without it (del ....{name})",
            voids_what_follows=False,
        )


def _callback_gaps(thing: Any, path: tuple[str, ...]) -> Iterator[Gap]:
    """Callbacks stay on the object with whatever they saw; a progress bar sees nothing."""
    callbacks = getattr(thing, "_skl_callbacks", None) or []
    if not all(is_a(callback, "sklearn.callback.ProgressBar") for callback in callbacks):
        yield Gap(
            f"the callbacks of {label(thing, path)}",
            "they stay on the object and may hold rows, or scores of rows",
            "set_callbacks() after fit, which takes them off",
            voids_what_follows=False,
        )

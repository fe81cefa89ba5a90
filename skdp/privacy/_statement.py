"""PrivacyStatement: what a fitted object promises, in figures and in words.

It is told which noisy releases there are, and what looked at the rows without noise. It knows no
estimator: whoever walks objects fills it in. A finite epsilon is never printed over a gap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from skdp._version import __version__
from skdp.exceptions import shown
from skdp.privacy._accountant import get_epsilon
from skdp.privacy._mechanism import Mechanism, check_delta
from skdp.privacy._profile import membership_advantage
from skdp.privacy._promise import digits_up, share_up

__all__ = ["Gap", "NoisyPart", "PrivacyStatement"]


@dataclass(frozen=True)
class Gap:
    """Something that no promise covers.

    Parameters
    ----------
    name : str
        What it is and where it stands.
    reason : str
        Why it is not covered.
    instead : str
        What to use instead.
    has_no_total : bool, default=False
        Whether it also leaves the noisy releases without a total.
    voids_what_follows : bool, default=True
        Whether it lets one row move others, so that noise behind it protects nobody.
    is_seed : bool, default=False
        Whether it is a seed that stays on the object, and nothing else.

    Examples
    --------
    >>> Gap("StandardScaler", "it learned from the rows without noise", "BoundedScaler").name
    'StandardScaler'
    """

    __module__ = "skdp.privacy"

    name: str
    reason: str
    instead: str
    has_no_total: bool = False
    voids_what_follows: bool = True
    is_seed: bool = False


@dataclass(frozen=True)
class NoisyPart:
    """Fits of one private estimator.

    Parameters
    ----------
    name : str
        What it is and where it stands.
    fits : tuple of tuples of mechanisms
        The releases of each fit.
    void_because_of : tuple of str, default=()
        What stands before it and lets one row move all others, so that its own figure is void.

    Attributes
    ----------
    n_fits : int
        How often it was fitted.

    Examples
    --------
    >>> from skdp.privacy import Gaussian
    >>> part = NoisyPart("DPSGDClassifier", ((Gaussian(4.0),),))
    >>> print(part.n_fits, f"{part.epsilon(1e-5):.2f}")
    1 0.93
    """

    __module__ = "skdp.privacy"

    name: str
    fits: tuple[tuple[Mechanism, ...], ...]
    void_because_of: tuple[str, ...] = ()

    @property
    def n_fits(self) -> int:
        """How often it was fitted."""
        return len(self.fits)

    def epsilon(self, delta: float) -> float:
        """What the most costly of its fits costs alone.

        Parameters
        ----------
        delta : float
            Strictly between 0 and 1.

        Returns
        -------
        epsilon : float
            At `delta`; 0 where no fit released anything.
        """
        return max((get_epsilon(fit, delta) for fit in set(self.fits) if fit), default=0.0)


@dataclass(frozen=True)
class PrivacyStatement:
    """What an object promises about the rows that it was, or is to be, fitted on.

    Made by `skdp.privacy_statement`. It prints as a text that can be handed on, shows as HTML in a
    notebook, and `to_dict()` is ready for JSON.

    - `epsilon` is infinite as soon as anything looked at the rows without noise.
    - `epsilon_of_releases` is what the noisy releases would cost together, had everything that is
      listed as not covered been settled without the data. It is no promise.

    Parameters
    ----------
    subject : str
        What the statement is about.
    mechanisms : tuple of mechanisms
        All noisy releases that can be counted: `get_epsilon(mechanisms, delta)` is
        `epsilon_of_releases` where that is finite.
    delta : float or None
        What may be added to a probability beyond the factor exp(epsilon). None where nothing is
        noisy.
    not_covered : tuple of Gap
        What no promise covers.
    parts : tuple of NoisyPart
        The noisy fits.
    unit : {"row", "unit"}, default="row"
        Whose data are protected: a row's, or those of one unit of `privacy_unit`, such as a person.
    unit_name : str or None, default=None
        What a unit is, such as "patient".
    versions : tuple of str, default=()
        The versions of skdp that fitted the parts.
    ledgers : tuple of str, default=()
        What the budgets say that the fits were entered in.
    is_planned : bool, default=False
        Whether it is about a fit that has not been made.
    version : str, default=skdp.__version__
        The version of skdp that made the statement.

    Attributes
    ----------
    epsilon, epsilon_of_releases : float
        See above. `epsilon_of_releases` is infinite where the releases have no total.
    covers_everything : bool
        Whether nothing is listed as not covered.
    membership_advantage : float
        How much better than guessing anyone can tell from everything released whether a row took
        part; see `skdp.privacy.membership_advantage`. 1 where there is no promise.
    neighbours : str
        What the data sets are between which the promise makes no difference.

    See Also
    --------
    skdp.privacy_statement : Makes the statement of any object, fitted or not.
    skdp.privacy.group_epsilon : What its `mechanisms` cost somebody who has several rows.

    Examples
    --------
    >>> from skdp.privacy import PrivacyStatement, SubsampledGaussian
    >>> training = (SubsampledGaussian(noise_multiplier=2.0, sample_rate=0.08, n_steps=375),)
    >>> statement = PrivacyStatement("a model", training, delta=1e-5)
    >>> print(f"{statement.epsilon:.3f}")
    3.672
    >>> print(str(statement).splitlines()[0])
    Privacy statement for a model: epsilon 3.68 at delta 1e-05, for every single row.
    """

    __module__ = "skdp.privacy"

    subject: str
    mechanisms: tuple[Mechanism, ...]
    delta: float | None
    not_covered: tuple[Gap, ...] = ()
    parts: tuple[NoisyPart, ...] = ()
    unit: str = "row"
    unit_name: str | None = None
    versions: tuple[str, ...] = ()
    ledgers: tuple[str, ...] = ()
    is_planned: bool = False
    version: str = __version__

    def __post_init__(self) -> None:
        if self.delta is not None:
            check_delta(self.delta)
        elif self.mechanisms:
            raise ValueError(
                "delta=None: the releases cost something at a delta only; give one, for example "
                "min(1e-5, 1 / (2 * n_rows))."
            )
        if not isinstance(self.unit, str) or self.unit not in _UNITS:
            raise ValueError(f"unit must be one of {sorted(_UNITS)}; got {shown(self.unit)}.")

    @property
    def covers_everything(self) -> bool:
        """Whether nothing is listed as not covered."""
        return not self.not_covered

    @property
    def epsilon(self) -> float:
        """What everything about the object costs; infinite over a gap."""
        return self.epsilon_of_releases if self.covers_everything else math.inf

    @property
    def epsilon_of_releases(self) -> float:
        """What the noisy releases would cost, had all else been settled without the data."""
        if any(gap.has_no_total for gap in self.not_covered):
            return math.inf
        return self._total

    @cached_property
    def _total(self) -> float:
        if not self.mechanisms or self.delta is None:
            return 0.0
        return get_epsilon(self.mechanisms, self.delta)

    @cached_property
    def membership_advantage(self) -> float:
        """How much better than guessing anyone can tell whether a row took part."""
        if not self.covers_everything:
            return 1.0
        return membership_advantage(self.mechanisms) if self.mechanisms else 0.0

    @property
    def neighbours(self) -> str:
        """What the data sets are between which the promise makes no difference."""
        return self._unit.neighbours

    @property
    def _unit(self) -> _Unit:
        named = self.unit == "unit" and self.unit_name
        return _UNITS["named" if named else self.unit].of(self.unit_name or "")

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as plain values that `json.dumps` takes.

        JSON has no infinity, so an infinite epsilon is the text "inf", which `float` reads.

        Returns
        -------
        values : dict
            All fields and attributes, lists of dicts where they are records; no key is ever left
            out.

        Examples
        --------
        >>> from skdp.privacy import Gap, PrivacyStatement
        >>> gap = Gap("StandardScaler", "it learned from the rows without noise", "BoundedScaler")
        >>> PrivacyStatement("a scaler", (), None, not_covered=(gap,)).to_dict()["epsilon"]
        'inf'
        """
        return {
            "subject": self.subject,
            "covers_everything": self.covers_everything,
            "epsilon": _json_number(self.epsilon),
            "delta": self.delta,
            "epsilon_of_releases": _json_number(self.epsilon_of_releases),
            "unit": self.unit,
            "unit_name": self.unit_name,
            "is_planned": self.is_planned,
            "neighbours": self.neighbours,
            "membership_advantage": self.membership_advantage,
            "not_covered": [
                {"name": gap.name, "reason": gap.reason, "instead": gap.instead}
                for gap in self.not_covered
            ],
            "parts": [self._part_as_dict(part) for part in self.parts],
            "ledgers": list(self.ledgers),
            "mechanisms": [_mechanism_as_dict(mechanism) for mechanism in self.mechanisms],
            "versions": list(self.versions),
            "version": self.version,
        }

    def _part_as_dict(self, part: NoisyPart) -> dict[str, Any]:
        return {
            "name": part.name,
            "n_fits": part.n_fits,
            "epsilon_of_one_fit": _json_number(self._part_epsilon(part)),
            "void_because_of": list(part.void_because_of),
        }

    def _part_epsilon(self, part: NoisyPart) -> float:
        return 0.0 if self.delta is None else part.epsilon(self.delta)

    @property
    def _delta_shown(self) -> str:
        return digits_up(self.delta or 0.0)

    def __str__(self) -> str:
        title, sections = self._sections()
        lines = [title]
        for heading, body in sections:
            lines += ["", heading, *(f"  {line}" for line in body)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        # Only notebooks need its table of entities.
        from html import escape

        title, sections = self._sections()
        parts = [f"<p><strong>{escape(title)}</strong></p>"]
        for heading, body in sections:
            items = "".join(f"<li>{escape(line.removeprefix('- '))}</li>" for line in body)
            parts.append(f"<p>{escape(heading)}</p><ul>{items}</ul>")
        return f'<div class="skdp-privacy-statement">{"".join(parts)}</div>'

    def _sections(self) -> tuple[str, list[tuple[str, Sequence[str]]]]:
        """The title, then headings with their lines."""
        subject = f"a fit of {self.subject}" if self.is_planned else self.subject
        counted = [("Ledger", list(self.ledgers))] if self.ledgers else []
        origin = ("Made by", self._origin())
        if not self.covers_everything:
            title = f"No promise for {subject}: epsilon is inf."
            return title, [
                ("Not covered", [_gap_line(gap) for gap in self.not_covered]),
                ("What the noisy releases cost", [*self._counterfactual(), *self._part_lines()]),
                *counted,
                origin,
            ]
        assumptions = ("Under which assumptions", self._assumptions())
        if not self.mechanisms:
            learned = "would learn" if self.is_planned else "learned"
            title = f"Privacy statement for {subject}: it {learned} nothing from the rows."
            return title, [assumptions, *counted, origin]
        title = (
            f"Privacy statement for {subject}: epsilon {digits_up(self.epsilon)} at delta "
            f"{self._delta_shown}, for {self._unit.single}."
        )
        return title, [
            ("What is protected", [self._unit.protected]),
            ("From whom", [_FROM_WHOM.format(others=self._unit.others)]),
            ("By how much", self._strength()),
            assumptions,
            ("How", self._part_lines()),
            *counted,
            origin,
        ]

    def _strength(self) -> list[str]:
        word = self._unit.word
        right = share_up(0.5 + self.membership_advantage / 2).removesuffix("%")
        return [
            f"- Any conclusion from the object is at most {_factor_up(self.epsilon)} times as "
            f"likely with the {word}'s data as without them, and the other way round, apart from a "
            f"chance of {self._delta_shown}.",
            f"- Of somebody who guesses whether a given {word}'s data were used, and would be "
            f"right 50 times in 100 without the object, at most {right} guesses in "
            "100 are right with it.",
        ]

    def _counterfactual(self) -> list[str]:
        if not self.mechanisms and not self.parts:
            if any(gap.has_no_total for gap in self.not_covered):
                return ["Unknown: they could not be counted, for the reasons above."]
            return ["There are none that are known."]
        if math.isinf(self.epsilon_of_releases):
            return ["They have no finite total, for the reasons above."]
        epsilon = digits_up(self.epsilon_of_releases)
        return [
            f"epsilon {epsilon} at delta {self._delta_shown} together, for "
            f"{self._unit.single}, if it were not for what is listed above. This figure "
            "promises nothing for the object."
        ]

    def _part_lines(self) -> list[str]:
        return [_part_line(part, self._part_epsilon(part)) for part in self.parts]

    def _assumptions(self) -> list[str]:
        return [f"- {line}" for line in (self.neighbours, *self._unit.assumptions, *_ASSUMPTIONS)]

    def _origin(self) -> list[str]:
        fitted = f"Fitted by skdp {', '.join(self.versions)}. " if self.versions else ""
        return [
            f"{fitted}Stated by skdp {self.version}; the releases are composed numerically "
            "(skdp.privacy.get_epsilon), and every figure is an upper bound."
        ]


@dataclass(frozen=True)
class _Unit:
    """What a statement says of whoever is protected; `{name}` stands for what a unit is."""

    word: str
    single: str
    others: str
    protected: str
    neighbours: str
    assumptions: tuple[str, ...]

    def of(self, name: str) -> _Unit:
        """The same, with the name in its places."""
        texts = {
            field: text.format(name=name)
            for field, text in vars(self).items()
            if field != "assumptions"
        }
        return _Unit(
            **texts, assumptions=tuple(line.format(name=name) for line in self.assumptions)
        )


def _of_units(single: str, word: str) -> _Unit:
    return _Unit(
        word=word,
        single=f"every single {single}, with all its rows",
        others=f"all rows of all other {word}s",
        protected=(
            f"Whether any one {single} was among those that the object was fitted on, and "
            "everything that all its rows say."
        ),
        neighbours=(
            f"Neighbours are data sets with the same {word}s that differ in one {word}, all rows "
            "of which contribute nothing in one of them."
        ),
        assumptions=(
            f"All rows of a {word} carry its name in privacy_unit.",
            f"Public are the list of {word}s that may have contributed and its length, the number "
            "and names of the columns, and the set of labels. Whether one of them contributed, and "
            "how many rows, is protected.",
        ),
    )


_UNITS = {
    "row": _Unit(
        word="row",
        single="every single row",
        others="all other rows",
        protected=(
            "Whether any one row was among the rows that the object was fitted on, and everything "
            "that the row says."
        ),
        neighbours=(
            "Neighbours are data sets with the same number of rows that differ in one row, which "
            "contributes nothing in one of them."
        ),
        assumptions=(
            "No person has more than one row. Somebody with several rows is protected less: "
            "skdp.privacy.group_epsilon says how much.",
            "Public are the number of rows, the number and names of the columns, and the set of "
            "labels.",
        ),
    ),
    "unit": _of_units("unit of privacy_unit", "unit"),
    "named": _of_units("{name}", "{name}"),
}
_FROM_WHOM = (
    "From anyone who gets the fitted object, all that it predicts, or anything computed from it, "
    "whatever else they know, {others} included."
)
_ASSUMPTIONS = (
    "Settings, bounds and columns were chosen without looking at these rows, no callback looked at "
    "them, and the object has not been changed since it was fitted.",
    "Nothing else that was computed from these rows is given away; its cost would come on top.",
    "The operating system's random numbers cannot be predicted.",
)


def _gap_line(gap: Gap) -> str:
    return f"- {gap.name}: {gap.reason}. Instead: {gap.instead}."


def _part_line(part: NoisyPart, epsilon: float) -> str:
    fits = "1 fit" if part.n_fits == 1 else f"{part.n_fits} fits"
    line = f"- {part.name}: {fits}, epsilon {digits_up(epsilon)}"
    if part.n_fits > 1:
        line += " each at most"
    if part.void_because_of:
        line += (
            f"; void, since one row may move all others through {', '.join(part.void_because_of)}"
        )
    return f"{line}."


def _factor_up(epsilon: float) -> str:
    """What chances are multiplied by; beyond the range of doubles, as a power."""
    return f"exp({digits_up(epsilon)})" if epsilon > 700 else digits_up(math.exp(epsilon))


def _json_number(value: float) -> float | str:
    return value if math.isfinite(value) else "inf"


def _mechanism_as_dict(mechanism: Mechanism) -> dict[str, Any]:
    return {"kind": type(mechanism).__name__, **vars(mechanism)}

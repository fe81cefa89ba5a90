"""What a ledger says of itself, in words: public numbers and names of classes alone."""

from collections import Counter
from collections.abc import Iterable, Iterator

from skdp.budget._ledger import Entry, Ledger
from skdp.privacy import Gap, get_epsilon
from skdp.privacy._promise import digits_down, digits_up, share_up

__all__ = [
    "entry_lines",
    "in_short",
    "lack_of_promise",
    "overspending",
    "refusal",
    "summary_lines",
    "unplanned",
]


def refusal(entry: Entry, ledger: Ledger) -> str:
    """Why a reservation was not made."""
    # Even what is free is refused where the ledger is overspent.
    alone = get_epsilon(entry.mechanisms, ledger.rule.delta) if entry.mechanisms else 0.0
    rule = ledger.rule
    left = digits_down(ledger.largest_gaussian(), 4)
    return (
        f"{entry.name} does not fit: it costs epsilon={digits_up(alone)} at delta="
        f"{digits_up(rule.delta)} by itself, and {share_up(ledger.share_spent())} of the budget of "
        f"{digits_up(rule.epsilon, 6)} is spent (epsilon={left} is left for a fit on all rows). "
        "Nothing was recorded: lower its epsilon, raise its noise, or do without it"
    )


def overspending(name: str, ledger: Ledger) -> str:
    """What is wrong with a ledger that a fit no longer fits into."""
    delta = digits_up(ledger.rule.delta)
    return (
        f"{name} is recorded, and the budget epsilon={digits_up(ledger.rule.epsilon, 6)} at delta="
        f"{delta} does not pay for it: {share_up(ledger.share_spent())} of it is spent. Call "
        "reserve before fit, so that a fit is refused before it reads a row"
    )


def lack_of_promise(name: str, reasons: Iterable[str]) -> str:
    """Why a fit that is recorded voids the ledger."""
    return (
        f"{name} has no promise: {'; '.join(reasons)}. It is recorded, and no promise holds for "
        "the ledger any more. Look at skdp.privacy_statement before anything is given away"
    )


def unplanned(name: str, gaps: Iterable[Gap]) -> str:
    """Why a fit that would have no promise cannot be reserved."""
    reasons = "; ".join(f"{gap.name}: {gap.reason}. Instead: {gap.instead}" for gap in gaps)
    return f"{name} would have no promise, so it cannot be on a budget: {reasons}"


def in_short(ledger: Ledger, where: str, fit_ids: Iterable[str]) -> str:
    """One line on a ledger, and how many of some fits are not in it."""
    n_fits = sum(entry.mechanisms != () for entry in ledger.entries.values())
    fits = "1 fit" if n_fits == 1 else f"{n_fits} fits"
    n_missing = len(set(fit_ids) - set(ledger.entries))
    holds = ledger.is_within_budget() and not ledger.n_seeded()
    budget = f"epsilon {digits_up(ledger.rule.epsilon, 6)} at delta {digits_up(ledger.rule.delta)}"
    return (
        f"The ledger {where}: {fits}, {'within' if holds else 'overspent:'} {budget}, "
        f"{share_up(ledger.share_spent())} of it spent."
        + (f" Fits on the object that are not in it: {n_missing}." if n_missing else "")
    )


def entry_lines(ledger: Ledger) -> Iterator[str]:
    """One line for entries that are alike."""
    entries = [entry for entry in ledger.entries.values() if entry.state != "settled"]
    for line, times in Counter(_line(entry, ledger) for entry in entries).items():
        yield line if times == 1 else f"{line}, {times} times"


def _line(entry: Entry, ledger: Ledger) -> str:
    if entry.mechanisms is None:
        cost = "no promise"
    elif entry.mechanisms:
        alone = get_epsilon(entry.mechanisms, ledger.rule.delta)
        cost = f"epsilon {digits_up(alone)} by itself"
    else:
        cost = "free"
    return f"- {entry.name}, {entry.state}: {cost}{', with a seed' if entry.is_seeded else ''}"


def summary_lines(ledger: Ledger) -> Iterator[str]:
    """What is spent and what is left."""
    if not ledger.records:
        yield "Nothing is spent."
        return
    if not ledger.is_within_budget():
        yield "Overspent: the budget's promise does not hold."
    if n_seeded := ledger.n_seeded():
        yield (
            f"A seed regenerates the noise of {n_seeded} of the fits: nothing is promised against "
            "whoever has it, nor where fits share one."
        )
    yield (
        f"Spent: {share_up(ledger.share_spent())}. Left for one more fit on all rows: epsilon "
        f"{digits_down(ledger.largest_gaussian())}."
    )
    yield (
        "Had all been chosen in advance, they would cost epsilon "
        f"{digits_up(ledger.epsilon_if_fixed())}."
    )
    yield f"The hash of record {len(ledger.records)}, the last: {ledger.hashes[-1]}."

"""What a ledger says of itself, in words: public numbers and names of classes alone."""

from collections.abc import Iterator

from skdp.budget._ledger import Entry, Ledger
from skdp.privacy import PrivacyStatement, get_epsilon
from skdp.privacy._promise import digits_up

__all__ = ["entry_lines", "lack_of_promise", "overspending", "refusal", "summary_lines"]


def refusal(entry: Entry, ledger: Ledger) -> str:
    """Why a reservation was not made."""
    alone = get_epsilon(entry.mechanisms, ledger.rule.delta)
    delta = digits_up(ledger.rule.delta)
    return (
        f"{entry.name} does not fit: it costs epsilon={digits_up(alone)} at delta={delta} by "
        f"itself, and {ledger.share_spent():.1%} of the budget of {ledger.rule.epsilon:.6g} is "
        f"spent (epsilon={ledger.largest_gaussian():.4g} is left for a fit on all rows). Nothing "
        "was recorded: lower its epsilon, raise its noise, or do without it"
    )


def overspending(entry: Entry, ledger: Ledger) -> str:
    """What is wrong with a ledger that a fit no longer fits into."""
    delta = digits_up(ledger.rule.delta)
    return (
        f"{entry.name} is recorded, and the budget epsilon={ledger.rule.epsilon:.6g} at delta="
        f"{delta} does not pay for it: {ledger.share_spent():.1%} of it is spent. Call "
        "reserve before fit, so that a fit is refused before it reads a row"
    )


def lack_of_promise(entry: Entry, statement: PrivacyStatement, unit: str) -> str:
    """Why a fit that is recorded voids the ledger."""
    if statement.covers_everything:
        why = f"it protects every single {statement.unit}, and the ledger every single {unit}"
    else:
        why = "; ".join(f"{gap.name} ({gap.reason})" for gap in statement.not_covered)
    return (
        f"{entry.name} has no promise: {why}. It is recorded, and no promise holds for the ledger "
        "any more. Look at skdp.privacy_statement before anything is given away"
    )


def entry_lines(ledger: Ledger) -> Iterator[str]:
    """One line an entry."""
    for entry in ledger.entries:
        state = "reserved" if entry.reserved else "fitted"
        if entry.mechanisms is None:
            cost = "no promise"
        elif entry.mechanisms:
            alone = get_epsilon(entry.mechanisms, ledger.rule.delta)
            cost = f"epsilon {digits_up(alone)} by itself"
        else:
            cost = "free"
        yield f"- {entry.name}, {state}: {cost}"


def summary_lines(ledger: Ledger) -> Iterator[str]:
    """What is spent and what is left."""
    if not ledger.entries:
        yield "Nothing is spent."
        return
    if not ledger.is_within_budget():
        yield "Overspent: the budget's promise does not hold."
    yield (
        f"Spent: {ledger.share_spent():.1%}. Left for one more fit on all rows: epsilon "
        f"{ledger.largest_gaussian():.3g}."
    )
    yield (
        "Had all been chosen in advance, they would cost epsilon "
        f"{digits_up(ledger.epsilon_if_fixed())}."
    )

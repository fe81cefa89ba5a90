"""What is left of the budget? A ledger for fits that are chosen one after another."""

__all__: list[str] = []

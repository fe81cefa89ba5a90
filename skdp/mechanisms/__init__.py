"""How rows become noisy numbers: the only code trusted with rows.

Exports nothing, and its paths may change: what users import are the estimators.
"""

__all__: list[str] = []

"""How rows become noisy numbers: the only code trusted with rows.

Exports nothing, and its paths may change: the estimators are the public way in.
"""

__all__: list[str] = []

"""How does it look? Displays in scikit-learn's manner, drawn with matplotlib when asked."""

__all__: list[str] = []

"""What did a fitted thing cost? Walk it, part by part, and add up its releases."""

__all__: list[str] = []

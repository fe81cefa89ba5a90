"""What callers pass, read without losing what a container says beside its numbers."""

__all__: list[str] = []

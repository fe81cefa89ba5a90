"""How much does a training really leak? Plant canaries, attack, and bound epsilon from below."""

__all__: list[str] = []

"""What did this object cost, or what would it? One rule a meta-estimator; gaps; no guesses."""

from skdp.statement._privacy_statement import privacy_statement

__all__ = ["privacy_statement"]

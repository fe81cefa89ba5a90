"""What is left? A ledger for everything that is fitted on the same rows."""

from skdp.budget._privacy_budget import PrivacyBudget

__all__ = ["PrivacyBudget"]

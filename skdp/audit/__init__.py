"""Is the promise kept? Attack the training, and bound from below what it leaks."""

from skdp.audit._audit_privacy import PrivacyAudit, audit_privacy

__all__ = ["PrivacyAudit", "audit_privacy"]

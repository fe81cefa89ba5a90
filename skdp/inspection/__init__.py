"""How does it look? Displays; `privacy_statement`, `PrivacyBudget` and `audit_privacy` beside."""

from skdp.audit import PrivacyAudit, audit_privacy
from skdp.budget import PrivacyBudget
from skdp.inspection._audit_display import AuditDisplay
from skdp.inspection._budget_curve import BudgetCurveDisplay
from skdp.inspection._privacy_accuracy import PrivacyAccuracyDisplay
from skdp.inspection._privacy_profile import PrivacyProfileDisplay
from skdp.inspection._training_path import TrainingPathDisplay
from skdp.statement import privacy_statement

__all__ = [
    "AuditDisplay",
    "BudgetCurveDisplay",
    "PrivacyAccuracyDisplay",
    "PrivacyAudit",
    "PrivacyBudget",
    "PrivacyProfileDisplay",
    "TrainingPathDisplay",
    "audit_privacy",
    "privacy_statement",
]

"""Is the promise kept, what did it cost, how does it look?"""

from skdp.inspection._audit._audit import PrivacyAudit, audit_privacy
from skdp.inspection._displays._audit import AuditDisplay
from skdp.inspection._displays._budget_curve import BudgetCurveDisplay
from skdp.inspection._displays._privacy_accuracy import PrivacyAccuracyDisplay
from skdp.inspection._displays._privacy_profile import PrivacyProfileDisplay
from skdp.inspection._displays._training_path import TrainingPathDisplay
from skdp.inspection._ledger._budget import PrivacyBudget
from skdp.inspection._walk._statement import privacy_statement

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

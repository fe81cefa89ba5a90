"""How do I choose without looking for free?"""

from skdp.model_selection._unit_kfold import UnitKFold

__all__ = ["UnitKFold"]

"""What does it cost? Privacy accounting: numbers in, numbers out; no row is ever seen."""

from skdp.privacy._accountant import PrivacyCost, explain_epsilon, get_delta, get_epsilon
from skdp.privacy._calibration import calibrate_n_steps, calibrate_noise_multiplier
from skdp.privacy._groups import group_epsilon
from skdp.privacy._mechanism import Gaussian, GroupedGaussian, SubsampledGaussian
from skdp.privacy._profile import membership_advantage, privacy_profile, trade_off_curve
from skdp.privacy._rdp import get_renyi_divergence
from skdp.privacy._statement import Gap, NoisyPart, PrivacyStatement
from skdp.privacy._textbook import textbook_epsilon

__all__ = [
    "Gap",
    "Gaussian",
    "GroupedGaussian",
    "NoisyPart",
    "PrivacyCost",
    "PrivacyStatement",
    "SubsampledGaussian",
    "calibrate_n_steps",
    "calibrate_noise_multiplier",
    "explain_epsilon",
    "get_delta",
    "get_epsilon",
    "get_renyi_divergence",
    "group_epsilon",
    "membership_advantage",
    "privacy_profile",
    "textbook_epsilon",
    "trade_off_curve",
]

"""
What epsilon means
==================

Epsilon bounds what anyone can learn about one person from a trained model. This page says how much
that is in three ways that need no formula: how well an adversary can guess whether you took part,
how a suspicion changes, and how the same training looks at another delta.
"""

# %%
# The adversary's choice
# ----------------------
#
# Think of an adversary who knows every row but yours, sees everything that was released, knows how
# it was made, and wants to tell whether your row was in the data. They raise an alarm or
# do not. A cautious one seldom raises a false alarm and misses you often; a bold one misses you
# seldom and is often wrong. The trade-off curve shows the best that any adversary can do against
# the given training. It is computed from the noise, the sampling rate and the number of steps, and
# holds whatever the data are. Guessing at random is the dotted diagonal.

import matplotlib.pyplot as plt
import numpy as np

from skdp.inspection import PrivacyProfileDisplay
from skdp.privacy import SubsampledGaussian, calibrate_noise_multiplier, membership_advantage

DELTA, RATE, STEPS = 1e-5, 0.08, 375
trainings = {}
for epsilon in (0.1, 1, 3, 8):
    noise = calibrate_noise_multiplier(epsilon, DELTA, sample_rate=RATE, n_steps=STEPS)
    trainings[epsilon] = SubsampledGaussian(noise, sample_rate=RATE, n_steps=STEPS)

named = {f"epsilon {epsilon}": training for epsilon, training in trainings.items()}
display = PrivacyProfileDisplay.from_mechanisms(named, kind="trade_off")
plt.show()

# %%
# In one number
# -------------
#
# On even odds, you in or you out by the toss of a coin, guessing is right half the time. The
# membership advantage says how much better the best adversary does.

print(f"{'epsilon':>7} {'noise multiplier':>17} {'right guesses, at most':>23}")
for epsilon, training in trainings.items():
    right = (1 + membership_advantage(training)) / 2
    print(f"{epsilon:7g} {training.noise_multiplier:17.2f} {right:22.1%}")

# %%
# So epsilon 1 at this delta is stronger than the factor of e that its definition allows would
# suggest: the definition must hold for the rarest outcomes, and most are harmless.

# %%
# A suspicion before and after
# ----------------------------
#
# An adversary who already suspects with some probability that you took part may hold a different
# opinion after seeing the model. Epsilon bounds the change: the odds move by a factor of at most
# exp(epsilon) either way, apart from rare outcomes; delta bounds how much these can matter.

print(f"{'before':>7} " + " ".join(f"{name:>16}" for name in named))
for before in (0.01, 0.1, 0.5):
    odds = before / (1 - before)
    after = [
        (odds * factor / (1 + odds * factor) for factor in np.exp([-epsilon, epsilon]))
        for epsilon in trainings
    ]
    print(f"{before:7.0%} " + " ".join(f"{low:7.1%} to {high:5.1%}" for low, high in after))

# %%
# From epsilon 8 on, a suspicion of one in a hundred may become near certainty: such an epsilon
# promises little. It is a bound for every person and every data set; what known attacks achieve is
# less.

# %%
# One training, many pairs
# ------------------------
#
# Epsilon alone says nothing: a training has one epsilon for each delta. The curve below is called
# the privacy profile. A smaller delta makes the promise firmer and its epsilon larger, but slowly:
# a tenth of this delta costs 12 to 19 per cent more epsilon. The names of the curves are what they
# cost on the dotted line, at delta 1e-5.

display.plot(kind="profile")
display.ax_.axhline(DELTA, color="black", ls=":", lw=1)
plt.show()

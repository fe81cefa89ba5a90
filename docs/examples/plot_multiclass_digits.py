"""
Ten classes: handwritten digits
===============================

Softmax regression on 1,437 images of digits, at budgets from 0.1 to 10. More than two classes need
nothing special: the gradient of one row, over all classes together, is clipped to one bound.
"""

# %%
# The data
# --------
#
# Images of 8 x 8 pixels, each from 0 to 16. That range is how the images were made, so it is
# public, and `BoundedScaler` needs nothing else. `classes=` declares the ten digits: then the
# model's columns do not depend on which digits happen to be in the data.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from skdp import DPSGDClassifier
from skdp.inspection import PrivacyAccuracyDisplay
from skdp.preprocessing import BoundedScaler

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)

scaler = BoundedScaler((0, 16))
model = make_pipeline(scaler, DPSGDClassifier(classes=range(10)))

# %%
# Accuracy against epsilon
# ------------------------
#
# Five fits at each budget, each with its own noise. Nothing is tuned. The seed makes the page
# repeatable; models that are given away have none.

display = PrivacyAccuracyDisplay.from_estimator(
    {"private": model}, X_train, y_train, X_test=X_test, y_test=y_test, random_state=0
)
display.ax_.set(ylim=(0, 1))
plt.show()

accuracies = display.scores["private"].mean(axis=(1, 2))
for epsilon, accuracy in zip(display.epsilons["private"], accuracies, strict=True):
    print(f"epsilon {epsilon:4.1f}: accuracy {accuracy:.3f}")
print(f"without privacy: {display.non_private_score:.3f}")
print(f"always one digit: {display.majority_score:.3f}")

# %%
# With ten classes each has some 140 images, and the same noise must be told apart from ten
# directions instead of one. So a small budget costs more here than on two classes; from epsilon 1
# on, the model is good.

# %%
# What the model looks like
# -------------------------
#
# The coefficients of a digit are an image: red pixels speak for it, blue ones against it. They are
# covered by epsilon, so of a model without a seed such a picture may be published. At epsilon 0.1
# the noise can be seen.

rows = {}
for epsilon in (0.1, 1, 10):
    model.set_params(dpsgdclassifier__epsilon=epsilon, dpsgdclassifier__random_state=0)
    rows[f"epsilon {epsilon}"] = model.fit(X_train, y_train)[-1].coef_
public = make_pipeline(scaler, LogisticRegression(max_iter=1000)).fit(X_train, y_train)
rows["without privacy"] = public[-1].coef_
figure, axes = plt.subplots(
    len(rows), 10, figsize=(9, 4.4), subplot_kw={"xticks": [], "yticks": []}, layout="constrained"
)
for line, (name, coefficients) in zip(axes, rows.items(), strict=True):
    largest = np.abs(coefficients).max()
    for ax, image in zip(line, coefficients, strict=True):
        ax.imshow(image.reshape(8, 8), cmap="RdBu_r", vmin=-largest, vmax=largest)
    line[0].set_ylabel(name, rotation=0, ha="right", va="center")
for digit, ax in enumerate(axes[0]):
    ax.set_title(digit)
plt.show()

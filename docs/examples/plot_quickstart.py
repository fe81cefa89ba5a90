"""
A private classifier in five minutes
====================================

A hospital has measurements of 569 tumours and wants to share a model that tells malignant from
benign, without giving away any single patient. `DPSGDClassifier(epsilon=1.0)` trains it: whoever
sees the model, even knowing every other patient's row, can change the odds by which they believe
that one particular patient was in the data by a factor of 2.7 at most (e to the power of epsilon).
"""

# %%
# The data, and public bounds for its columns
# -------------------------------------------
#
# The columns must be scaled, and the scaling must not look at the rows: through a `StandardScaler`
# one patient would move everybody else's scaled values, and the promise of the classifier behind
# it would be void. The description that comes with this data set publishes the range of every
# column, and these public numbers are all that `BoundedScaler` uses. For your own data take
# bounds from what is known without it, such as units and physical limits: the smallest and
# largest value of your own rows would give two of them away.

import re

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp import DPSGDClassifier, privacy_statement
from skdp.preprocessing import BoundedScaler

data = load_breast_cancer()
column_name = {"mean": "mean {}", "standard error": "{} error", "worst": "worst {}"}
published = {
    column_name[statistic].format(measure): (float(low), float(high))
    for measure, statistic, low, high in re.findall(
        r"([a-z ]+?) \((mean|standard error|worst)\): +([\d.]+) +([\d.]+)", data.DESCR
    )
}
low, high = zip(*(published[name] for name in data.feature_names), strict=True)
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.2, random_state=0
)

# %%
# Ask before the fit
# ------------------
#
# `privacy_statement` says what a fit would promise, from public numbers alone. `fit` cannot say it:
# the classifier is handed scaled rows, and does not see what stands in front of it.

usual = make_pipeline(StandardScaler(), DPSGDClassifier(epsilon=1.0))
private = make_pipeline(BoundedScaler((low, high)), DPSGDClassifier(epsilon=1.0))
n_rows, n_features = X_train.shape
for pipeline in (usual, private):
    plan = privacy_statement(pipeline, n_rows=n_rows, n_features=n_features)
    print(f"{plan.subject}: epsilon {plan.epsilon:.3f}")

# %%
# Fit, score, and read what it cost
# ---------------------------------
#
# Nothing else has to be tuned: what is left at "auto" follows from public numbers, and from noisy
# counts that the budget pays for.

private.fit(X_train, y_train)
public = make_pipeline(BoundedScaler((low, high)), LogisticRegression())
public.fit(X_train, y_train)
model = private[-1]

print(f"accuracy with privacy:     {private.score(X_test, y_test):.3f}")
print(f"accuracy without privacy:  {public.score(X_test, y_test):.3f}")
print(f"always the larger class:   {max(y_test.mean(), 1 - y_test.mean()):.3f}")
print(f"privacy spent:             epsilon {model.epsilon_:.3f} at delta {model.delta_:.0e}")
print(f"training:                  {model.n_steps_} noisy steps over {len(X_train)} rows")

# %%
# Run it twice and the accuracy differs a little: noise and sampling come from the operating
# system's cryptographic source, and nobody can draw the same noise again. An integer
# `random_state` would make the page repeatable, and the noise too: it is for tests.

"""
From raw columns to one epsilon
===============================

A promise of privacy is about the whole way from the raw table to the model, and one step that
looks at the rows without noise voids it. This page prices three pipelines on one table: one that
protects every row, one that protects every person with all their rows, and one with a
`StandardScaler`, which protects nobody.
"""

# %%
# Credit cards and their holders
# ------------------------------
#
# The columns follow a well-known table (Yeh and Lien 2009, "The comparisons of data mining
# techniques for the predictive accuracy of probability of default of credit card clients"): the
# limit of a card, the holder's age, education and marital status, and for each of six months how
# late the payment was, the bill, and what was paid. The rows are made up, and so is what the table
# does not have: people hold one to five cards, and a card is a row.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from skdp import DPSGDClassifier, privacy_statement
from skdp.model_selection import UnitKFold
from skdp.preprocessing import BoundedScaler, DPMaxAbsScaler
from skdp.privacy import group_epsilon

N_PEOPLE, MOST_CARDS = 4_000, 5
LIMIT_AND_AGE, CATEGORIES, MONTHS_LATE, AMOUNTS = [0, 1], [2, 3], slice(4, 10), slice(10, 22)

rng = np.random.default_rng(0)
person = np.repeat(np.arange(N_PEOPLE), rng.integers(1, MOST_CARDS + 1, size=N_PEOPLE))
n_cards = len(person)
age = rng.integers(21, 80, size=N_PEOPLE)[person]
education = rng.integers(1, 5, size=N_PEOPLE)[person]
marriage = rng.integers(1, 4, size=N_PEOPLE)[person]
trouble = rng.normal(size=(N_PEOPLE, 1))[person]
limit = np.exp(rng.normal(11.7 - 0.3 * trouble, 0.8)).round(-4).clip(10_000, 1_000_000)
used = 1 / (1 + np.exp(rng.normal(0.5 - trouble, 1.5)))
months_late = rng.normal(trouble - 0.5, 1.2, size=(n_cards, 6)).round().clip(-2, 9)
bills = limit * used * rng.uniform(0.8, 1.2, size=(n_cards, 6))
paid = bills * np.exp(rng.normal(-3 - 0.5 * trouble, 1.2)).clip(0, 1)

X = np.column_stack([limit, age, education, marriage, months_late, bills.round(), paid.round()])
log_odds = 0.9 * months_late.mean(axis=1) + 1.5 * used[:, 0] - 0.2 * np.log1p(paid[:, 0])
y = np.where(rng.random(n_cards) < 1 / (1 + np.exp(-log_odds)), "default", "paid")

# Whoever is held out is held out with all cards.
train, test = next(UnitKFold(4, random_state=0).split(X, y, groups=person))
print(f"{len(train)} cards of {len(np.unique(person[train]))} people, {X.shape[1]} raw columns")


def show_scores(model):
    """How well a model tells which of the cards held out will be paid."""
    accuracy = model.score(X[test], y[test])
    area = roc_auc_score(y[test], model.decision_function(X[test]))
    print(f"accuracy {accuracy:.3f}, AUC {area:.3f}")


print(f"always the larger class: accuracy {np.mean(y[test] == 'paid'):.3f}, AUC 0.500")

# %%
# A promise for every row
# -----------------------
#
# Education and marital status are codes, whose list is written down: an encoder that collects the
# codes from the rows gives away a code that a single person has. `DPMaxAbsScaler` finds the sizes
# of the columns with noise and needs no bounds. It gets a tenth of the budget.

codes = OneHotEncoder(categories=[[1, 2, 3, 4], [1, 2, 3]], handle_unknown="ignore")
# With another threshold, the number of zeros in the rows would decide between dense and sparse.
columns = make_column_transformer((codes, CATEGORIES), remainder="passthrough", sparse_threshold=0)
for_rows = make_pipeline(columns, DPMaxAbsScaler(epsilon=0.1), DPSGDClassifier(epsilon=0.9))
for_rows.fit(X[train], y[train])

row_statement = privacy_statement(for_rows)
show_scores(for_rows)
print(f"scaler:     epsilon {for_rows[1].epsilon_:.3f}")
print(f"classifier: epsilon {for_rows[2].epsilon_:.3f}")
print(f"together:   epsilon {row_statement.epsilon:.3f} at delta {row_statement.delta:.0e}")

# %%
# The total is not the sum. `privacy_statement` collects the noisy releases of all steps and
# composes them numerically: a run in which one of them tells much of a row is seldom a run in which
# another does too. So the scaler costs little more than nothing, and within an epsilon of 1 there
# would have been room for one with 0.3.
#
# But this promise is for a row, and people have several. The statement names it as an assumption
# that every person has one. For somebody with k cards, epsilon is more than k times as large:

by_cards = {
    k: group_epsilon(row_statement.mechanisms, row_statement.delta, k)
    for k in range(1, MOST_CARDS + 1)
}
for k, epsilon in by_cards.items():
    print(f"k = {k}: epsilon {epsilon:.2f}")

# %%
# A promise for every person
# --------------------------
#
# `privacy_unit` says whose each row is. Every step then draws people instead of rows, and clips
# what all rows of a person add up to as one vector. `DPMaxAbsScaler` and `DPStandardScaler` promise
# something to rows only, so the scaler must be one that costs nothing: `BoundedScaler`, with bounds
# out of the bank's own rules. Amounts have long tails, and their logarithms do not; `numpy.log1p`
# sees one value at a time, which is free too. The classifier may spend the whole budget.

amounts = make_pipeline(FunctionTransformer(np.log1p, validate=True), BoundedScaler((0, 14)))
bounded_columns = make_column_transformer(
    (codes, CATEGORIES),
    (BoundedScaler(([10_000, 18], [1_000_000, 100])), LIMIT_AND_AGE),
    (BoundedScaler((-2, 9)), MONTHS_LATE),
    (amounts, AMOUNTS),
    sparse_threshold=0,
)
for_people = make_pipeline(bounded_columns, DPSGDClassifier(epsilon=1.0))
for_people.fit(X[train], y[train], dpsgdclassifier__privacy_unit=person[train])

show_scores(for_people)
print()
print(privacy_statement(for_people))

# %%
# This text can be handed on with the model. The scores are not part of the model: they are exact
# figures about the people held out, whom nothing protects against them.
#
# Both scores are close to those of the promise to rows: the clip threshold follows a noisy
# histogram of what people add with all their cards, beside that of single cards.

# %%
# With StandardScaler
# -------------------
#
# Now the usual pipeline: the first one with another scaler. The classifier adds its noise as
# before. A made-up card is enough to find out what such a fit would promise, before it reads one.

usual = make_pipeline(columns, StandardScaler(), DPSGDClassifier(epsilon=1.0))
plan = privacy_statement(usual, n_rows=len(train), X_sample=np.ones((1, X.shape[1])))
print(f"before the fit: epsilon {plan.epsilon}")
usual.fit(X[train], y[train])

usual_statement = privacy_statement(usual)
show_scores(usual)
print(f"epsilon {usual_statement.epsilon}")
print(f"epsilon of the releases {usual_statement.epsilon_of_releases:.3f}")
print()
print(usual_statement)

# %%
# The noisy releases would cost 1.0 if the scaled values had been given. They were computed from
# the rows, and the scaler keeps the exact means: whoever knows all cards but one can read the
# missing card off the pipeline.

scaler = usual[1]
sums_of_others = usual[0].transform(X[train[:-1]]).sum(axis=0)
last_card = scaler.n_samples_seen_ * scaler.mean_ - sums_of_others
found = last_card[usual[0].output_indices_["remainder"]]
for number, name in enumerate(["limit", "age"]):
    print(f"{name} of the last card: {X[train[-1], number]:.0f}, as read off: {found[number]:.0f}")

# %%
# Keeping the scaler back does not mend it. One card moves the scaled values of all others, so all
# their gradients may move at once, and the noise of the classifier hides the move of one only.

# %%
# What a promise to people costs
# ------------------------------
#
# On the left, what the two private pipelines above promise to somebody with k cards. On the right,
# how well a model sorts the cards held out, against its promise to somebody with all five: the
# pipeline with `BoundedScaler` is fitted with `privacy_unit` and without. These fits are seeded,
# so that the picture stays the same. A model to be given away has no seed: the statement would
# list it as not covered.

N_SEEDS = 4


def fit_and_rank(pipeline, epsilon, **params):
    """The releases of a fit, which the seeds have in common, and the mean AUC."""
    areas = []
    for seed in range(N_SEEDS):
        settings = {"dpsgdclassifier__epsilon": epsilon, "dpsgdclassifier__random_state": seed}
        model = clone(pipeline).set_params(**settings).fit(X[train], y[train], **params)
        areas.append(roc_auc_score(y[test], model.decision_function(X[test])))
    return model[-1].mechanisms_, np.mean(areas)


to_rows, to_people = [], []
for epsilon in (0.05, 0.1, 0.2, 0.5, 1.0):
    releases, area = fit_and_rank(for_people, epsilon)
    to_rows.append((group_epsilon(releases, row_statement.delta, MOST_CARDS), area))
for epsilon in (0.1, 0.2, 0.5, 1.0, 2.0):
    unit = {"dpsgdclassifier__privacy_unit": person[train]}
    to_people.append((epsilon, fit_and_rank(for_people, epsilon, **unit)[1]))
_, usual_area = fit_and_rank(usual, 1.0)

for name, curve in {"rows": to_rows, "people": to_people}.items():
    for epsilon, area in curve:
        print(f"promise to {name:7} epsilon {epsilon:4.2f} with five cards, AUC {area:.3f}")
print(f"StandardScaler:    no promise,                   AUC {usual_area:.3f}")

ROWS, PEOPLE, GREY = "#e69f00", "#0072b2", "#777777"
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
cards = list(by_cards)
left.plot(cards, by_cards.values(), "o-", color=ROWS, label="promise to rows")
left.plot(cards, [k * by_cards[1] for k in cards], ":", color=ROWS, label="k times its epsilon")
left.plot(cards, [for_people[-1].epsilon_] * 5, "o-", color=PEOPLE, label="promise to people")
left.set(xlabel="k, the cards of one person", ylabel="epsilon of this person")
left.set(xticks=cards, ylim=(0, None))
right.semilogx(*zip(*to_rows, strict=True), "o-", color=ROWS)
right.semilogx(*zip(*to_people, strict=True), "o-", color=PEOPLE)
right.axhline(usual_area, color=GREY, ls="--", label="StandardScaler: no promise")
right.set(xlabel="epsilon of a person with five cards", ylabel="AUC on the cards held out")
right.set(xticks=[0.1, 0.3, 1, 3, 10], xticklabels=["0.1", "0.3", "1", "3", "10"])
right.minorticks_off()
figure.legend(loc="outside upper center", ncols=4, frameon=False)
plt.show()

# %%
# For somebody with five cards, the promise to rows has to reckon with five gradients, each as long
# as the clip lets it be, that all point the same way. The promise to people clips what the cards of
# a person add up to, and at an epsilon of 1 it sorts as well as the other does at 6. Giving up the
# promise for `StandardScaler` bought nothing.
#
# Many models were fitted to the same people on this page, which only made-up people allow. With
# real ones, every model that is given away adds to the cost, and `PrivacyBudget` keeps the account.

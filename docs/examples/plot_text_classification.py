"""
Private text classification
===========================

Messages are turned into sparse rows of 16,384 columns, and the classifier trains on them as they
are: no dense copy of the table is made. What matters for privacy is how words become columns.
"""

# %%
# Messages whose truth is known
# -----------------------------
#
# The 20,000 messages are made up of 3,000 made-up words, some frequent and most rare, as in any
# language. 300 words say something about the class, each a little; the others say nothing. Some
# messages are ambiguous, so no model reaches 100 %.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from skdp import DPSGDClassifier

rng = np.random.default_rng(0)
N_MESSAGES, N_WORDS, LENGTH = 20_000, 3_000, 40
syllables = ["ba", "do", "ki", "lu", "me", "no", "ra", "si", "te", "vu"]
words = np.array(
    [
        "".join(syllables[(number // 10**place) % 10] for place in range(4))
        for number in range(N_WORDS)
    ]
)
frequencies = 1 / (10 + np.arange(N_WORDS))
effects = np.zeros(N_WORDS)
telling = rng.choice(1000, size=300, replace=False)
effects[telling] = rng.normal(scale=1.5, size=300)

drawn = rng.choice(N_WORDS, size=(N_MESSAGES, LENGTH), p=frequencies / frequencies.sum())
log_odds = effects[drawn].sum(axis=1)
log_odds -= np.median(log_odds)
y = np.where(rng.random(N_MESSAGES) < 1 / (1 + np.exp(-log_odds)), "urgent", "can wait")
messages = [" ".join(words[numbers]) for numbers in drawn]
train, test, y_train, y_test, _, log_odds_test = train_test_split(
    messages, y, log_odds, test_size=0.2, random_state=0
)
print(f"{y_train[0]}: {train[0][:60]} ...")

# %%
# Words to columns, without looking
# ---------------------------------
#
# `CountVectorizer` and `TfidfVectorizer` learn their vocabulary from the messages. A word that one
# person used becomes a column, and its name is kept on the fitted object: that is a leak which no
# noise behind it can mend. `HashingVectorizer` computes the column from the word itself. It learns
# nothing, costs nothing, and gives every message the norm 1, so no scaling is needed either.

vectorizer = HashingVectorizer(n_features=2**14, alternate_sign=False)
rows = vectorizer.transform(train)
print(f"{rows.shape[0]} rows, {rows.shape[1]} columns, {rows.nnz / rows.shape[0]:.0f} words a row")

EPSILONS = [0.5, 1.0, 3.0, 10.0]
private = {
    epsilon: make_pipeline(vectorizer, DPSGDClassifier(epsilon=epsilon, random_state=0)).fit(
        train, y_train
    )
    for epsilon in EPSILONS
}
public = make_pipeline(vectorizer, LogisticRegression(C=10)).fit(train, y_train)

accuracy = {f"epsilon {e:g}": model.score(test, y_test) for e, model in private.items()}
accuracy["without privacy"] = public.score(test, y_test)
accuracy["the true odds"] = np.mean((log_odds_test > 0) == (y_test == "urgent"))
accuracy["always the larger class"] = max(np.mean(y_test == label) for label in set(y_test))
for name, value in accuracy.items():
    print(f"{name:24} {value:.3f}")

# %%
# Text is hard to learn privately: most words are rare, what one message says of them drowns in the
# noise, and every one of the 16,384 columns gets noise at each step. Frequent words carry the
# private model, as the last picture shows.

# %%
# Which words speak for "urgent"
# ------------------------------
#
# The words are public here, so the coefficient of each can be looked up, at no further cost. With
# names of people as words, the list of words to look up would have to come from elsewhere than
# from the messages.

columns = vectorizer.transform(words).indices
frequent = np.arange(N_WORDS) < 300
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained", sharex=True)
panels = {"epsilon 3": private[3.0][-1], "without privacy": public[-1]}
for ax, (name, model) in zip(axes, panels.items(), strict=True):
    # Columns count for the class that comes second in the alphabet, which is "urgent".
    weights = model.coef_[0, columns]
    ax.plot(effects[~frequent], weights[~frequent], ".", color="#bbbbbb", ms=4, label="rare words")
    ax.plot(
        effects[frequent], weights[frequent], ".", color="#0072b2", label="the 300 most frequent"
    )
    ax.set(xlabel="true effect of the word", ylabel="coefficient", title=name)
axes[0].legend(frameon=False)
plt.show()

correlation = {
    name: np.corrcoef(effects[frequent], model.coef_[0, columns[frequent]])[0, 1]
    for name, model in panels.items()
}
for name, value in correlation.items():
    print(f"{name}: correlation with the true effects of frequent words {value:.2f}")

"""A score takes labels that the model can have predicted, and says why it refuses others."""

import numpy as np
import pandas as pd
import pytest

from skdp import DPSGDClassifier

N = 80
X = np.random.default_rng(6).normal(size=(N, 2))
CODES = np.arange(N) % 2
TEXT = np.array(["no", "yes"])[CODES]
SECRETS = ("s3cret", "77777")


def fitted(labels):
    return DPSGDClassifier(random_state=0).fit(X, labels)


def refusal_of(model, y):
    """What the score says, once it is sure that nothing of y is in it, nor in what is behind it."""
    with pytest.raises(ValueError, match=r"^y ") as caught:
        model.score(X, y)
    assert caught.value.__context__ is None
    assert not any(secret in str(caught.value) for secret in SECRETS)
    return str(caught.value)


@pytest.mark.parametrize("labels", [CODES, TEXT], ids=["numbers", "text"])
@pytest.mark.parametrize("hole", [None, np.nan, pd.NA, "masked"])
def test_a_score_of_missing_labels_is_refused_as_that(labels, hole):
    """Whatever they are counted as, right or wrong, the accuracy would be of other rows."""
    secret = 77777 if labels is CODES else "s3cret"
    column = np.array([secret, *labels[1:]], dtype=object)
    if isinstance(hole, str):
        column = np.ma.masked_array(column.astype(type(secret)), mask=np.arange(N) == 3)
    else:
        column[3] = hole
    said = refusal_of(fitted(labels), column)
    assert "y has missing labels" in said
    assert "another kind" not in said


@pytest.mark.parametrize(
    ("labels", "y"),
    [
        (CODES, ["s3cret", *TEXT[1:]]),
        (CODES, np.array(["77777", *CODES[1:].astype(str)])),
        (TEXT, [77777, *CODES[1:]]),
        (TEXT, [77777.0, *CODES[1:]]),
        (TEXT, TEXT.astype(bytes)),
    ],
    ids=["text", "digits", "numbers", "floats", "bytes"],
)
def test_a_score_of_labels_of_another_kind_is_refused_as_that(labels, y):
    """It would be 0, or an error of scikit-learn's that shows them."""
    said = refusal_of(fitted(labels), y)
    assert "y holds labels of another kind than classes_" in said
    assert "missing" not in said


def test_a_score_does_not_mind_what_holds_labels_of_one_kind():
    """Halves of a table often come in different types."""
    numbers, text = fitted(CODES), fitted(TEXT)
    expected = np.mean(numbers.predict(X) == CODES)
    for y in (CODES.astype(float), CODES.astype(bool), list(CODES), pd.Series(CODES, dtype=object)):
        assert numbers.score(X, y) == expected
    expected = np.mean(text.predict(X) == TEXT)
    for y in (TEXT.astype(object), list(TEXT), pd.Series(TEXT)):
        assert text.score(X, y) == expected

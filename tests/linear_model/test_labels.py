"""The label set is declared or read, and no message shows a label of y."""

import numpy as np
import pytest

from skdp.linear_model._labels import encode_labels


@pytest.mark.parametrize(
    ("y", "classes", "label_set", "codes"),
    [
        ([3, 1, 3], None, [1, 3], [1, 0, 1]),
        ([3, 1, 3], [3, 2, 1], [1, 2, 3], [2, 0, 2]),
        (["b", "a"], None, ["a", "b"], [1, 0]),
        (["b", "b"], ("b", "a"), ["a", "b"], [1, 1]),
        ([1.0, -1.0], None, [-1.0, 1.0], [1, 0]),
        ([True, False], None, [False, True], [1, 0]),
        ([1, 1], [0.0, 1.0], [0.0, 1.0], [1, 1]),
    ],
)
def test_labels_are_numbered_by_their_place_in_the_sorted_set(y, classes, label_set, codes):
    """Whatever the order in which they were declared."""
    found, numbered = encode_labels(np.asarray(y), classes)
    assert found.tolist() == label_set
    assert numbered.tolist() == codes


def test_text_in_an_object_array_is_text():
    """As data frames hand it over."""
    label_set, codes = encode_labels(np.array(["no", "yes", "no"], dtype=object), ["yes", "no"])
    assert label_set.tolist() == ["no", "yes"]
    assert codes.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("y", "classes", "message"),
    [
        ([7, 7, 7], None, "one class"),
        ([7, 8], [7], "two or more"),
        ([7, 8], [7, 8, 8], "twice"),
        ([7, 8], ["a", "b"], "classes holds text but y holds numbers.*BaggingClassifier"),
        (["s3cret", "b"], [0, 1], "classes holds numbers but y holds text"),
        (["s3cret", "b"], ["a", "b"], "outside classes.*VotingClassifier"),
        ([77777, 1], [0, 1], "outside classes"),
        ([0.5, 1.5], None, "Unknown label type.*fractions"),
        ([0, 1], [[0, 1]], "one-dimensional"),
    ],
)
def test_errors_say_what_to_do_and_show_no_label_of_y(y, classes, message):
    """The declared set may be shown, since it is public; y may not."""
    with pytest.raises(ValueError, match=message) as caught:
        encode_labels(np.asarray(y), classes)
    for label in ("s3cret", "77777", "0.5"):
        assert label not in str(caught.value)


def test_mixed_labels_are_refused():
    """Numbers and text in one column have no order."""
    with pytest.raises(ValueError, match="all of one kind"):
        encode_labels(np.array([1, "a"], dtype=object), None)


def test_y_in_the_place_of_its_label_set_is_not_shown():
    """Each of its entries is somebody's."""
    with pytest.raises(ValueError, match="names a label twice") as caught:
        encode_labels(np.array([7, 8, 8]), [7, 8, 8])
    assert "8, 8" not in str(caught.value)

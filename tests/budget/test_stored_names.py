"""Names that stand in files which are already out there: ledgers, pickles and statements.

Whoever renames one of them makes old files unreadable, or, worse, read for something else.
"""

import dataclasses
import json
import pickle
import pickletools

import pytest

from skdp.budget._ledger import Entry, Ledger
from skdp.privacy import Gaussian, GroupedGaussian, SubsampledGaussian
from skdp.privacy._filter import PrivacyFilter

NAMES = {
    Gaussian: ("noise_multiplier",),
    SubsampledGaussian: ("noise_multiplier", "sample_rate", "n_steps"),
    GroupedGaussian: ("noise_multiplier", "sample_rate", "n_steps", "group_size"),
}
EXAMPLES = [
    Gaussian(noise_multiplier=5.0),
    SubsampledGaussian(noise_multiplier=2.0, sample_rate=0.08, n_steps=375),
    GroupedGaussian(noise_multiplier=2.0, sample_rate=0.08, n_steps=375, group_size=3),
]

# One record as it stands in a file.
WRITTEN = (
    '{"key": "key", "name": "DPSGDClassifier", '
    '"mechanisms": [{"kind": "Gaussian", "noise_multiplier": 5.0}, '
    '{"kind": "SubsampledGaussian", "noise_multiplier": 2.0, "sample_rate": 0.08, "n_steps": 375}, '
    '{"kind": "GroupedGaussian", "noise_multiplier": 2.0, "sample_rate": 0.08, "n_steps": 375, '
    '"group_size": 3}], '
    '"state": "fitted", "is_seeded": false, "n": 300, "unit_name": null, "group": null, '
    '"hash": "c83eb0103940694e"}'
)


@pytest.mark.parametrize("mechanism", NAMES)
def test_the_fields_of_a_mechanism_keep_their_names_and_order(mechanism):
    """The names are keys of every ledger and attributes in every pickle."""
    assert tuple(field.name for field in dataclasses.fields(mechanism)) == NAMES[mechanism]


def test_a_ledger_that_was_written_is_read_and_written_as_it_was():
    """Names, their order and the hashes over them: a ledger on disk is one of these."""
    entry = Entry("key", "DPSGDClassifier", tuple(EXAMPLES), state="fitted", n=300)
    ledger = Ledger(PrivacyFilter(50.0, 1e-5, 0.5, (1.5,), (0.5,)), "row", "mark", None, (entry,))
    [record] = json.loads(ledger.to_json())["records"]
    assert json.dumps(record) == WRITTEN
    assert Ledger.from_json(ledger.to_json()) == ledger


@pytest.mark.parametrize("mechanism", EXAMPLES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("module", ["skdp.privacy", "skdp.privacy._mechanism"])
def test_a_pickle_of_either_place_of_the_class_is_read(module, mechanism):
    """Files name the public place; those that name the module in which it stands are read too."""
    data = pickle.dumps(mechanism, protocol=0)
    elsewhere = data.replace(b"cskdp.privacy\n", b"c" + module.encode() + b"\n")
    assert module.encode() + b"\n" in elsewhere
    assert pickle.loads(elsewhere) == mechanism


@pytest.mark.parametrize("mechanism", EXAMPLES, ids=lambda one: type(one).__name__)
def test_a_pickle_names_no_private_module(mechanism):
    """So that what is in a file does not change when the package is tidied."""
    texts = [text for _, text, _ in pickletools.genops(pickle.dumps(mechanism, protocol=0))]
    assert not any("._" in text for text in texts if isinstance(text, str))

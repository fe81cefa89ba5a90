"""One file for several processes: nobody loses an entry, and nobody spends a budget twice."""

import copy
import dataclasses
import json
import os
import pickle
import shutil
import stat
import subprocess
import sys
import threading
import time
import types
import warnings

import numpy as np
import pytest
from budget_stubs import DELTA, Releases, entries, gaussian, mu_squared_limit, small
from sklearn.base import clone

from skdp import DPSGDClassifier, PrivacyBudget
from skdp.budget import _ledger_file as _ledger_file
from skdp.budget._ledger import Ledger
from skdp.budget._ledger_file import LockedFile
from skdp.exceptions import BudgetExhaustedError, PrivacyError
from skdp.privacy import Gaussian, GroupedGaussian, SubsampledGaussian
from skdp.privacy._filter import PrivacyFilter

posix = pytest.mark.skipif(os.name != "posix", reason="Windows keeps open files from being deleted")


@pytest.fixture
def used():
    """A ledger with every kind of entry."""
    budget = PrivacyBudget(7.0, 1e-6)
    budget.spend(gaussian(4 / 3).fit())
    budget.reserve(
        Releases((SubsampledGaussian(1.7, 1 / 7, 3), GroupedGaussian(9.0, 0.1, 2, 4))), 9
    )
    budget.spend(Releases().fit())
    return budget


@pytest.mark.filterwarnings("ignore:delta")
def test_json_gives_the_same_ledger_back(used):
    """To the last bit, and it goes on from there."""
    again = PrivacyBudget.from_json(used.to_json())
    assert again.to_json() == used.to_json()
    assert (again.epsilon, again.delta, again.unit) == (7.0, 1e-6, "row")
    assert again.share_spent == used.share_spent
    again.reserve(gaussian(30.0), 100)
    assert again.share_spent > used.share_spent


def test_a_text_that_is_no_ledger_is_refused(used):
    """Rather than read as an empty one."""
    content = json.loads(used.to_json())
    for change in (
        {"format": "another"},
        {"records": [{"kind": "unknown"}]},
        {"records": None},
        {"records": [{**content["records"][0], "mechanisms": [{"kind": "Free"}]}]},
        {"rule": {**content["rule"], "gaussian_share": 2.0}},
    ):
        with pytest.raises(PrivacyError, match="not a privacy ledger"):
            PrivacyBudget.from_json(json.dumps({**content, **change}))
    for text in ("", "{}", "[]", used.to_json()[:-20]):
        with pytest.raises(PrivacyError, match="not a privacy ledger"):
            PrivacyBudget.from_json(text)


def test_orders_and_shares_stay_what_they_were_when_the_ledger_was_made(used):
    """Another choice of theirs in a later release must not change a ledger that exists."""
    rule = PrivacyFilter(7.0, 1e-6, gaussian_share=0.25, orders=(4.0,), order_shares=(0.75,))
    other = dataclasses.replace(Ledger.from_json(used.to_json()), rule=rule)
    again = PrivacyBudget.from_json(other.to_json())
    assert json.loads(again.to_json())["rule"]["orders"] == [4.0]
    assert again.share_spent == other.share_spent() != used.share_spent


def test_processes_share_one_file(tmp_path):
    """Each sees what the others recorded, and the budget must be the same for all."""
    path = tmp_path / "ledger.json"
    first = PrivacyBudget(1.0, DELTA, path=path)
    second = PrivacyBudget(1.0, DELTA, path=path)
    key = first.reserve(gaussian(6.0), 1000)
    assert second.share_spent == first.share_spent > 0
    second.spend(gaussian(6.0).fit(), reservation=key)
    assert "fitted" in str(first)
    third = pickle.loads(pickle.dumps(first))
    third.reserve(gaussian(20.0), 1000)
    assert first.share_spent == second.share_spent == third.share_spent
    for other in ({"epsilon": 2.0}, {"delta": 1e-6}, {"unit": "unit"}):
        with pytest.raises(PrivacyError, match="is about"):
            PrivacyBudget(**{"epsilon": 1.0, "delta": DELTA, "path": path, **other})


def test_a_foreign_file_is_left_alone(tmp_path):
    """Whatever it is, it is not overwritten."""
    path = tmp_path / "notes.txt"
    path.write_text("my notes")
    with pytest.raises(PrivacyError, match="not a privacy ledger"):
        PrivacyBudget(1.0, DELTA, path=path)
    assert path.read_text() == "my notes"


def test_a_lost_file_is_not_begun_again(tmp_path):
    """An empty ledger in its place would forget what was spent."""
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "ledger.json")
    (tmp_path / "ledger.json").unlink()
    with pytest.raises(FileNotFoundError):
        budget.reserve(gaussian(9.0), 1000)
    assert not (tmp_path / "ledger.json").exists()


RACER = """
import os, sys, time
from skdp import DPSGDClassifier, PrivacyBudget
from skdp.exceptions import BudgetExhaustedError

folder = sys.argv[1]
budget = PrivacyBudget(1.0, 1e-5, path=os.path.join(folder, "ledger.json"))
model = DPSGDClassifier(noise_multiplier=20, batch_size=100, n_epochs=1)
open(os.path.join(folder, f"ready{os.getpid()}"), "w").close()
while not os.path.exists(os.path.join(folder, "go")):
    time.sleep(0.001)
done = 0
try:
    while True:
        budget.reserve(model, n_rows=100)
        done += 1
except BudgetExhaustedError:
    print(done)
"""


@pytest.mark.slow
def test_racing_processes_cannot_overspend_one_file(tmp_path):
    """Three at once, and exactly as many reservations in all as one alone would get."""
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "ledger.json")
    model = DPSGDClassifier(noise_multiplier=20, batch_size=100, n_epochs=1)
    expected = budget.remaining_fits(model, n_rows=100)
    assert expected >= 20
    command = [sys.executable, "-c", RACER, str(tmp_path)]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    while len(list(tmp_path.glob("ready*"))) < 3:
        assert all(racer.poll() is None for racer in racers)
        time.sleep(0.01)
    (tmp_path / "go").touch()
    done = [int(racer.communicate(timeout=120)[0]) for racer in racers]
    assert sum(done) == len(entries(budget)) == expected
    assert not budget.overspent


def test_racing_threads_cannot_overspend_one_ledger():
    """The check and the record are one step."""
    budget, refused = PrivacyBudget(1.0, DELTA), []

    def reserve_until_refused():
        try:
            while True:
                budget.reserve(gaussian(20.0), 1000)
        except BudgetExhaustedError:
            refused.append(1)

    threads = [threading.Thread(target=reserve_until_refused) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(refused) == 4
    assert len(entries(budget)) == int(mu_squared_limit(1.0) * 400)


@pytest.mark.parametrize("dies_at", ["fsync", "replace"])
def test_a_crash_while_writing_leaves_a_whole_ledger(tmp_path, monkeypatch, dies_at):
    """The old one, and the lock is free again."""
    path = tmp_path / "ledger.json"
    budget = PrivacyBudget(1.0, DELTA, path=path)
    budget.reserve(gaussian(9.0), 1000)
    before = path.read_bytes()

    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_ledger_file.os, dies_at, die)
        with pytest.raises(KeyboardInterrupt):
            budget.reserve(gaussian(9.0), 1000)
    assert path.read_bytes() == before
    budget.reserve(gaussian(9.0), 1000)
    assert path.read_bytes() != before


@pytest.mark.slow
def test_a_killed_process_leaves_no_lock_behind(tmp_path):
    """It held the lock when it died without a word."""
    path = tmp_path / "ledger.json"
    PrivacyBudget(1.0, DELTA, path=path)
    code = (
        "import os, sys; from skdp.budget._ledger_file import LockedFile\n"
        "with LockedFile(sys.argv[1]).locked(): os._exit(9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == 9
    PrivacyBudget(1.0, DELTA, path=path).reserve(gaussian(9.0), 1000)


def test_waiting_for_a_lock_ends(tmp_path):
    """With an error that says who is in the way."""
    file = LockedFile(tmp_path / "ledger.json")
    with file.locked(), pytest.raises(TimeoutError, match="kept"), file.locked(patience=0.05):
        pass
    with file.locked(patience=0.05):
        pass


def test_where_locks_are_those_of_windows_they_are_used(tmp_path, monkeypatch):
    """One byte from the start of the lock file, taken without waiting, and given back."""
    calls, holders = [], []

    def locking(descriptor, mode, n_bytes):
        calls.append((mode, n_bytes, os.lseek(descriptor, 0, os.SEEK_CUR)))
        if mode == "take" and holders:
            raise PermissionError
        holders.append(descriptor) if mode == "take" else holders.clear()

    windows = types.SimpleNamespace(LK_NBLCK="take", LK_UNLCK="give", locking=locking)
    monkeypatch.setattr(_ledger_file, "fcntl", None)
    monkeypatch.setattr(_ledger_file, "msvcrt", windows)
    file = LockedFile(tmp_path / "ledger.json")
    with file.locked(), pytest.raises(TimeoutError), file.locked(patience=0.02):
        pass
    assert not holders
    assert {(n_bytes, position) for _, n_bytes, position in calls} == {(1, 0)}
    assert calls[-1][0] == "give"


def test_where_there_are_no_locks_no_file_is_shared(tmp_path, monkeypatch):
    """Refused, rather than hoped for the best; in memory all works."""
    monkeypatch.setattr(_ledger_file, "fcntl", None)
    monkeypatch.setattr(_ledger_file, "msvcrt", None)
    with pytest.raises(OSError, match="no locks for files"):
        PrivacyBudget(1.0, DELTA, path=tmp_path / "ledger.json")
    PrivacyBudget(1.0, DELTA).reserve(gaussian(9.0), 1000)


def test_a_link_stays_a_link_and_permissions_stay(tmp_path):
    """The new text takes the place of the file, not of what points to it."""
    (tmp_path / "shared").mkdir()
    real, link = tmp_path / "shared" / "ledger.json", tmp_path / "ledger.json"
    PrivacyBudget(1.0, DELTA, path=real)
    os.chmod(real, 0o640)
    link.symlink_to(real)
    PrivacyBudget(1.0, DELTA, path=link).reserve(gaussian(9.0), 1000)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert PrivacyBudget(1.0, DELTA, path=real).share_spent > 0


# -- Pickles ---------------------------------------------------------------------------------------


def test_a_ledger_in_memory_is_never_copied():
    """A second one would know nothing of the first: copies share it, and pickles are refused."""
    budget = PrivacyBudget(1.0, DELTA)
    model = small(budget=budget)
    for same in (copy.copy(budget), copy.deepcopy(budget), copy.deepcopy(model).budget):
        assert same is budget
    assert clone(model).budget is clone(model, safe=False).budget is budget
    for thing in (budget, model):
        with pytest.raises(pickle.PicklingError, match=r"path=\.\.\."):
            pickle.dumps(thing)


def test_a_model_carries_the_path_of_its_ledger_and_nothing_of_its_content(rows, tmp_path):
    """Whoever gets the model learns no other fit, however many there are."""
    X, y = rows
    path = tmp_path / "ledger.json"
    budget = PrivacyBudget(5.0, DELTA, path=path)
    model = small(budget=budget).fit(X, y)
    text, alone = pickle.dumps(model), pickle.dumps(budget)
    for _ in range(5):
        small(40.0, budget=budget).fit(X, y)
    assert pickle.dumps(model) == text
    assert pickle.dumps(budget) == alone
    content = json.loads(path.read_text())
    words = [content["mark"]]
    for record in content["records"]:
        words += [record["hash"], record["key"]]
    assert len(words) == 1 + 2 * 12
    assert [word for word in words if word.encode() in text] == [model.fit_id_] * 2
    assert not [word for word in [*words, "Gaussian", "records"] if word.encode() in alone]
    assert str(path).encode() in alone


def test_a_model_can_be_used_where_its_ledger_is_not(rows, tmp_path):
    """It predicts; what needs the ledger says which file is missing, and begins no new one."""
    X, y = rows
    path = tmp_path / "ledger.json"
    text = pickle.dumps(small(budget=PrivacyBudget(5.0, DELTA, path=path)).fit(X, y))
    path.unlink()
    model = pickle.loads(text)
    assert len(model.predict(X)) == len(X)
    assert model.budget.epsilon == 5.0
    assert "cannot be read here" in model.budget.in_short()
    with pytest.raises(FileNotFoundError, match=r"ledger\.json"):
        _ = model.budget.share_spent
    with pytest.raises(FileNotFoundError, match=r"ledger\.json"):
        model.fit(X, y)
    assert not path.exists()


def test_models_that_come_back_from_a_pickle_go_on_in_the_same_file(rows, tmp_path):
    """The one that was saved and the one that was loaded see each other's fits."""
    X, y = rows
    budget = PrivacyBudget(5.0, DELTA, path=tmp_path / "ledger.json")
    model = small(budget=budget).fit(X, y)
    again = pickle.loads(pickle.dumps(model)).fit(X, y)
    model.fit(X, y)
    assert len(entries(budget)) == len(entries(again.budget)) == 3


# -- Ways to spend one budget twice ----------------------------------------------------------------


@pytest.fixture
def shared(tmp_path):
    """A file with two fits on it."""
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "ledger.json")
    budget.reserve(gaussian(9.0), 1000)
    budget.reserve(gaussian(9.0), 1000)
    return budget


def with_content(path, change):
    """Rewrite the JSON of a ledger."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


@posix
def test_a_ledger_of_two_names_is_refused(shared, tmp_path):
    """A hard link: locks and new texts go by name, so each name would have a whole budget."""
    path, other = tmp_path / "ledger.json", tmp_path / "other.json"
    before = path.read_bytes()
    os.link(path, other)
    for use in (
        lambda: shared.reserve(gaussian(9.0), 1000),
        lambda: shared.share_spent,
        lambda: PrivacyBudget(1.0, DELTA, path=other),
    ):
        with pytest.raises(PrivacyError, match=r"hard links.*delete the others"):
            use()
    assert path.read_bytes() == other.read_bytes() == before
    other.unlink()
    shared.reserve(gaussian(9.0), 1000)
    assert len(entries(shared)) == 3


def test_an_old_copy_that_is_put_back_is_seen(shared, tmp_path):
    """By whoever saw a later entry; nothing is written over it."""
    path, backup = tmp_path / "ledger.json", tmp_path / "backup.json"
    shutil.copy(path, backup)
    shared.reserve(gaussian(9.0), 1000)
    newest = path.read_bytes()
    shutil.copy(backup, path)
    for _ in range(2):
        with pytest.raises(PrivacyError, match=r"have disappeared.*Put back the newest copy"):
            shared.reserve(gaussian(9.0), 1000)
    assert path.read_bytes() == backup.read_bytes()
    path.write_bytes(newest)
    shared.reserve(gaussian(9.0), 1000)
    assert len(entries(shared)) == 4


@pytest.mark.parametrize("other", [(50.0, 1e-3), (1.0, 1e-6), (1.0, DELTA)])
def test_another_ledger_in_the_place_of_a_file_is_seen(shared, tmp_path, other):
    """Of another rule, and of the same one: a new ledger has forgotten everything."""
    PrivacyBudget(*other, path=tmp_path / "new.json")
    os.replace(tmp_path / "new.json", tmp_path / "ledger.json")
    with pytest.raises(PrivacyError, match=r"is about|have disappeared"):
        shared.reserve(gaussian(0.7), 1000)
    with pytest.raises(PrivacyError, match=r"is about|have disappeared"):
        _ = shared.share_spent


def test_an_empty_ledger_in_the_place_of_an_empty_one_is_seen(tmp_path):
    """Two ledgers of one rule differ in their marks, before anything is on them."""
    budget = PrivacyBudget(1.0, DELTA, path=tmp_path / "ledger.json")
    PrivacyBudget(1.0, DELTA, path=tmp_path / "new.json")
    os.replace(tmp_path / "new.json", tmp_path / "ledger.json")
    with pytest.raises(PrivacyError, match="another file"):
        budget.reserve(gaussian(9.0), 1000)


@posix
def test_a_lock_that_is_deleted_while_it_is_held_loses_no_entry(shared, tmp_path):
    """Two hold a lock then; the one whose lock is gone records nothing, says so, and can retry."""
    other = PrivacyBudget(1.0, DELTA, path=tmp_path / "ledger.json")
    read = shared._file.read

    def read_and_lose_the_lock():
        text = read()
        (tmp_path / "ledger.json.lock").unlink()
        other.reserve(gaussian(9.0), 1000)
        return text

    shared._file.read = read_and_lose_the_lock
    with pytest.raises(PrivacyError, match=r"deleted while it was held.*nothing was recorded"):
        shared.enter("Releases", [Gaussian(9.0)], fit_id="one")
    shared._file.read = read
    assert len(entries(other)) == 3
    shared.reserve(gaussian(9.0), 1000)
    assert len(entries(other)) == len(entries(shared)) == 4


@posix
def test_a_lock_that_is_deleted_before_anybody_else_takes_one_counts_as_lost(shared, tmp_path):
    """Somebody may be about to take another one."""
    read = shared._file.read

    def read_and_lose_the_lock():
        (tmp_path / "ledger.json.lock").unlink()
        return read()

    shared._file.read = read_and_lose_the_lock
    before = (tmp_path / "ledger.json").read_bytes()
    with pytest.raises(PrivacyError, match="nothing was recorded"):
        shared.enter("Releases", [Gaussian(9.0)], fit_id="one")
    assert (tmp_path / "ledger.json").read_bytes() == before


def test_a_file_that_changes_without_its_lock_is_not_written_over(shared, tmp_path):
    """An editor, or a copy put back between reading and writing."""
    path, read = tmp_path / "ledger.json", shared._file.read

    def read_before_a_change():
        text = read()
        path.write_text(text + "\n")
        return text

    shared._file.read = read_before_a_change
    with pytest.raises(PrivacyError, match="changed without it: nothing was recorded"):
        shared.enter("Releases", [Gaussian(9.0)], fit_id="one")
    shared._file.read = read
    assert len(entries(shared)) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_child_of_a_fork_cannot_use_a_ledger_in_memory(tmp_path):
    """Parent and child would each have the whole budget. A file serves both."""
    in_memory = PrivacyBudget(1.0, DELTA)
    in_file = PrivacyBudget(1.0, DELTA, path=tmp_path / "ledger.json")
    with warnings.catch_warnings():
        # The workers of other tests leave threads in this process.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        refused = 0
        try:
            in_file.reserve(gaussian(9.0), 1000)
            for use in (lambda: in_memory.reserve(gaussian(9.0), 1000), in_memory.to_json):
                try:
                    use()
                except PrivacyError as error:
                    refused += "path=..." in str(error)
        finally:
            os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    in_memory.reserve(gaussian(9.0), 1000)
    assert len(entries(in_memory)) == len(entries(in_file)) == 1


@posix
def test_an_entry_is_on_the_disk_before_its_fit_begins(shared, monkeypatch):
    """First the new text, then, after it has its name, the folder."""
    done, sync, replace = [], os.fsync, os.replace

    def recorded_sync(descriptor):
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "text")
        sync(descriptor)

    def recorded_replace(*names):
        done.append("name")
        replace(*names)

    monkeypatch.setattr(_ledger_file.os, "fsync", recorded_sync)
    monkeypatch.setattr(_ledger_file.os, "replace", recorded_replace)
    shared.enter("Releases", [], fit_id="one")
    assert done == ["text", "name", "folder"]


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["records"].pop(0),
        lambda content: content["records"].reverse(),
        lambda content: content["records"][0].update(mechanisms=[]),
        lambda content: content["records"][1]["mechanisms"][0].update(noise_multiplier=90.0),
        lambda content: content["records"][1].update(state="settled"),
        lambda content: content["records"][1].update(key=content["records"][0]["key"]),
        lambda content: content["records"][1].update(n=7),
        lambda content: content["rule"].update(gaussian_share=0.25),
        lambda content: content.update(mark="another"),
        lambda content: content.update(unit_name="patient"),
    ],
)
def test_a_ledger_that_was_changed_by_hand_is_refused(shared, tmp_path, change):
    """By those who know it and by those who do not, and they are told what to do."""
    path = tmp_path / "ledger.json"
    with_content(path, change)
    before = path.read_bytes()
    with pytest.raises(PrivacyError, match=r"changed by hand or damaged.*newest copy.*spend"):
        shared.reserve(gaussian(9.0), 1000)
    with pytest.raises(PrivacyError, match="changed by hand or damaged"):
        PrivacyBudget(1.0, DELTA, path=path)
    with pytest.raises(PrivacyError, match="changed by hand or damaged"):
        PrivacyBudget.from_json(path.read_text())
    assert path.read_bytes() == before


@pytest.mark.parametrize("n_left", [0, 1])
def test_records_that_are_cut_off_at_the_end_are_missed_by_whoever_saw_them(
    shared, tmp_path, n_left
):
    """What is left is a whole ledger by itself, so nobody else can know."""
    path = tmp_path / "ledger.json"
    with_content(path, lambda content: content["records"].__delitem__(slice(n_left, None)))
    with pytest.raises(PrivacyError, match="entries have disappeared"):
        shared.reserve(gaussian(9.0), 1000)
    assert len(entries(PrivacyBudget(1.0, DELTA, path=path))) == n_left


def test_every_number_type_of_a_grid_can_be_written(rows, tmp_path):
    """Candidates come out of NumPy ranges; a ledger that could not be written would stop them."""
    X, y = rows
    budget = PrivacyBudget(5.0, DELTA, path=tmp_path / "ledger.json")
    numbers = {"batch_size": np.int64(30), "n_epochs": np.float32(2.0)}
    DPSGDClassifier(noise_multiplier=np.float32(20.0), **numbers, budget=budget).fit(X, y)
    budget.spend(DPSGDClassifier(noise_multiplier=np.float64(20.0), **numbers).fit(X, y))
    assert len(entries(PrivacyBudget(5.0, DELTA, path=tmp_path / "ledger.json"))) == 2


@posix
def test_two_holders_of_a_lock_never_write_in_each_others_draft(shared, tmp_path, monkeypatch):
    """One whose lock was deleted, while the other one writes: what takes the name is its own."""
    path, late = tmp_path / "ledger.json", LockedFile(tmp_path / "ledger.json")
    copy_mode = shutil.copymode
    with late.locked():
        stale = late.read()
        (tmp_path / "ledger.json.lock").unlink()

        def meet(*names):
            monkeypatch.setattr(_ledger_file.shutil, "copymode", copy_mode)
            with pytest.raises(PrivacyError, match="nothing was recorded"):
                late.write(stale)
            copy_mode(*names)

        monkeypatch.setattr(_ledger_file.shutil, "copymode", meet)
        shared.enter("Releases", [Gaussian(9.0)], fit_id="one")
    assert "one" in entries(PrivacyBudget(1.0, DELTA, path=path))


@posix
def test_a_lock_that_the_system_refuses_is_closed_again(tmp_path, monkeypatch):
    """As on a network drive without locks: an open file in every try would use them all up."""

    def refuse(*_):
        raise OSError(37, "No locks available")

    opened = []

    def recorded_open(*args, **settings):
        opened.append(open(*args, **settings))  # noqa: SIM115
        return opened[-1]

    file = LockedFile(tmp_path / "ledger.json")
    monkeypatch.setattr(_ledger_file.fcntl, "flock", refuse)
    monkeypatch.setattr(_ledger_file, "open", recorded_open, raising=False)
    with pytest.raises(OSError, match="No locks available"), file.locked():
        pass
    assert opened
    left_open = [handle for handle in opened if not handle.closed]
    for handle in left_open:
        handle.close()
    assert not left_open


@pytest.mark.parametrize("kind", ["", ".", "a folder", "a path", "a link"])
def test_a_path_that_can_be_no_file_is_refused_before_anything_is_made(tmp_path, monkeypatch, kind):
    """The lock of a folder would stand beside it, among files that are nobody's business."""
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)
    if kind == "a link":
        (tmp_path / "link").symlink_to(inside)
    places = {"a folder": str(inside), "a path": inside, "a link": tmp_path / "link"}
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match=r"path=.*give the name of a file"):
        PrivacyBudget(1.0, DELTA, path=places.get(kind, kind))
    assert sorted(tmp_path.rglob("*")) == before

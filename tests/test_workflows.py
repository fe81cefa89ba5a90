"""What runs on the servers of the project: which code, with which rights."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RELEASE = ROOT / ".github" / "workflows" / "release.yml"
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*")


def used_actions(text):
    """What stands after each `uses:`, the comment included."""
    return re.findall(r"^\s*(?:- )?uses:\s*(.*?)\s*$", text, re.MULTILINE)


def jobs_of(path):
    """The text of each job, by its name."""
    _, jobs = path.read_text(encoding="utf-8").split("\njobs:\n")
    names_and_texts = re.split(r"^  ([\w-]+):\n", jobs, flags=re.MULTILINE)[1:]
    return dict(zip(names_and_texts[::2], names_and_texts[1::2], strict=True))


def permissions_of(job):
    """The lines below `permissions:` of one job; none where it names none."""
    found = re.search(r"^    permissions:\n((?:      .*\n)+)", job, re.MULTILINE)
    return [] if found is None else [line.strip() for line in found[1].splitlines()]


def pinned_versions(text):
    """Versions by package, from lines or strings such as `ruff==1.2.3`."""
    return dict(re.findall(r"([\w-]+)==([\w.]+)", text))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_to_a_digest_that_says_its_version(path):
    """Whoever takes over an action's repository can move its tags, but not change a digest."""
    actions = used_actions(path.read_text(encoding="utf-8"))
    assert actions
    assert [action for action in actions if not PINNED.fullmatch(action)] == []


@pytest.mark.parametrize(
    "action", ["actions/checkout@v4", "actions/checkout@main # v4.2.2", f"a/b@{'0' * 40}"]
)
def test_the_check_notices_actions_that_are_not_pinned(action):
    """A tag, a branch and a digest without its version are all refused."""
    assert used_actions(f"      - uses: {action}\n") == [action]
    assert not PINNED.fullmatch(action)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_may_only_read_unless_a_job_says_otherwise(path):
    """A step that is led astray, by a package that it installs, can then change nothing here."""
    before_the_jobs, _ = path.read_text(encoding="utf-8").split("\njobs:\n")
    assert "\npermissions:\n  contents: read\n" in before_the_jobs + "\n"
    wider = {name for name, job in jobs_of(path).items() if permissions_of(job)}
    assert wider == ({"publish"} if path == RELEASE else set())


def test_a_release_needs_no_secret():
    """PyPI trusts the workflow itself, so there is no token that could be stolen."""
    text = RELEASE.read_text(encoding="utf-8")
    for word in ("secrets", "password", "token:"):
        assert word not in text.replace("id-token:", "")


def test_the_publishing_job_may_do_nothing_but_name_itself():
    """Its one right is to prove to PyPI who it is; it checks out and builds nothing."""
    jobs = jobs_of(RELEASE)
    publish = jobs["publish"]
    assert permissions_of(publish) == ["id-token: write"]
    assert "    environment:\n      name: pypi\n" in publish
    assert "needs: build" in publish
    assert "run:" not in publish
    assert "actions/checkout" not in publish
    assert "attestations: true" in publish
    assert [name for name, job in jobs.items() if "id-token" in job] == ["publish"]


def test_the_matrix_names_the_oldest_supported_scikit_learn():
    """What pyproject.toml admits is what is tested."""
    oldest = pinned_versions((ROOT / ".ci" / "oldest.txt").read_text(encoding="utf-8"))
    version = oldest["scikit-learn"]
    matrix = jobs_of(ROOT / ".github" / "workflows" / "ci.yml")["tests"]
    assert f'sklearn: "=={version}"' in matrix
    assert f'"scikit-learn>={version}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_hooks_before_a_commit_have_the_versions_of_the_full_check():
    """Otherwise a commit that the hooks let pass fails later, or is rewritten back and forth."""
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    full = pinned_versions((ROOT / ".ci" / "style.txt").read_text(encoding="utf-8"))
    assert f"ruff-pre-commit\n    rev: v{full['ruff']}\n" in hooks
    local = pinned_versions(hooks)
    assert "mypy" in local
    assert local == {name: full[name] for name in local}

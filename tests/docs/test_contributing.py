"""The house as contributors read of it is the house as it is tested."""

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"`(\w+)`")


def table_of_the_house():
    """What each layer may import, by the table for contributors."""
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for row in re.findall(r"^\| (`.*) \|$", text, re.MULTILINE):
        layers, _, allowed = row.split("|")
        for layer in NAME.findall(layers):
            yield layer, set(NAME.findall(allowed))


def test_the_contributors_table_says_which_layer_may_import_which():
    """Who follows the table must not be stopped by the test, nor led past it."""
    tested = runpy.run_path(str(ROOT / "tests" / "test_architecture.py"))["MAY_IMPORT"]
    told = dict(table_of_the_house())
    assert told == {layer: allowed for layer, allowed in tested.items() if layer != "__init__"}

"""Beyond X itself, a fit takes a fixed amount of memory and a few numbers a row."""

import importlib.util
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc and sets RLIMIT_DATA"),
]

N_ROWS, N_FEATURES = 10**6, 50


@pytest.fixture(scope="module")
def measured():
    """The benchmarks' measurement of one fit in a fresh process."""
    path = Path(__file__).parent / "benchmarks" / "_memory.py"
    spec = importlib.util.spec_from_file_location("skdp_benchmark_memory", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.measured


@pytest.mark.parametrize("kind", ["ndarray", "csr"])
def test_a_fit_takes_at_most_64_mib_and_64_bytes_a_row_beyond_x(kind, measured):
    """X is never copied, and no temporary grows with the table: a copy of X would not fit.

    The data are made so that their making has no higher peak than they have themselves.
    """
    figures = measured(kind, N_ROWS, N_FEATURES)
    assert figures["beyond_x"] <= figures["bound"]


def test_a_read_only_memory_map_trains_within_a_limit_on_memory(measured, tmp_path):
    """Data larger than the memory: the limit leaves room for the bound, none for a copy of X."""
    figures = measured("memmap", N_ROWS, N_FEATURES, folder=tmp_path)
    assert figures["beyond_x"] <= figures["bound"] < figures["x_bytes"]

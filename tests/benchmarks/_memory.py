"""Peak memory of one fit, measured in a process of its own.

As a script, it makes data of one kind, fits, and prints what the fit took beyond them::

    OMP_NUM_THREADS=1 python tests/benchmarks/_memory.py ndarray 1000000 50 2

Linux only: it reads `/proc/self/status`. Kinds are `ndarray`, `csr` and `memmap`; the last is a
read-only map of a file in the folder given as a last argument, and is fitted under a limit on the
process's data (`RLIMIT_DATA`) that is reached when the fit takes more than the bound.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

import skdp
from skdp import DPSGDClassifier

MIB = 1 << 20
ENTRIES_PER_SPARSE_ROW = 20
NORMALS_PER_PIECE = 500_000


def bound(n_rows, n_features, n_classes=2):
    """Bytes that a fit may take beyond X: 64 MiB, 64 a row, and the model."""
    n_outputs = 1 if n_classes == 2 else n_classes
    return 64 * MIB + 64 * n_rows + 8 * (n_features + 1) * n_outputs


def measured(kind, n_rows, n_features, n_classes=2, folder=None):
    """Run this file as a fresh process and return what it prints.

    Returns
    -------
    figures : dict
        `beyond_x` and `bound` in bytes, `seconds` of the fit, `x_bytes`.
    """
    places = [str(Path(skdp.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, places)),
    }
    command = [sys.executable, __file__, kind, str(n_rows), str(n_features), str(n_classes)]
    with tempfile.TemporaryDirectory(dir=folder) as place:
        process = subprocess.run(
            [*command, place], env=environment, capture_output=True, text=True, check=False
        )
    if process.returncode:
        raise RuntimeError(process.stderr)
    return json.loads(process.stdout)


def status(field):
    """One figure of `/proc/self/status`, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return 1024 * int(line.split()[1])
    raise LookupError(field)


def filled(X, rng):
    """Standard normal rows, written a piece at a time."""
    n_piece = max(1, NORMALS_PER_PIECE // X.shape[1])
    for start in range(0, len(X), n_piece):
        piece = X[start : start + n_piece]
        piece[:] = rng.standard_normal(piece.shape)
    return X


def make_ndarray(n_rows, n_features, folder, rng):
    return filled(np.empty((n_rows, n_features)), rng)


def make_csr(n_rows, n_features, folder, rng):
    indices = np.empty((n_rows, ENTRIES_PER_SPARSE_ROW), dtype=np.int32)
    width = n_features // ENTRIES_PER_SPARSE_ROW
    for place in range(ENTRIES_PER_SPARSE_ROW):
        indices[:, place] = rng.integers(width * place, width * (place + 1), n_rows, dtype=np.int32)
    starts = np.arange(0, indices.size + 1, ENTRIES_PER_SPARSE_ROW, dtype=np.int32)
    data = rng.standard_normal(indices.size)
    return sparse.csr_matrix((data, indices.ravel(), starts), shape=(n_rows, n_features))


def make_memmap(n_rows, n_features, folder, rng):
    path = Path(folder) / "rows.dat"
    filled(np.memmap(path, dtype=np.float64, mode="w+", shape=(n_rows, n_features)), rng).flush()
    return np.memmap(path, dtype=np.float64, mode="r", shape=(n_rows, n_features))


MAKERS = {"ndarray": make_ndarray, "csr": make_csr, "memmap": make_memmap}


class Peak:
    """Largest value that a field of `/proc/self/status` has within the block, every 2 ms."""

    def __init__(self, field):
        self._field = field
        self._done = threading.Event()
        self._watch = threading.Thread(target=self._look)
        self.bytes = 0

    def _look(self):
        while not self._done.wait(0.002):
            self.bytes = max(self.bytes, status(self._field))

    def __enter__(self):
        self._watch.start()
        return self

    def __exit__(self, *error):
        self._done.set()
        self._watch.join()


def limit_data(extra):
    """Refuse this process more private memory than it has now and `extra` bytes."""
    import resource

    limit = status("VmData") + extra
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    return limit


def main(kind, n_rows, n_features, n_classes=2, folder="."):
    n_rows, n_features, n_classes = int(n_rows), int(n_features), int(n_classes)
    rng = np.random.default_rng(0)
    X = MAKERS[kind](n_rows, n_features, folder, rng)
    y = rng.integers(0, n_classes, n_rows)
    # No buffer depends on the number of steps, so a few passes tell as much as the default's 60.
    model = DPSGDClassifier(n_epochs=10, random_state=0)
    allowed = bound(n_rows, n_features, n_classes)
    # A map's own pages are the system's to drop; what the process cannot give back is anonymous.
    field = "RssAnon" if kind == "memmap" else "VmRSS"
    figures = {"bound": allowed}
    with Peak(field) as peak:
        before = status(field)
        if kind == "memmap":
            figures["data_limit"] = limit_data(allowed)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        figures["seconds"] = time.perf_counter() - start
    # The high-water mark misses nothing, but it exists for the whole resident set alone.
    high = peak.bytes if kind == "memmap" else status("VmHWM")
    x_bytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if kind == "csr" else X.nbytes
    print(json.dumps({**figures, "beyond_x": high - before, "x_bytes": x_bytes}))


if __name__ == "__main__":
    main(*sys.argv[1:])

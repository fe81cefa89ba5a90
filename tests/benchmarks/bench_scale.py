"""How the time of a step and the memory of a fit grow with rows, columns, classes and density.

Run it alone, with one thread; memory is measured on Linux only::

    OMP_NUM_THREADS=1 python tests/benchmarks/bench_scale.py

- Each table of times varies one size and leaves the others at 100,000 x 100, two classes, dense,
  batch 1,024. `over first` is the ratio to the first line, medians of alternating runs.
- The table of units fits with and without `privacy_unit`, with as many rows in a step, five a unit.
- The memory table is of fits of 10 epochs, all else at its default, each in a fresh process, beside
  the bound: 64 MiB, 64 bytes a row, and the model.
- `--memory-map folder` instead writes a map of 4 GB there and trains on it, read-only, within that
  bound on the process's private memory; it takes minutes.
- `--figure scale.png` also draws the tables of times.
"""

import argparse
import sys

import numpy as np
from _memory import MIB, measured
from _timing import medians
from bench_step import Case, private_steps, setup_only

from skdp import DPSGDClassifier
from skdp.linear_model._losses import loss_for
from skdp.mechanisms._noise import random_source

BASE = Case(100_000, 100, 1024, 100, target=float("nan"))
SERIES = {
    "rows": [BASE._replace(n_rows=n) for n in (10_000, 100_000, 1_000_000)],
    "columns": [BASE._replace(n_features=d) for d in (10, 100, 1000)],
    "classes": [BASE._replace(n_classes=k) for k in (2, 3, 10, 30)],
    "density": [
        BASE._replace(n_features=10_000, density=density) for density in (0.0005, 0.002, 0.008)
    ],
}
MEMORY = [
    ("ndarray", 100_000, 50, 2),
    ("ndarray", 300_000, 50, 2),
    ("ndarray", 1_000_000, 50, 2),
    ("ndarray", 100_000, 500, 2),
    ("ndarray", 100_000, 50, 10),
    ("csr", 100_000, 50, 2),
    ("csr", 1_000_000, 50, 2),
    ("memmap", 1_000_000, 50, 2),
]
# Rows, columns and classes; five rows a unit, a thousand rows a step.
UNITS = [(50_000, 30, 2), (50_000, 100, 2), (300_000, 30, 2), (50_000, 30, 5)]
N_RUNS = 7


def step_times(cases):
    """Median seconds of one step of each case, setup not counted, all cases in turn."""
    runs = {}
    for case in cases:
        X, targets, loss, plan = case.rows(), case.targets(), loss_for(case.n_classes), case.plan()
        runs[case, "setup"] = lambda X=X, t=targets, loss=loss, plan=plan: setup_only(
            X, t, loss, plan
        )
        runs[case, "all"] = lambda X=X, t=targets, loss=loss, plan=plan: private_steps(
            X, t, loss, plan, random_source(0, "batches"), random_source(0, "noise")
        )
    spent = medians(runs, N_RUNS)
    return [(spent[case, "all"] - spent[case, "setup"]) / case.n_steps for case in cases]


def time_tables():
    """Print every series, and return its times."""
    times = {}
    for name, cases in SERIES.items():
        times[name] = step_times(cases)
        print(f"{'by ' + name:48} {'us a step':>10} {'over first':>10}")
        for case, step in zip(cases, times[name], strict=True):
            print(f"{case!s:48} {1e6 * step:10.1f} {step / times[name][0]:10.2f}")
    return times


def unit_table(n_steps=100, rows_a_unit=5, rows_a_step=1000):
    """Whole fits over their steps: the sorting of the rows by unit is in them."""
    print(f"{'microseconds a step of a fit':48} {'rows':>10} {'units':>10} {'ratio':>10}")
    for n_rows, n_features, n_classes in UNITS:
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(n_rows, n_features)), rng.integers(0, n_classes, n_rows)
        unit = np.arange(n_rows) // rows_a_unit
        settings = {
            "noise_multiplier": 2.0,
            "n_epochs": n_steps * rows_a_step / n_rows,
            "random_state": 0,
        }
        rows = DPSGDClassifier(batch_size=rows_a_step, **settings)
        units = DPSGDClassifier(batch_size=rows_a_step // rows_a_unit, **settings)
        spent = medians(
            {
                "rows": lambda X=X, y=y, model=rows: model.fit(X, y),
                "units": lambda X=X, y=y, model=units, u=unit: model.fit(X, y, privacy_unit=u),
            },
            N_RUNS,
        )
        shape = f"{n_rows} x {n_features}, {n_classes} classes"
        by_rows, by_units = (1e6 * spent[name] / n_steps for name in ("rows", "units"))
        print(f"{shape:48} {by_rows:10.0f} {by_units:10.0f} {by_units / by_rows:10.2f}")


def print_memory(kind, n_rows, n_features, n_classes, folder=None):
    figures = measured(kind, n_rows, n_features, n_classes, folder)
    shape = f"{kind}, {n_rows} x {n_features}, {n_classes} classes"
    print(
        f"{shape:48} {figures['x_bytes'] / MIB:8.0f} {figures['beyond_x'] / MIB:10.1f} "
        f"{figures['bound'] / MIB:8.1f} {figures['seconds']:8.1f}",
        flush=True,
    )
    return figures


def memory_table():
    print(f"{'MiB of a fit of 10 epochs':48} {'X':>8} {'beyond X':>10} {'bound':>8} {'seconds':>8}")
    for case in MEMORY:
        print_memory(*case)


def memory_map(folder):
    """4 GB of float64, more than twice what the process may hold."""
    figures = print_memory("memmap", 10_000_000, 50, 2, folder)
    print(f"limit on the process's data: {figures['data_limit'] / MIB:.0f} MiB")


def size_of(name, case):
    field = {
        "rows": "n_rows", "columns": "n_features", "classes": "n_classes", "density": "density",
    }  # fmt: skip
    return getattr(case, field[name])


def draw(times, path):
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(times), figsize=(12, 3), layout="constrained")
    for panel, (name, steps) in zip(panels, times.items(), strict=True):
        sizes = [size_of(name, case) for case in SERIES[name]]
        panel.loglog(sizes, [1e6 * step for step in steps], "o-")
        panel.set(xlabel=name, ylim=(10, 1e4))
        panel.set_xticks(sizes, [f"{size:g}" for size in sizes])
        panel.minorticks_off()
    panels[0].set_ylabel("microseconds a step")
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memory-map", metavar="FOLDER")
    parser.add_argument("--figure", metavar="PATH")
    options = parser.parse_args()
    if options.memory_map:
        memory_map(options.memory_map)
        return
    times = time_tables()
    unit_table()
    if sys.platform == "linux":
        memory_table()
    if options.figure:
        draw(times, options.figure)


if __name__ == "__main__":
    main()

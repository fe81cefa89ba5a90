"""Time of one private step over a loop written by hand on the same batches.

Run it alone, with one thread::

    OMP_NUM_THREADS=1 python tests/benchmarks/bench_step.py

A step is everything after the setup: drawing the batch, gathering its rows, clipping, summing, the
noise, the update. Each row of the table is from alternating runs; ratios are of medians.

- `over loop`: over the same step of a plain NumPy loop (SciPy for CSR), which gets its batches for
  free, clips nothing and draws no noise; `over noisy loop`: that loop draws the same noise.
- `system`: the same step with noise and batches from `os.urandom` instead of a seeded generator.
- `copy`: what reading the batch's bytes once would take at the bandwidth of a large copy.
- The last lines give the full batch beside the machine's read bandwidth, and the noise alone.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from _timing import (
    copy_bandwidth,
    medians,
    plain_logistic,
    plain_softmax,
    poisson_batches,
    read_bandwidth,
)
from scipy import sparse

from skdp.linear_model._losses import loss_for
from skdp.mechanisms._gradient import NoisyGradient
from skdp.mechanisms._gradient_plan import GradientPlan
from skdp.mechanisms._noise import SystemSource, random_source

N_RUNS = 9
RATE = 0.1


class Case(NamedTuple):
    """One size of data, and the ratio that is aimed at."""

    n_rows: int
    n_features: int
    batch_size: int
    n_steps: int
    target: float
    n_classes: int = 2
    density: float = 1.0

    def __str__(self):
        density = "" if self.density == 1.0 else f" CSR {100 * self.density:g}%"
        classes = "" if self.n_classes == 2 else f", {self.n_classes} classes"
        return f"{self.n_rows} x {self.n_features}{density}, batch {self.batch_size}{classes}"

    def rows(self):
        rng = np.random.default_rng(0)
        if self.density == 1.0:
            return rng.standard_normal((self.n_rows, self.n_features))
        return random_csr(self.n_rows, self.n_features, self.density, rng)

    def targets(self):
        codes = np.random.default_rng(1).integers(0, self.n_classes, self.n_rows)
        return loss_for(self.n_classes).targets(codes)

    def plan(self):
        return GradientPlan(self.n_rows, float(self.batch_size), self.n_steps, 1.0, 1.0)


CASES = [
    Case(800, 20, 64, 1000, 1.3),
    Case(36_000, 104, 256, 1000, 1.05),
    Case(100_000, 100, 1024, 300, 1.05),
    Case(60_000, 784, 4096, 20, 1.05),
    Case(60_000, 784, 4096, 15, 1.1, n_classes=10),
    Case(100_000, 10_000, 1024, 200, 1.3, density=0.002),
]


def random_csr(n_rows, n_features, density, rng):
    """Standard normal entries; each row has the same number of them, in distinct columns."""
    per_row = max(1, round(density * n_features))
    width = n_features // per_row
    indices = width * np.arange(per_row) + rng.integers(0, width, (n_rows, per_row))
    starts = np.arange(0, indices.size + 1, per_row)
    data = rng.standard_normal(indices.size)
    return sparse.csr_matrix((data, indices.ravel(), starts), shape=(n_rows, n_features))


def private_steps(X, targets, loss, plan, sampling, noise):
    """The setup now; all the steps when called."""
    gradient = NoisyGradient(
        X, targets, loss, plan, sampling=sampling, noise=noise, fit_intercept=True
    )
    weights = np.zeros(gradient.n_weights)
    for _ in range(plan.n_steps):
        release = gradient(weights)
        release *= RATE / plan.batch_size
        weights -= release[:-1]


def setup_only(X, targets, loss, plan):
    NoisyGradient(
        X, targets, loss, plan, sampling=SystemSource(), noise=SystemSource(), fit_intercept=True
    )


def batch_bytes(X, batch_size):
    size = X.data.nbytes + X.indices.nbytes if sparse.issparse(X) else X.nbytes
    return size * batch_size / X.shape[0]


def run_case(case, bandwidth):
    """Time one case and print its row."""
    X, targets, loss, plan = case.rows(), case.targets(), loss_for(case.n_classes), case.plan()
    batches = poisson_batches(case.n_rows, plan.sample_rate, case.n_steps)
    generator = np.random.default_rng(2)

    def seeded():
        private_steps(X, targets, loss, plan, random_source(0, "batches"), random_source(0, "n"))

    def system():
        private_steps(X, targets, loss, plan, SystemSource(), SystemSource())

    def loop(noise=None):
        if case.n_classes > 2:
            return plain_softmax(
                X, targets, batches, batch_size=case.batch_size, n_classes=case.n_classes
            )
        return plain_logistic(X, targets, batches, batch_size=case.batch_size, noise=noise)

    runs = {"setup": lambda: setup_only(X, targets, loss, plan)}
    runs |= {"seeded": seeded, "system": system, "loop": loop}
    if case.density < 1.0:
        runs["noisy loop"] = lambda: loop(generator)
    spent = {name: 1e6 * value / case.n_steps for name, value in medians(runs, N_RUNS).items()}
    ours, system_step = spent["seeded"] - spent["setup"], spent["system"] - spent["setup"]
    ratios = {name: ours / spent[name] for name in ("loop", "noisy loop") if name in spent}
    judged = ratios.get("noisy loop", ratios["loop"])
    over_noisy = f"{ratios['noisy loop']:.2f}" if "noisy loop" in ratios else "-"
    copy = 1e6 * batch_bytes(X, case.batch_size) / bandwidth
    print(
        f"{case!s:44} {ours:9.1f} {system_step:9.1f} {spent['loop']:9.1f} {copy:7.1f} "
        f"{ratios['loop']:9.2f} {over_noisy:>10} "
        f"{case.target:6.2f} {'yes' if judged <= case.target else 'NO'}",
        flush=True,
    )


def run_full_batch(n_rows=200_000, n_features=100, n_steps=20):
    """A full batch reads X once a step: its bytes over its time, beside what the core can read."""
    case = Case(n_rows, n_features, n_rows, n_steps, target=np.nan)
    X, targets, loss, plan = case.rows(), case.targets(), loss_for(2), case.plan()
    runs = {
        "setup": lambda: setup_only(X, targets, loss, plan),
        "all": lambda: private_steps(
            X, targets, loss, plan, random_source(0, "batches"), random_source(0, "n")
        ),
        "read": lambda: X.ravel().dot(X.ravel()),
    }
    spent = medians(runs, N_RUNS)
    step = (spent["all"] - spent["setup"]) / n_steps
    print(
        f"full batch, {n_rows} x {n_features}: {1e3 * step:.1f} ms a step, "
        f"{X.nbytes / step / 1e9:.1f} GB/s of {X.nbytes / spent['read'] / 1e9:.1f} GB/s read: "
        f"{spent['read'] / step:.0%} (target 60 %)"
    )


def run_noise(repeats=2001):
    """Noise for one step, by the generator and by the operating system, drawn in blocks."""
    for size in (21, 105, 785):
        steps = max(1, (1 << 14) // size)
        shape = (steps, size)
        runs = {
            name: partial(source.normal, shape)
            for name, source in (("seeded", random_source(0, "n")), ("system", SystemSource()))
        }
        spent = {name: 1e6 * value / steps for name, value in medians(runs, repeats // 20).items()}
        print(
            f"noise for {size} coordinates: seeded {spent['seeded']:.1f} us, "
            f"system {spent['system']:.1f} us"
        )


def main():
    large = np.random.default_rng(0).standard_normal(20_000_000)
    bandwidth = copy_bandwidth(large)
    print(f"copy {bandwidth / 1e9:.1f} GB/s, read {read_bandwidth(large) / 1e9:.1f} GB/s")
    del large
    print(
        f"{'microseconds a step':44} {'skdp':>9} {'system':>9} {'loop':>9} {'copy':>7} "
        f"{'over loop':>9} {'over noisy':>10} {'target':>6}"
    )
    for case in CASES:
        run_case(case, bandwidth)
    run_full_batch()
    run_noise()


if __name__ == "__main__":
    main()

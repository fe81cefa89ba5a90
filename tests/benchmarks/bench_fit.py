"""Time to a fitted model, accounting included, beside models without privacy and other packages.

Run it alone, with one thread::

    SKDP_DATA=folder OMP_NUM_THREADS=1 python tests/benchmarks/bench_fit.py

`folder` holds `adult.npz` (arrays `X`, `y`); without it, a made table of adult's size stands in.
Figures are medians of alternating runs and their ratios. A "first fit" starts with an empty cache
of accounting results; later fits with equal settings find theirs there. diffprivlib and Opacus
are run where they can be imported; no other package's figure is quoted.
"""

import importlib
import os
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from _timing import medians, plain_logistic, poisson_batches, seconds
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

import skdp
from skdp import DPSGDClassifier
from skdp.linear_model import _dpsgd
from skdp.mechanisms._noise import random_source
from skdp.privacy._accountant import _cost
from skdp.privacy._calibration import _noise_multiplier

N_RUNS = 31
N_RUNS_OF_SLOW = 5


def tutorial_data():
    """The first 800 of 1,000 standardised rows."""
    X, y = make_classification(
        n_samples=1000,
        n_features=20,
        n_informative=10,
        n_redundant=5,
        flip_y=0.05,
        random_state=42,
    )
    return StandardScaler().fit(X[:800]).transform(X[:800]), y[:800]


def adult_data():
    """Adult, standardised; or a made table of its size. And which of the two it is."""
    folder = os.environ.get("SKDP_DATA")
    if folder is None:
        X, y = make_classification(
            n_samples=36_177, n_features=104, n_informative=20, weights=[0.75], random_state=0
        )
        return StandardScaler().fit_transform(X), y, "made, 36177 x 104"
    with np.load(Path(folder) / "adult.npz") as stored:
        X, y = stored["X"].astype(np.float64), stored["y"].astype(np.int64)
    return StandardScaler().fit_transform(X), y, f"adult, {X.shape[0]} x {X.shape[1]}"


def importable(name):
    """Whether a package is there and works with the installed scikit-learn."""
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def forget_accounting():
    _cost.cache_clear()
    _noise_multiplier.cache_clear()


def first_fit(model, X, y):
    forget_accounting()
    model.fit(X, y)


def print_times(title, spent, ours):
    """Every time, and ours over it."""
    print(title)
    for name, value in spent.items():
        print(f"  {name:52} {1e3 * value:9.2f} ms  skdp over this: {spent[ours] / value:8.4f}")


def diffprivlib_fit(X, y):
    """Its row bound is 1.5 sqrt(d): untuned, and no look at the rows."""
    from diffprivlib.models import LogisticRegression as PrivateLogisticRegression

    bound = 1.5 * X.shape[1] ** 0.5
    PrivateLogisticRegression(epsilon=1.0, data_norm=bound, random_state=0).fit(X, y)


def opacus_training(X, y, *, n_epochs=30, batch_size=64, rate=0.1):
    """Opacus' own training loop: its Poisson data loader, hooks and optimiser."""
    import torch
    from opacus import PrivacyEngine

    rows = torch.utils.data.TensorDataset(torch.from_numpy(X).float(), torch.from_numpy(y).float())
    module = torch.nn.Linear(X.shape[1], 1)
    module, optimizer, loader = PrivacyEngine().make_private(
        module=module,
        optimizer=torch.optim.SGD(module.parameters(), lr=rate),
        data_loader=torch.utils.data.DataLoader(rows, batch_size=batch_size),
        noise_multiplier=0.5,
        max_grad_norm=1.0,
    )
    loss = torch.nn.BCEWithLogitsLoss()
    for _ in range(n_epochs):
        for batch, labels in loader:
            optimizer.zero_grad()
            loss(module(batch)[:, 0], labels).backward()
            optimizer.step()


def opacus_steps(X, y, batches, *, batch_size=64, rate=0.1):
    """Opacus' hooks and optimiser on given batches; accountant and data loader left out."""
    import torch
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    rows, labels = torch.from_numpy(X).double(), torch.from_numpy(y).double()
    module = GradSampleModule(torch.nn.Linear(X.shape[1], 1).double())
    optimizer = DPOptimizer(
        torch.optim.SGD(module.parameters(), lr=rate),
        noise_multiplier=0.5,
        max_grad_norm=1.0,
        expected_batch_size=batch_size,
    )
    loss = torch.nn.BCEWithLogitsLoss()
    for batch in batches:
        optimizer.zero_grad()
        loss(module(rows[batch])[:, 0], labels[batch]).backward()
        optimizer.step()


def tutorial():
    """800 rows, 20 columns, batch 64, 375 steps, the noise given."""
    X, y = tutorial_data()
    model = DPSGDClassifier(noise_multiplier=0.5, average=False, random_state=0)
    system = DPSGDClassifier(noise_multiplier=0.5, average=False)
    sampling = random_source(0, "DPSGDClassifier", "gradient", "sampling")
    batches = poisson_batches(800, 0.08, model.fit(X, y).n_steps_, sampling)
    runs = {
        "skdp, first fit": lambda: first_fit(model, X, y),
        "skdp": lambda: model.fit(X, y),
        "skdp, noise from os.urandom": lambda: system.fit(X, y),
        "NumPy loop, same batches": lambda: plain_logistic(X, y, batches, batch_size=64),
        "SGDClassifier, 30 epochs": lambda: SGDClassifier(
            loss="log_loss", max_iter=30, tol=None, random_state=0
        ).fit(X, y),
        "LogisticRegression": lambda: LogisticRegression().fit(X, y),
    }
    spent = medians(runs, N_RUNS)
    if importable("opacus"):
        import torch

        torch.set_num_threads(1)
        theirs = {
            "Opacus, its training loop, 390 steps": lambda: opacus_training(X, y),
            "Opacus, its optimiser alone, same batches": lambda: opacus_steps(X, y, batches),
        }
        spent |= medians(theirs, N_RUNS_OF_SLOW)
    print_times(
        f"tutorial, 800 x 20, {len(batches)} steps (target 30 ms)", spent, "skdp, first fit"
    )


def adult():
    """A budget, and all else left at its default."""
    X, y, name = adult_data()
    runs = {
        "skdp, first fit": lambda: first_fit(DPSGDClassifier(epsilon=1.0, random_state=0), X, y),
        "skdp, noise from os.urandom": lambda: DPSGDClassifier(epsilon=1.0).fit(X, y),
        "LogisticRegression(max_iter=200)": lambda: LogisticRegression(max_iter=200).fit(X, y),
        "SGDClassifier": lambda: SGDClassifier(loss="log_loss", random_state=0).fit(X, y),
    }
    if importable("diffprivlib"):
        runs["diffprivlib LogisticRegression"] = lambda: diffprivlib_fit(X, y)
    print_times(f"{name}, epsilon 1 (target: at most 4)", medians(runs, 5), "skdp, first fit")


def search():
    """Share of a search's wall time that goes to plans, in which all accounting happens."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    planning = []
    make_plan = _dpsgd.make_plan

    def timed_plan(*args, **kwargs):
        start = time.perf_counter()
        plan = make_plan(*args, **kwargs)
        planning.append(time.perf_counter() - start)
        return plan

    grid = {"epsilon": [0.5, 1.0, 2.0, 4.0]}
    _dpsgd.make_plan = timed_plan
    shares, walls = [], []
    try:
        for _ in range(N_RUNS_OF_SLOW):
            planning.clear()
            forget_accounting()
            model = GridSearchCV(DPSGDClassifier(random_state=0), grid, cv=5)
            walls.append(seconds(lambda model=model: model.fit(X, y)))
            shares.append(sum(planning) / walls[-1])
    finally:
        _dpsgd.make_plan = make_plan
    print(
        f"GridSearchCV, 4 budgets x 5 folds, breast cancer: {1e3 * statistics.median(walls):.0f} "
        f"ms, accounting {statistics.median(shares):.0%} of it (target: below 30 %)"
    )


def imports():
    """Time to import, in fresh processes: what skdp adds to scikit-learn."""
    place = {**os.environ, "PYTHONPATH": str(Path(skdp.__file__).parents[1])}

    def timed_import(names):
        code = f"import time; t = time.perf_counter(); import {names}; print(time.perf_counter()-t)"
        process = subprocess.run(
            [sys.executable, "-c", code], env=place, capture_output=True, text=True, check=True
        )
        return float(process.stdout)

    spent = {"sklearn": [], "sklearn, skdp": []}
    for _ in range(N_RUNS_OF_SLOW):
        for names, times in spent.items():
            times.append(timed_import(names))
    alone, both = (1e3 * statistics.median(times) for times in spent.values())
    # Loaded by any fit of a linear model, whoever makes it.
    linear = 1e3 * statistics.median(
        timed_import("sklearn.linear_model") for _ in range(N_RUNS_OF_SLOW)
    )
    print(
        f"import sklearn {alone:.0f} ms; skdp adds {both - alone:.0f} ms (target 50 ms); "
        f"import sklearn.linear_model {linear:.0f} ms"
    )


def main():
    warnings.simplefilter("ignore")
    tutorial()
    adult()
    search()
    imports()


if __name__ == "__main__":
    main()

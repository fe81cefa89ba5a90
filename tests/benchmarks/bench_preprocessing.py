"""What private preprocessing costs a pipeline in accuracy, at one total budget.

Two questions, on one fixed split (a fifth held out, stratified, seed 0), columns as they are::

    SKDP_DATA=folder OMP_NUM_THREADS=1 python tests/benchmarks/bench_preprocessing.py

- Standardising: `DPStandardScaler(0.1)` with bounds typed in without a look at the rows, and
  `DPSGDClassifier(0.9)`, against the classifier alone at 1.0 behind scikit-learn's
  `StandardScaler`, which looks at the rows for free (and so promises nothing).
- No bounds: what `DPMaxAbsScaler` with a tenth of the budget is worth against the raw columns, a
  clip of the rows' norms, and public bounds, at several budgets.

Without `SKDP_DATA` the first ten columns of breast_cancer, which scikit-learn ships, are run.
"""

import argparse
import math
import os
from pathlib import Path

import numpy as np
from bench_accuracy import DELTA, Scores, load, print_header, print_row, score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skdp import DPSGDClassifier
from skdp.preprocessing import BoundedScaler, DPMaxAbsScaler, DPStandardScaler, RowNormClipper
from skdp.privacy import get_epsilon

# Known without the rows: units, scales of questionnaires, round numbers. All other columns of
# these tables are one-hot.
BOUNDS = {
    "adult": {
        "age": (17, 90),
        "fnlwgt": (0, 1_000_000),
        "education-num": (1, 16),
        "capital-gain": (0, 100_000),
        "capital-loss": (0, 5000),
        "hours-per-week": (0, 100),
    },
    "credit_default": {
        "LIMIT_BAL": (0, 1_000_000),
        "AGE": (18, 90),
        **{f"PAY_{month}": (-2, 9) for month in range(7)},
        **{f"BILL_AMT{month}": (-1_000_000, 1_000_000) for month in range(1, 7)},
        **{f"PAY_AMT{month}": (0, 1_000_000) for month in range(1, 7)},
    },
    # Frequencies of words and characters in per cent, then lengths of runs of capitals.
    "spambase": {
        **{f"{column}": (0, 100) for column in range(54)},
        "54": (1, 10_000),
        "55": (1, 10_000),
        "56": (1, 20_000),
    },
}
# Mean radius, texture, perimeter and so on, as in the classifier's docstring.
BREAST_CANCER = (
    [6, 9, 43, 143, 0.05, 0.01, 0, 0, 0.1, 0.04],
    [29, 40, 189, 2501, 0.17, 0.35, 0.43, 0.21, 0.31, 0.1],
)
SHARE = 0.1


def raw_split(name):
    """Training and held-out rows in their own units, their labels, and public bounds."""
    X, y = load(name)
    if name == "breast_cancer":
        X, bounds = X[:, :10], BREAST_CANCER
    else:
        with np.load(Path(os.environ["SKDP_DATA"]) / f"{name}.npz") as stored:
            names = stored["names"].astype(str)
        pairs = [BOUNDS[name].get(column, (0, 1)) for column in names]
        bounds = tuple(np.array(pairs, dtype=np.float64).T)
    return train_test_split(X, y, test_size=0.2, random_state=0, stratify=y), bounds


def measured(make, n_seeds, data):
    """Mean scores over the seeds, the standard error of the accuracy, and the whole epsilon."""
    X_train, X_test, y_train, y_test = data
    runs, releases = [], []
    for seed in range(n_seeds):
        model = make(seed).fit(X_train, y_train)
        runs.append(score(model, X_test, y_test))
        private = [step for _, step in model.steps if hasattr(step, "_privacy_releases")]
        releases = [release for step in private for release in step._privacy_releases()]
    error = np.std([run.accuracy for run in runs], ddof=1) / math.sqrt(n_seeds)
    return Scores(*np.mean(runs, axis=0)), error, get_epsilon(releases, DELTA)


def behind(*steps_of):
    """Pipelines by seed: the last entry is the classifier's budget, the others make scalers."""
    *scalers, epsilon = steps_of
    return lambda seed: make_pipeline(
        *(make(seed) for make in scalers),
        DPSGDClassifier(epsilon=epsilon, delta=DELTA, random_state=seed),
    )


def private_standard(epsilon, bounds):
    return lambda seed: DPStandardScaler(epsilon, delta=DELTA, bounds=bounds, random_state=seed)


def private_max_abs(epsilon, power=1.0):
    return lambda seed: DPMaxAbsScaler(epsilon, delta=DELTA, power=power, random_state=seed)


def standardising_table(names, n_seeds):
    """The private pipeline against free standardisation, at a total of 1."""
    print(f"Standardising, total epsilon 1, {n_seeds} seeds: accuracy / AUC / log loss\n")
    columns = ["data", "StandardScaler, 1.0", "DPStandardScaler 0.1, classifier 0.9"]
    print_header([*columns, "± accuracy", "difference in points", "composed epsilon"])
    for name in names:
        data, bounds = raw_split(name)
        free, free_error, _ = measured(behind(lambda _: StandardScaler(), 1.0), n_seeds, data)
        pipeline = behind(private_standard(0.1, bounds), 0.9)
        ours, error, epsilon = measured(pipeline, n_seeds, data)
        points = 100 * (ours.accuracy - free.accuracy)
        spread = math.hypot(free_error, error)
        print_row([name, free, ours, f"{spread:.4f}", f"{points:+.2f}", f"{epsilon:.3f}"])
    print()


def without_bounds(epsilon, bounds):
    """Ways to prepare columns, by name; one total budget each."""
    left, part = (1 - SHARE) * epsilon, SHARE * epsilon
    within = private_standard(part / 2, (-1, 1))
    return {
        "not private: StandardScaler": behind(lambda _: StandardScaler(), epsilon),
        "raw columns": behind(epsilon),
        "RowNormClipper(10)": behind(lambda _: RowNormClipper(10.0), epsilon),
        "RowNormClipper(1000)": behind(lambda _: RowNormClipper(1000.0), epsilon),
        "BoundedScaler, wide bounds": behind(lambda _: BoundedScaler(bounds), epsilon),
        "DPStandardScaler, wide bounds": behind(private_standard(part, bounds), left),
        "DPMaxAbsScaler": behind(private_max_abs(part), left),
        "DPMaxAbsScaler, signed root": behind(private_max_abs(part, power=0.5), left),
        "DPMaxAbsScaler, DPStandardScaler": behind(private_max_abs(part / 2), within, left),
    }


def without_bounds_table(names, epsilons, n_seeds):
    """Preparations of raw columns against each other."""
    print(f"Without bounds, {n_seeds} seeds: accuracy / AUC / log loss\n")
    print_header(["data", "epsilon", "columns", "scores", "± accuracy", "composed epsilon"])
    for name in names:
        data, bounds = raw_split(name)
        for epsilon in epsilons:
            for way, make in without_bounds(epsilon, bounds).items():
                means, error, total = measured(make, n_seeds, data)
                print_row([name, f"{epsilon:g}", way, means, f"{error:.4f}", f"{total:.3f}"])
    print()


def main():
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    stored = "SKDP_DATA" in os.environ
    bounded = ["adult", "credit_default"] if stored else ["breast_cancer"]
    unbounded = ["credit_default", "spambase"] if stored else ["breast_cancer"]
    standardising_table(bounded, options.seeds)
    without_bounds_table(unbounded, (0.1, 0.3, 1.0), options.seeds)


if __name__ == "__main__":
    main()

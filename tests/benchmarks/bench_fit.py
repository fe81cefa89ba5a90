"""Time of a whole private fit over a plain NumPy minibatch loop on the same batches.

The tutorial's configuration: 800 rows, 20 columns, batch 64, 375 steps. Run it alone, with one
thread::

    OMP_NUM_THREADS=1 python tests/benchmarks/bench_fit.py

It prints medians of alternating runs and their ratio. The fits after the first answer their
accounting from its cache; the first one's time stands beside them.
"""

import statistics
import time
import warnings

import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from skdp import DPSGDClassifier, PrivacyWarning
from skdp.mechanisms._noise import random_source
from skdp.mechanisms._sampling import poisson_blocks

N_RUNS = 101


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


def plain_sgd(X, y, batches, *, rate=0.1, batch_size=64):
    """Minibatch logistic regression as one would write it by hand."""
    coef, intercept = np.zeros(X.shape[1]), 0.0
    for batch in batches:
        rows, labels = X[batch], y[batch]
        residual = 1.0 / (1.0 + np.exp(-(rows @ coef + intercept))) - labels
        coef -= rate * (rows.T @ residual) / batch_size
        intercept -= rate * residual.sum() / batch_size
    return coef, intercept


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main():
    """Print the two medians and their ratio."""
    X, y = tutorial_data()
    model = DPSGDClassifier(noise_multiplier=0.5, average=False, random_state=0)

    def private():
        model.fit(X, y)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        first = seconds(private)
        sampling = random_source(0, "DPSGDClassifier", "gradient", "sampling")
        batches = [
            block.rows[start:stop]
            for block in poisson_blocks(800, 0.08, model.n_steps_, sampling)
            for start, stop in zip([0, *block.stops], block.stops, strict=False)
        ]
        ours, plain = [], []
        for _ in range(N_RUNS):
            ours.append(seconds(private))
            plain.append(seconds(lambda: plain_sgd(X, y, batches)))
    fit, loop = statistics.median(ours), statistics.median(plain)
    print(f"first fit, accounting included:  {1e3 * first:7.2f} ms")
    print(f"fit, accounting from the cache:  {1e3 * fit:7.2f} ms ({model.n_steps_} steps)")
    print(f"plain NumPy loop, same batches:  {1e3 * loop:7.2f} ms")
    print(f"ratio of medians:                {fit / loop:7.2f}")


if __name__ == "__main__":
    main()

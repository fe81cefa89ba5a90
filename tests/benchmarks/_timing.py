"""What the speed benchmarks share: alternating runs, batches, hand-written loops, bandwidth."""

import statistics
import time

import numpy as np

from skdp.mechanisms._noise import random_source
from skdp.mechanisms._sampling import poisson_blocks


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def medians(runs, repeats):
    """Median seconds of each function, all of them run in turn, `repeats` times.

    Parameters
    ----------
    runs : dict of str to callable
        What to time. In turn, so that a slow moment of the machine hits them all.
    repeats : int
        How often, after one round that is not counted.
    """
    times = {name: [] for name in runs}
    for repeat in range(repeats + 1):
        for name, function in runs.items():
            spent = seconds(function)
            if repeat:
                times[name].append(spent)
    return {name: statistics.median(spent) for name, spent in times.items()}


def poisson_batches(n_rows, sample_rate, n_steps, source=None):
    """Index arrays, as the trainer draws them."""
    source = source or random_source(0, "batches")
    return [
        block.rows[start:stop]
        for block in poisson_blocks(n_rows, sample_rate, n_steps, source)
        for start, stop in zip([0, *block.stops], block.stops, strict=False)
    ]


def plain_logistic(X, targets, batches, *, batch_size, rate=0.1, noise=None):
    """Minibatch logistic regression as one would write it by hand, for arrays and for CSR.

    Parameters
    ----------
    noise : Generator or None
        Adds standard normal noise to every coordinate of every step.
    """
    coef, intercept = np.zeros(X.shape[1]), 0.0
    for batch in batches:
        rows, labels = X[batch], targets[batch]
        residual = 1.0 / (1.0 + np.exp(-(rows @ coef + intercept))) - labels
        coef_sum, intercept_sum = rows.T @ residual, residual.sum()
        if noise is not None:
            coef_sum += noise.standard_normal(len(coef))
            intercept_sum += noise.standard_normal()
        coef -= rate * coef_sum / batch_size
        intercept -= rate * intercept_sum / batch_size
    return coef, intercept


def plain_softmax(X, targets, batches, *, batch_size, n_classes, rate=0.1):
    """Minibatch softmax regression as one would write it by hand."""
    coef, intercept = np.zeros((X.shape[1], n_classes)), np.zeros(n_classes)
    for batch in batches:
        rows, labels = X[batch], targets[batch]
        scores = rows @ coef + intercept
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        shares[np.arange(len(labels)), labels] -= 1.0
        coef -= rate * (rows.T @ shares) / batch_size
        intercept -= rate * shares.sum(axis=0) / batch_size
    return coef, intercept


def read_bandwidth(array, repeats=7):
    """Bytes a second at which one core reads an array: the best of a dot product with itself."""
    flat = array.ravel()
    return flat.nbytes / min(seconds(lambda: flat.dot(flat)) for _ in range(repeats))


def copy_bandwidth(array, repeats=7):
    """Bytes a second of a copy, read and written together."""
    target = np.empty_like(array)
    return 2 * array.nbytes / min(seconds(lambda: np.copyto(target, array)) for _ in range(repeats))

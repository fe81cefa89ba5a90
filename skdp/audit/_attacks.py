"""The two attacks of an audit: many canaries in one run, or one canary in many runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.base import clone

from skdp.audit._canaries import orthogonal_rows, wrong_rows
from skdp.audit._confidence import (
    ClaimFamily,
    epsilon_of_accuracy,
    epsilon_of_guesses,
    gaussian_miss_rate,
    guesses_refute,
    largest_refuted,
    lower_accuracy,
)
from skdp.audit._masked_training import Table, World, number_from, stack_rows
from skdp.exceptions import PrivacyError
from skdp.linear_model import DPSGDClassifier
from skdp.linear_model._labels import encode_labels, read_labels
from skdp.linear_model._losses import loss_for
from skdp.linear_model._training_plan import make_plan
from skdp.mechanisms._noise import Streams
from skdp.reading._table import read_table

__all__ = ["Subject", "attack_many_runs", "attack_one_run"]

_DATA_CHECKS: dict[str, Any] = {"accept_sparse": True, "dtype": [np.float64, np.float32]}
# Canaries are longer than the threshold by this much, so that a residual of a third is clipped.
_LENGTH = 3.0
_MOST_CANARY_NUMBERS = 10**7
_MOST_CANARIES = 1000
_SHARES_OF_GUESSES = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)


class Subject:
    """The estimator on its data: the claim, and worlds in which it trains.

    Parameters
    ----------
    estimator : DPSGDClassifier
        A clone, which is fitted.
    X, y : array-like
        Rows and labels, as for `fit`.
    seed : int or None
        Of all randomness; None for the operating system's.
    """

    def __init__(self, estimator: DPSGDClassifier, X: ArrayLike, y: ArrayLike, seed: int | None):
        self.seed = seed
        fit_seed = _seed_of_fit(seed)
        fitted = estimator.set_params(store_path=True, random_state=fit_seed).fit(X, y)
        if math.isinf(fitted.epsilon_):
            raise PrivacyError(
                "noise_multiplier=0 claims no privacy, so there is nothing to audit: train with "
                "noise"
            )
        self.claim = fitted
        self.family = ClaimFamily(fitted.mechanisms_, fitted.delta_)
        self.X = read_table(clone(estimator), X, **_DATA_CHECKS)
        classes, self.codes = encode_labels(read_labels(estimator, y)[0], estimator.classes)
        self.n_classes = len(classes)
        self.loss = loss_for(self.n_classes)
        self._owner = type(estimator).__name__
        self._plan = make_plan(
            estimator,
            n_rows=self.X.shape[0],
            n_features=self.X.shape[1],
            n_classes=self.n_classes,
        )
        self._check_that_worlds_train_as_fit_does(fit_seed)

    def generator(self, purpose: str) -> np.random.Generator:
        """Randomness that is not the training's."""
        return np.random.default_rng(number_from(self.seed, self._owner, "audit", purpose))

    def streams(self, run: str) -> Streams:
        """All randomness of one training."""
        return Streams(self.seed, f"{self._owner}/audit/{run}")

    def table(self, rows: np.ndarray, codes: np.ndarray) -> Table:
        """Replace as many rows, drawn at random, by canaries."""
        n_rows = self.X.shape[0]
        kept = self.generator("replaced rows").permutation(n_rows)[len(rows) :]
        kept.sort()
        return Table(
            stack_rows(self.X[kept], rows), np.concatenate([self.codes[kept], codes]), len(rows)
        )

    def world(self, table: Table, present: np.ndarray) -> World:
        """One of the data sets that differ in which canaries take part."""
        fit_intercept = self.claim.fit_intercept
        return World(table, present, self._plan, self.loss, fit_intercept=fit_intercept)

    def _check_that_worlds_train_as_fit_does(self, fit_seed: int) -> None:
        """What is attacked must be what the user runs."""
        nobody = Table(self.X, self.codes, 0)
        world = self.world(nobody, np.zeros(0, dtype=bool))
        path = world.path(Streams(fit_seed, self._owner))
        coef = np.swapaxes(self.claim.coef_path_, 1, 2).reshape(len(path), -1)
        if not np.array_equal(path[:, : coef.shape[1]], coef):
            raise RuntimeError(
                f"the audit does not train as {self._owner}.fit does, so its figures would say "
                "nothing about it: audit the class without changes to its fit"
            )


def attack_one_run(subject: Subject, error: float, n_canaries: int | str) -> dict[str, Any]:
    """Guess the coins of many canaries from one path.

    Parameters
    ----------
    subject : Subject
        What is attacked.
    error : float
        How often the bounds may exceed a true claim.
    n_canaries : int or "auto"
        How many.

    Returns
    -------
    outcome : dict
        The fields of `PrivacyAudit` that the attack knows.
    """
    claim, family = subject.claim, subject.family
    mu = _distance_of(family.advantage(1.0))
    n_rows, n_features = subject.X.shape
    m = _number_of_canaries(n_canaries, n_rows, n_features, subject.loss.n_outputs, mu)
    n_guesses = _number_of_guesses(m, mu, error)
    rng = subject.generator("canaries")
    length = _LENGTH * claim.clip_threshold_
    if claim.max_row_norm is not None:
        length = min(length, claim.max_row_norm)
    rows = orthogonal_rows(m, subject.X.shape[1], length, rng)
    codes = np.arange(m) % subject.n_classes
    present = rng.random(m) < 0.5
    world = subject.world(subject.table(rows, codes), present)
    evidence = world.evidence(subject.streams("one run"), rows, codes)
    scores = evidence.log_ratios()
    guessed = np.argsort(-np.abs(scores), kind="stable")[:n_guesses]
    n_correct = int(np.count_nonzero((scores[guessed] > 0.0) == present[guessed]))
    unassuming = epsilon_of_guesses(m, n_guesses, n_correct, claim.delta_, error)
    in_family = family.least_epsilon(
        lambda factor: guesses_refute(family.miss_rate(factor), m, n_guesses, n_correct, error)
    )
    return {
        **_bounds_and_rates(unassuming, in_family, scores[present], scores[~present]),
        "n_canaries": m,
        "n_runs": 1,
        "n_guesses": n_guesses,
        "n_correct": n_correct,
        "budget_used": float(np.sqrt(np.mean(evidence.budget_used() ** 2))),
    }


def attack_many_runs(subject: Subject, error: float, n_runs: int) -> dict[str, Any]:
    """Tell runs with one worst-case canary from runs without it.

    "In" is said where that is the likelier: a threshold that no run has set, and the one at which
    most guesses are right.

    Parameters
    ----------
    subject : Subject
        What is attacked.
    error : float
        How often the bounds may exceed a true claim.
    n_runs : int
        Runs with the canary, and as many without.

    Returns
    -------
    outcome : dict
        The fields of `PrivacyAudit` that the attack knows.
    """
    row, code, budget_used = _strongest_canary(subject)
    table = subject.table(row, code)
    scores = {}
    for side in (True, False):
        world = subject.world(table, np.array([side]))
        scores[side] = np.empty(n_runs)
        for run in range(n_runs):
            streams = subject.streams(f"{'with' if side else 'without'} canary/{run}")
            scores[side][run] = world.evidence(streams, row, code).log_ratios()[0]
    n_correct = int(np.count_nonzero(scores[True] > 0.0) + np.count_nonzero(scores[False] <= 0.0))
    accuracy = lower_accuracy(n_correct, 2 * n_runs, error)
    family = subject.family
    unassuming = epsilon_of_accuracy(accuracy, subject.claim.delta_)
    in_family = family.least_epsilon(lambda factor: family.advantage(factor) < 2 * accuracy - 1)
    return {
        **_bounds_and_rates(unassuming, in_family, scores[True], scores[False]),
        "n_canaries": 1,
        "n_runs": 2 * n_runs,
        "n_guesses": 2 * n_runs,
        "n_correct": n_correct,
        "budget_used": budget_used,
    }


def _bounds_and_rates(
    unassuming: float, in_family: float, scores_in: np.ndarray, scores_out: np.ndarray
) -> dict[str, Any]:
    """What both attacks report in the same way; "in" is said of scores above 0."""
    return {
        "epsilon_lower": max(unassuming, in_family),
        "epsilon_lower_unassuming": unassuming,
        "false_alarm_rate": _share(scores_out > 0.0),
        "miss_rate": _share(scores_in <= 0.0),
        "scores_in": scores_in,
        "scores_out": scores_out,
    }


def _strongest_canary(subject: Subject) -> tuple[np.ndarray, np.ndarray, float]:
    """The candidate whose gradients are longest over one training without it."""
    rows, codes = wrong_rows(subject.X, subject.codes, subject.n_classes)
    world = subject.world(subject.table(rows[:1], codes[:1]), np.array([False]))
    used = world.evidence(subject.streams("choice of canary"), rows, codes).budget_used()
    best = int(np.argmax(used))
    return rows[best : best + 1], codes[best : best + 1], float(used[best])


def _number_of_canaries(
    n_canaries: int | str, n_rows: int, n_features: int, n_outputs: int, mu: float
) -> int:
    """As many as asked for, or as can be told apart.

    In a space of p dimensions, m canaries that are in by a coin add the variance
    `mu^2 m / (4 p)` to a noise of 1 in each one's direction. Half is allowed: more canaries
    would blur each other, and all the more where the noise is less than claimed.
    """
    if not isinstance(n_canaries, str):
        if n_canaries > n_rows:
            raise ValueError(
                f"n_canaries={n_canaries!r} is more than the {n_rows} rows that canaries could "
                'replace: lower it, or use "auto"'
            )
        return int(n_canaries)
    apart = math.ceil(2.0 * n_features * n_outputs / mu**2)
    room = _MOST_CANARY_NUMBERS // n_features
    return max(1, min(apart, room, n_rows // 2, _MOST_CANARIES))


def _number_of_guesses(m: int, mu: float, error: float) -> int:
    """The number that would bound mu best, if canaries leaked all that the claim allows.

    Decided from public numbers before the attack, so that the bound need not pay for a choice. A
    canary's log likelihood ratio is then normal with mean `mu^2 / 2` towards the truth and
    variance `mu^2`, and the surest ones are guessed.
    """
    grid = np.linspace(-6.0, 6.0, 4001)
    ratios, weights = mu * mu / 2.0 + mu * grid, np.exp(-(grid**2) / 2.0)
    order = np.argsort(-np.abs(ratios))
    mass = np.cumsum(weights[order]) / weights.sum()
    right = np.cumsum((weights * (ratios > 0.0))[order]) / weights.sum()
    best, best_mu = m, 0.0
    for share in _SHARES_OF_GUESSES:
        n_guesses = max(1, round(share * m))
        place = min(int(np.searchsorted(mass, share)), len(mass) - 1)
        n_correct = int(n_guesses * right[place] / mass[place])

        def refuted(mu: float, k: int = n_guesses, v: int = n_correct) -> bool:
            return guesses_refute(gaussian_miss_rate(mu), m, k, v, error)

        bound = largest_refuted(refuted, 100.0)
        if bound > best_mu:
            best, best_mu = n_guesses, bound
    return best


def _distance_of(advantage: float) -> float:
    """Distance of two normal distributions, in standard deviations, with this total variation."""
    return float(2.0 * ndtri((1.0 + min(max(advantage, 1e-6), 1.0 - 1e-9)) / 2.0))


def _share(events: np.ndarray) -> float:
    return float(np.count_nonzero(events) / max(1, len(events)))


def _seed_of_fit(seed: int | None) -> int:
    """A seed that scikit-learn accepts, for the one fit that the audit compares itself with."""
    number = number_from(seed, "audit", "fit")
    return int(np.random.default_rng(number).integers(2**31))

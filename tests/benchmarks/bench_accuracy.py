"""Accuracy, AUC and log loss of the untuned classifier at a fixed budget.

Every cell is `DPSGDClassifier(epsilon=...)` with all else left at its default, on one fixed split
(a fifth held out, stratified, seed 0), standardised with the exact statistics of the training
rows: these are figures of the classifier, not of a private pipeline. Run it with one thread::

    OMP_NUM_THREADS=1 python tests/benchmarks/bench_accuracy.py --sets tutorial,breast_cancer

Three data sets are made or shipped by scikit-learn. Five more (adult, credit_default,
german_credit, spambase, heart) are read from the folder named by the environment variable
`SKDP_DATA`, one `.npz` each, with arrays `X`, `y` and `names`. A cell is the mean of 10 seeds, 40
where there are fewer than 2,000 rows, unless `--seeds` says otherwise.

- `--floor floor.json` compares with stored figures, `{set: {"0.1": [accuracy, AUC, log loss]}}`.
- `--peers` adds diffprivlib and DP-EBM, where they can be imported.
- `--scale 0.01,1,100` multiplies the standardised features; the results should not care.
- `--figure accuracy.png` draws accuracy against epsilon, one panel a data set.
- `--heart-protocol` and `--text` run these two tables instead; see `heart_table`, `text_table`.
"""

import argparse
import importlib
import json
import math
import os
import tracemalloc
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from skdp import DPSGDClassifier
from skdp.privacy import calibrate_noise_multiplier

DELTA = 1e-5
EPSILONS = (0.1, 0.3, 1.0, 3.0)
PUBLIC_SETS = ("tutorial", "breast_cancer", "digits")
STORED_SETS = ("heart", "german_credit", "spambase", "credit_default", "adult")

# Best of the published greedy coordinate descent, tuned without paying for it (SoK, arXiv
# 2404.01141, table V), at delta 3.8e-5.
HEART_DELTA = 3.8e-5
HEART_PUBLISHED = {0.1: 0.785, 0.5: 0.831, 1.0: 0.811, 2.0: 0.811, 5.0: 0.795}


class Scores(NamedTuple):
    """Of one model on the held-out rows, or the means over seeds."""

    accuracy: float
    auc: float
    log_loss: float

    def __str__(self):
        return f"{self.accuracy:.3f} / {self.auc:.3f} / {self.log_loss:.3f}"


@dataclass
class Cell:
    """One data set at one budget."""

    name: str
    epsilon: float
    ours: Scores
    error: float  # standard error of the accuracy
    majority: float
    plain: Scores  # without privacy
    signal: float  # n mu (share of the largest class - share of the second)
    floor: Scores | None = None
    peers: dict = field(default_factory=dict)

    @property
    def gain(self):
        return self.ours.accuracy - self.floor.accuracy

    @property
    def margin(self):
        """How far the difference may fall by chance: three standard errors of a difference."""
        return 3 * math.sqrt(2) * self.error


# --- Data ---------------------------------------------------------------------------------------


def load(name):
    """Rows, and labels from 0."""
    if name == "tutorial":
        return make_classification(
            n_samples=1000,
            n_features=20,
            n_informative=10,
            n_redundant=5,
            flip_y=0.05,
            random_state=42,
        )
    if name == "breast_cancer":
        return load_breast_cancer(return_X_y=True)
    if name == "digits":
        return load_digits(return_X_y=True)
    with np.load(Path(os.environ["SKDP_DATA"]) / f"{name}.npz") as stored:
        return stored["X"].astype(np.float64), stored["y"].astype(np.int64)


def available_sets():
    """Names that can be loaded here."""
    return PUBLIC_SETS + (STORED_SETS if os.environ.get("SKDP_DATA") else ())


def split(name):
    """Standardised training and held-out rows, and their labels."""
    X, y = load(name)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.2, random_state=0, stratify=y
    )
    scaler = StandardScaler().fit(X_train)
    return scaler.transform(X_train), scaler.transform(X_test), y_train, y_test


# --- Models and scores --------------------------------------------------------------------------


def score(model, X, y):
    """Accuracy, AUC (one class against the rest, averaged, for more than two) and log loss."""
    P = model.predict_proba(X)
    two = P.shape[1] == 2
    auc = roc_auc_score(y, P[:, 1]) if two else roc_auc_score(y, P, multi_class="ovr")
    return Scores(np.mean(model.predict(X) == y), auc, log_loss(y, P, labels=model.classes_))


def mean_scores(make_model, n_seeds, X_train, X_test, y_train, y_test):
    """Mean over the seeds, and the standard error of the accuracy."""
    runs = np.array(
        [score(make_model(seed).fit(X_train, y_train), X_test, y_test) for seed in range(n_seeds)]
    )
    spread = runs[:, 0].std(ddof=1) if n_seeds > 1 else 0.0
    return Scores(*runs.mean(axis=0)), spread / math.sqrt(n_seeds)


def ours(epsilon, delta=DELTA):
    """The classifier as people meet it: a budget, and nothing else."""
    return lambda seed: DPSGDClassifier(epsilon=epsilon, delta=delta, random_state=seed)


def diffprivlib_model(epsilon, n_features, scale):
    """Its row bound is 1.5 sqrt(d): untuned, and no look at the rows."""
    from diffprivlib.models import LogisticRegression as PrivateLogisticRegression

    bound = 1.5 * math.sqrt(n_features) * scale
    return lambda seed: PrivateLogisticRegression(
        epsilon=epsilon, data_norm=bound, max_iter=1000, random_state=seed
    )


def dp_ebm_model(epsilon, n_features, scale):
    """Bounds of five standard deviations and given column types, so that it looks at no row."""
    from interpret.privacy import DPExplainableBoostingClassifier

    return lambda seed: DPExplainableBoostingClassifier(
        epsilon=epsilon,
        delta=DELTA,
        feature_types=["continuous"] * n_features,
        privacy_bounds=np.tile([-5.0 * scale, 5.0 * scale], (n_features, 1)),
        random_state=seed,
        n_jobs=1,
    )


PEERS = {
    "diffprivlib": ("diffprivlib.models", diffprivlib_model, math.inf),
    "DP-EBM": ("interpret.privacy", dp_ebm_model, 2),  # it takes two classes
}


def importable_peers():
    """Those that import here; says of the others why they do not."""
    found = []
    for name, (module, _, _) in PEERS.items():
        try:
            importlib.import_module(module)
        except ImportError as error:
            print(f"{name} is left out: {error}\n")
        else:
            found.append(name)
    return found


def peer_scores(name, epsilon, scale, n_seeds, data):
    """Mean scores of a peer, or None where it does not take so many classes."""
    _, make, most_classes = PEERS[name]
    X_train, X_test, y_train, y_test = data
    if len(np.unique(y_train)) > most_classes:
        return None
    bound = 5.0 * scale  # DP-EBM expects rows within its bounds; the others clip by norm
    if name == "DP-EBM":
        X_train, X_test = np.clip(X_train, -bound, bound), np.clip(X_test, -bound, bound)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # their deprecations and convergence are not ours
        model = make(epsilon, X_train.shape[1], scale)
        return mean_scores(model, n_seeds, X_train, X_test, y_train, y_test)[0]


# --- The main table -----------------------------------------------------------------------------


def cells_of(name, options, scale, floor, peers):
    """Every budget on one data set, each as soon as it is done."""
    X_train, X_test, y_train, y_test = split(name)
    n_seeds = options.seeds or (40 if len(y_train) + len(y_test) < 2000 else 10)
    shares = np.bincount(y_train) / len(y_train)
    majority = np.mean(y_test == shares.argmax())
    # The reference is fitted before scaling, since its own default penalty depends on scale.
    plain = score(LogisticRegression(max_iter=5000).fit(X_train, y_train), X_test, y_test)
    data = X_train * scale, X_test * scale, y_train, y_test
    lead = np.sort(shares)[-1] - np.sort(shares)[-2]
    for epsilon in options.epsilons:
        mu = 1.0 / calibrate_noise_multiplier(epsilon, DELTA, 1.0, 1)
        means, error = mean_scores(ours(epsilon), n_seeds, *data)
        stored = floor.get(name, {}).get(str(epsilon))
        yield Cell(
            name=f"{name} ({X_train.shape[0]} x {X_train.shape[1]})",
            epsilon=epsilon,
            ours=means,
            error=error,
            majority=majority,
            plain=plain,
            signal=len(y_train) * mu * lead,
            floor=Scores(*stored) if stored else None,
            peers={
                peer: peer_scores(peer, epsilon, scale, min(n_seeds, options.peer_seeds), data)
                for peer in peers
            },
        )


def main_table(options, scale, floor, peers):
    """Print one row a cell, as it is measured."""
    columns = ["data (rows x columns)", "epsilon", "skdp", "± accuracy", "majority", "not private"]
    columns += ["floor", "against the floor"] * bool(floor) + peers
    print("Accuracy / AUC / log loss; features standardised" + f", times {scale:g}\n")
    print_header(columns)
    cells = []
    for name in options.sets:
        for cell in cells_of(name, options, scale, floor, peers):
            row = [cell.name, f"{cell.epsilon:g}", cell.ours, f"{cell.error:.4f}"]
            row += [f"{cell.majority:.3f}", cell.plain]
            row += [cell.floor or "", against_floor(cell)] * bool(floor)
            print_row(row + [cell.peers[peer] or "" for peer in peers])
            cells.append(cell)
    print()
    return cells


def against_floor(cell):
    """Differences of accuracy and AUC, and the ratio of the log losses."""
    if cell.floor is None:
        return ""
    return (
        f"{cell.gain:+.4f} / {cell.ours.auc - cell.floor.auc:+.4f} / "
        f"x {cell.ours.log_loss / cell.floor.log_loss:.3f}"
    )


def print_summary(cells):
    """Means over the cells, beside the floor where there is one, and the cells to look at."""
    mean = Scores(*np.mean([cell.ours for cell in cells], axis=0))
    print(f"mean of {len(cells)} cells: accuracy / AUC / log loss {mean}")
    compared = [cell for cell in cells if cell.floor]
    if compared:
        print(f"against the floor, {len(compared)} cells:")
        print(f"- mean difference of accuracy  {np.mean([c.gain for c in compared]):+.4f}")
        auc = np.mean([c.ours.auc - c.floor.auc for c in compared])
        print(f"- mean difference of AUC       {auc:+.4f}")
        ratio = np.mean([c.ours.log_loss / c.floor.log_loss for c in compared])
        print(f"- mean ratio of log losses     {ratio:.4f}")
        for label, worst in (
            ("worst cell", min(compared, key=lambda cell: cell.gain)),
            ("worst beyond chance", min(compared, key=lambda cell: cell.gain + cell.margin)),
        ):
            print(
                f"- {label:28} {worst.gain:+.4f} in accuracy: {worst.name} at epsilon "
                f"{worst.epsilon:g} (three standard errors of the difference: {worst.margin:.4f})"
            )
    for cell in cells:
        behind = cell.majority - cell.ours.accuracy
        if behind > 0:
            print(
                f"- below the majority class by {behind:.4f}: {cell.name} at epsilon "
                f"{cell.epsilon:g}, where n mu times the lead of the largest class is "
                f"{cell.signal:.2f}"
            )
    print()


def scale_table(by_scale):
    """How far the accuracies at the different scales are apart, cell by cell."""
    scales = list(by_scale)
    print("Accuracy by the scale of the features\n")
    print_header(["data", "epsilon", *(f"times {scale:g}" for scale in scales), "spread"])
    for row in zip(*by_scale.values(), strict=True):
        accuracies = [cell.ours.accuracy for cell in row]
        spread = max(accuracies) - min(accuracies)
        figures = [f"{accuracy:.4f}" for accuracy in [*accuracies, spread]]
        print_row([row[0].name, f"{row[0].epsilon:g}", *figures])
    print()


def print_header(columns):
    print_row(columns)
    print_row(["---"] * len(columns))


def print_row(entries):
    print("| " + " | ".join(str(entry) for entry in entries) + " |", flush=True)


def draw(cells, path):
    """Accuracy against epsilon, one panel a data set."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(cell.name for cell in cells))
    n_columns = min(4, len(names))
    n_rows = math.ceil(len(names) / n_columns)
    size = (1 + 2.8 * n_columns, 0.6 + 2.6 * n_rows)
    figure, axes = plt.subplots(
        n_rows, n_columns, figsize=size, squeeze=False, layout="constrained"
    )
    for ax, name in zip(axes.flat, names, strict=False):
        draw_panel(ax, [cell for cell in cells if cell.name == name])
        ax.set_title(name, fontsize=10)
    for ax in axes.flat[len(names) :]:
        ax.set_axis_off()
    figure.supxlabel("epsilon")
    figure.supylabel("accuracy on held-out rows")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    figure.savefig(path, dpi=150)


def draw_panel(ax, cells):
    epsilons = [cell.epsilon for cell in cells]
    ax.axhline(cells[0].plain.accuracy, color="#555555", lw=1, label="not private")
    ax.axhline(cells[0].majority, color="#555555", lw=1, ls=":", label="majority class")
    if all(cell.floor for cell in cells):
        floor = [cell.floor.accuracy for cell in cells]
        ax.plot(epsilons, floor, color="#e69f00", lw=1.2, ls="--", label="floor")
    for peer, colour in zip(cells[0].peers, ("#009e73", "#cc79a7"), strict=False):
        # NaN, where a peer does not take the data, keeps the name in the legend.
        line = [getattr(cell.peers[peer], "accuracy", math.nan) for cell in cells]
        ax.plot(epsilons, line, color=colour, lw=1.2, marker="s", ms=3, label=peer)
    accuracy = [cell.ours.accuracy for cell in cells]
    error = [2 * cell.error for cell in cells]
    ax.errorbar(
        epsilons, accuracy, error, color="#0072b2", marker="o", ms=4, capsize=2, label="skdp"
    )
    ax.set_xscale("log")
    ax.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    ax.minorticks_off()


# --- Two tables of their own --------------------------------------------------------------------


def heart_table(n_permutations=20):
    """The heart data by the protocol of the published row.

    Random permutations of the 270 rows; the first 162 train, the last 54 are held out, features
    are standardised with the training rows, delta is 3.8e-5.
    """
    X, y = load("heart")
    accuracy = {"not private": [], **{epsilon: [] for epsilon in HEART_PUBLISHED}}
    for seed in range(n_permutations):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:162], order[-54:]
        scaler = StandardScaler().fit(X[train])
        X_train, X_test = scaler.transform(X[train]), scaler.transform(X[test])
        models = {"not private": LogisticRegression(max_iter=5000)}
        models |= {epsilon: ours(epsilon, HEART_DELTA)(seed) for epsilon in HEART_PUBLISHED}
        for name, model in models.items():
            accuracy[name].append(model.fit(X_train, y[train]).score(X_test, y[test]))
    print(f"heart, 162 rows, {n_permutations} permutations: accuracy\n")
    print_header(["epsilon", "published, tuned", "skdp, untuned", "±"])
    for name, runs in accuracy.items():
        error = np.std(runs, ddof=1) / math.sqrt(len(runs))
        published = HEART_PUBLISHED.get(name, "")
        print_row([name, published, f"{np.mean(runs):.3f}", f"{error:.3f}"])
    print()


def make_corpus(n_rows, n_columns=20_000, n_words=40, n_informative=300):
    """Made-up documents with a known linear truth.

    Each row draws 40 words of Zipf-like popularity and has norm 1. 300 of the 3,000 most popular
    columns carry a weight, and the log odds have standard deviation 3.

    Returns
    -------
    X : CSR of shape (n_rows, n_columns)
        Rows of norm 1.
    p : ndarray of shape (n_rows,)
        Chance that the label is 1.
    """
    truth, draws = np.random.default_rng(1), np.random.default_rng(0)
    popularity = truth.permutation(1.0 / (np.arange(n_columns) + 20.0))
    popular = np.argsort(-popularity)[:3000]
    informative = truth.choice(popular, n_informative, replace=False)
    weights = np.zeros(n_columns)
    weights[informative] = truth.standard_normal(n_informative)
    cumulated = np.cumsum(popularity / popularity.sum())
    words = np.searchsorted(cumulated, draws.random((n_rows, n_words)))
    words = np.minimum(words.ravel(), n_columns - 1)
    rows = np.repeat(np.arange(n_rows), n_words)
    X = sp.csr_matrix((np.ones(len(words)), (rows, words)), shape=(n_rows, n_columns))
    X = sp.csr_matrix(sp.diags(1.0 / sp.linalg.norm(X, axis=1)) @ X)
    logit = X @ weights
    return X, 1.0 / (1.0 + np.exp(-3.0 * logit / logit.std()))


def text_table(n_seeds, epsilon=3.0, n_train=20_000):
    """Rows of norm 1 with 20,000 sparse columns.

    The figure is the share of the way from the majority class to the non-private model, whose
    penalty is the best of three *on the held-out rows*, to its favour.
    """
    X, p = make_corpus(30_000)
    y = (np.random.default_rng(2).random(len(p)) < p).astype(int)
    X_train, X_test, y_train, y_test = X[:n_train], X[n_train:], y[:n_train], y[n_train:]
    bayes = np.maximum(p, 1 - p)[n_train:].mean()
    majority = np.mean(y_test == np.bincount(y_train).argmax())
    plain = max(
        LogisticRegression(C=C, max_iter=1000).fit(X_train, y_train).score(X_test, y_test)
        for C in (1.0, 10.0, 100.0)
    )
    means, error = mean_scores(ours(epsilon), n_seeds, X_train, X_test, y_train, y_test)
    tracemalloc.start()
    ours(epsilon)(0).fit(X_train, y_train)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    dense = 8 * X_train.shape[0] * X_train.shape[1] / 1e6
    way = (means.accuracy - majority) / (plain - majority)
    print(f"text, {n_train} rows of norm 1, {X.shape[1]} columns, epsilon {epsilon:g}\n")
    print_header(["", "accuracy"])
    print_row(["majority class", f"{majority:.4f}"])
    print_row([f"skdp ({n_seeds} seeds)", f"{means.accuracy:.4f} ± {error:.4f}"])
    print_row(["not private", f"{plain:.4f}"])
    print_row(["Bayes (the truth is known)", f"{bayes:.4f}"])
    print(f"\nshare of the way from the majority class to not private: {way:.3f}")
    print(f"most memory that a fit took: {peak:.0f} MB (a dense copy of X: {dense:.0f} MB)\n")


# --- Command line -------------------------------------------------------------------------------


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    def numbers(text):
        return [float(part) for part in text.split(",")]

    def names(text):
        unknown = set(text.split(",")) - set(available_sets())
        if unknown:
            raise argparse.ArgumentTypeError(
                f"{sorted(unknown)} not among {available_sets()}; more where SKDP_DATA is set"
            )
        return text.split(",")

    parser.add_argument("--sets", type=names, default=list(available_sets()))
    parser.add_argument("--epsilons", type=numbers, default=list(EPSILONS))
    parser.add_argument("--seeds", type=int, help="default: 10, and 40 under 2,000 rows")
    parser.add_argument("--scale", type=numbers, default=[1.0], help="one factor, or several")
    parser.add_argument("--floor", type=Path, help="a JSON file of figures to compare with")
    parser.add_argument("--peers", action="store_true", help="diffprivlib and DP-EBM too")
    parser.add_argument("--peer-seeds", type=int, default=3)
    parser.add_argument("--figure", type=Path, help="where to draw the (first) table")
    parser.add_argument("--heart-protocol", action="store_true")
    parser.add_argument("--text", action="store_true")
    return parser.parse_args()


def main():
    """Print the tables that were asked for."""
    options = parse_arguments()
    if options.heart_protocol:
        heart_table()
    if options.text:
        text_table(options.seeds or 5)
    if options.heart_protocol or options.text:
        return
    floor = json.loads(options.floor.read_text()) if options.floor else {}
    peers = importable_peers() if options.peers else []
    by_scale = {scale: main_table(options, scale, floor, peers) for scale in options.scale}
    for scale, cells in by_scale.items():
        print(f"Features times {scale:g}")
        print_summary(cells)
    if len(by_scale) > 1:
        scale_table(by_scale)
    if options.figure:
        draw(next(iter(by_scale.values())), options.figure)


if __name__ == "__main__":
    main()

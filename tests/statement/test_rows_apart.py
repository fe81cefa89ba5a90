"""Behind free parts, one row decides nothing about any other: not even a last bit.

Random pipelines of free parts are fitted to two tables that differ in one row, and what they hand
to a private estimator is compared as that estimator reads it.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.kernel_approximation import PolynomialCountSketch, RBFSampler, SkewedChi2Sampler
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

from skdp import DPSGDClassifier, privacy_statement
from skdp.mechanisms._csr import one_entry_a_place
from skdp.preprocessing import BoundedScaler, PiecewiseLinearFeatures, RowNormClipper
from skdp.reading._table import read_table

N_ROWS, N_FEATURES = 57, 5


# Rows


def numbers(rng, n_rows):
    """Numbers of many magnitudes, whose sums depend on the order of the terms."""
    return rng.normal(size=(n_rows, N_FEATURES)) * 10.0 ** rng.integers(-3, 3, (n_rows, N_FEATURES))


def unusual_row(rng):
    """What a single row may look like beside ordinary ones."""
    kinds = [
        np.zeros(N_FEATURES),
        np.full(N_FEATURES, 1e30),
        np.full(N_FEATURES, -1e-30),
        numbers(rng, 1)[0],
    ]
    return kinds[rng.integers(len(kinds))]


def pair_of(rng, table):
    """The table, another that differs in one row, and the number of that row."""
    row, other = rng.integers(N_ROWS), table.copy()
    other[row] = unusual_row(rng)
    return table, other, row


def dense_pair(rng, dtype=np.float64):
    """Numbers of one type."""
    table, other, row = pair_of(rng, numbers(rng, N_ROWS))
    return table.astype(dtype), other.astype(dtype), row


def frame_pair(rng):
    """Columns of two types, with gaps."""
    gaps = rng.random((N_ROWS, N_FEATURES)) < 0.1
    table, other, row = pair_of(rng, np.where(gaps, np.nan, numbers(rng, N_ROWS)))
    kinds = {"a": np.float64, "b": np.float32, "c": np.float64, "d": np.float32, "e": np.float64}
    return *(pd.DataFrame(one, columns=list(kinds)).astype(kinds) for one in (table, other)), row


def coo_pair(rng):
    """One entry a place, in any order."""
    zeros = rng.random((N_ROWS, N_FEATURES)) < 0.4
    table, other, row = pair_of(rng, np.where(zeros, 0.0, numbers(rng, N_ROWS)))
    return shuffled(rng, table), shuffled(np.random.default_rng(0), other), row


def shuffled(rng, table):
    """A dense table as COO whose entries stand in a random order."""
    entries = sparse.coo_matrix(table)
    order = rng.permutation(entries.nnz)
    places = (entries.row[order], entries.col[order])
    return sparse.coo_matrix((entries.data[order], places), shape=table.shape)


def csr_pair(rng, *, is_sorted=True):
    """Several entries for a place; all rows but one are sorted, or none."""
    width, row = 30, rng.integers(N_ROWS)
    columns = rng.integers(N_FEATURES, size=(N_ROWS, width))
    values = rng.normal(size=(N_ROWS, width)) * 10.0 ** rng.integers(-8, 8, (N_ROWS, width))
    if is_sorted:
        columns = np.sort(columns, axis=1)
    other_columns, other_values = columns.copy(), values.copy()
    other_columns[row] = rng.integers(N_FEATURES, size=width)
    other_values[row] = rng.normal(size=width)
    ends = np.arange(0, N_ROWS * width + 1, width)
    parts = ((values, columns), (other_values, other_columns))
    table, other = (
        sparse.csr_matrix((v.ravel(), c.ravel(), ends), shape=(N_ROWS, N_FEATURES))
        for v, c in parts
    )
    return table, other, row


def coo_with_repeats_pair(rng):
    """The same entries as COO: SciPy's own conversion sorts all rows where one is unsorted."""
    table, other, row = csr_pair(rng)
    return sparse.coo_matrix(table), sparse.coo_matrix(other), row


# Free parts


def dense_part(rng, n_features):
    """A free part that takes any dense numbers."""
    seed = int(rng.integers(100))
    knots = np.linspace(-2.0, 2.0, 4)
    parts = [
        Normalizer(norm=str(rng.choice(["l1", "l2", "max"]))),
        Binarizer(threshold=float(rng.normal())),
        BoundedScaler(bounds=(-3.0, 5.0), clip=0.3),
        RowNormClipper(max_norm=2.0),
        PiecewiseLinearFeatures(knots),
        SplineTransformer(knots=np.tile(knots[:, None], (1, n_features)), extrapolation="constant"),
        RBFSampler(gamma=0.3, n_components=7, random_state=seed),
        PolynomialCountSketch(n_components=8, random_state=seed),
        GaussianRandomProjection(3, random_state=seed),
        SparseRandomProjection(3, random_state=seed),
        FunctionTransformer(np.tanh, validate=True),
        FunctionTransformer(),
        PolynomialFeatures(2, interaction_only=bool(rng.integers(2))),
        make_pipeline(
            BoundedScaler(bounds=(-1.0, 1.0)),
            FunctionTransformer(np.abs, validate=True),
            SkewedChi2Sampler(n_components=6, random_state=seed),
        ),
        make_pipeline(
            Binarizer(),
            OneHotEncoder(categories=[[0.0, 1.0]] * n_features, handle_unknown="ignore"),
        ),
        make_pipeline(
            Binarizer(),
            OrdinalEncoder(
                categories=[[0.0, 1.0]] * n_features,
                handle_unknown="use_encoded_value",
                unknown_value=-1,
            ),
        ),
    ]
    return parts[rng.integers(len(parts))]


def sparse_part(rng, n_features):
    """A free part that takes sparse rows and gives sparse or dense ones."""
    seed = int(rng.integers(100))
    parts = [
        Normalizer(norm=str(rng.choice(["l1", "l2", "max"]))),
        Binarizer(threshold=float(rng.random())),
        PolynomialFeatures(2),
        RBFSampler(gamma=0.3, n_components=7, random_state=seed),
        PolynomialCountSketch(n_components=8, random_state=seed),
        GaussianRandomProjection(3, random_state=seed),
        SparseRandomProjection(3, random_state=seed),
        FunctionTransformer(),
    ]
    return parts[rng.integers(len(parts))]


def random_dense_pipeline(rng):
    """One to three parts, alone, side by side, or on columns of their own."""
    kind = rng.integers(3)
    if kind == 0:
        first = dense_part(rng, N_FEATURES)
        return make_pipeline(first, Normalizer()) if rng.integers(2) else make_pipeline(first)
    if kind == 1:
        return make_union(dense_part(rng, N_FEATURES), dense_part(rng, N_FEATURES))
    halves = [("left", dense_part(rng, 2), [0, 1]), ("right", dense_part(rng, 3), [2, 3, 4])]
    return ColumnTransformer(halves, sparse_threshold=0)


def random_frame_pipeline(rng):
    """Gaps are filled and marked, beside other parts."""
    fill = SimpleImputer(strategy="constant", fill_value=-1.0, keep_empty_features=True)
    filled = make_pipeline(fill, random_dense_pipeline(rng))
    return make_union(filled, MissingIndicator(features="all")) if rng.integers(2) else filled


def random_sparse_pipeline(rng):
    """One or two parts, alone or side by side."""
    if rng.integers(2):
        return make_pipeline(sparse_part(rng, N_FEATURES), Normalizer())
    return make_union(sparse_part(rng, N_FEATURES), sparse_part(rng, N_FEATURES))


def random_sparse_chain(rng):
    """Parts one after another, none of which puts entries of one place together."""
    return make_pipeline(sparse_part(rng, N_FEATURES), FunctionTransformer())


def nothing_in_front(rng):
    """The private estimator reads the rows itself."""
    return make_pipeline(FunctionTransformer())


# Comparing


def read(output):
    """What a private estimator makes of a table: its form, and its numbers in double."""
    checks = {"accept_sparse": True, "ensure_all_finite": False}
    table = read_table(DPSGDClassifier(), output, **checks)
    if not sparse.issparse(table):
        return type(table), table.astype(np.float64)
    return type(table), one_entry_a_place(table).toarray()


def differing_rows(pipeline, pair):
    """Which rows come out otherwise, of those in which the two tables agree; None of the form."""
    table, other, row = pair
    with np.errstate(all="ignore"):
        form, one = read(pipeline.fit_transform(table))
        other_form, two = read(pipeline.fit_transform(other))
    assert form is other_form
    assert one.shape == two.shape
    differs = (one.view(np.uint64) != two.view(np.uint64)).any(axis=1)
    return np.flatnonzero(np.delete(differs, row))


CASES = {
    "float64": (dense_pair, random_dense_pipeline),
    "float32": (lambda rng: dense_pair(rng, np.float32), random_dense_pipeline),
    "frame": (frame_pair, random_frame_pipeline),
    "COO": (coo_pair, random_sparse_pipeline),
    "CSR with repeats": (csr_pair, random_sparse_chain),
    "CSR with repeats, unsorted": (
        lambda rng: csr_pair(rng, is_sorted=False),
        random_sparse_chain,
    ),
    "COO with repeats": (coo_with_repeats_pair, nothing_in_front),
}


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("case", CASES)
def test_every_other_row_comes_out_of_free_parts_bit_for_bit_the_same(case, seed):
    """Whatever the row in which two tables differ holds, and in whichever container."""
    rng = np.random.default_rng([seed, *case.encode()])
    make_pair, make_parts = CASES[case]
    parts = make_parts(rng)
    sample, _, _ = make_pair(rng)
    plan = make_pipeline(parts, DPSGDClassifier(epsilon=1.0))
    stated = privacy_statement(plan, n_rows=N_ROWS, X_sample=sample)
    assert stated.covers_everything, stated.gaps
    assert differing_rows(parts, make_pair(rng)).size == 0


@pytest.mark.parametrize(
    ("case", "part"),
    [
        ("float64", StandardScaler()),
        ("float32", KBinsDiscretizer(strategy="uniform", encode="ordinal")),
        # SciPy adds up the entries of one place here, in an order that all rows decide.
        ("COO with repeats", Normalizer()),
        ("CSR with repeats", FunctionTransformer(np.abs)),
    ],
)
def test_parts_that_mix_rows_are_told_from_those_that_do_not(case, part):
    """Else the comparison could not fail."""
    rng = np.random.default_rng(0)
    differing = [differing_rows(part, CASES[case][0](rng)).size for _ in range(10)]
    assert max(differing) > 0

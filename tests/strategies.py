"""Hypothesis strategies. Shapes come from few values, since each new one compiles."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st


def fewer(times):
    """Settings for a property whose examples cost much: so many times fewer than by the profile."""
    return settings(max_examples=max(1, settings().max_examples // times))


N_SAMPLES = (1, 3)
N_LABELS = (2, 3, 5, 16)
N_BINS, N_STATS, N_LANES = 16, 3, 4  # of histograms


@st.composite
def complete_rankings(draw, n_labels=N_LABELS, n_samples=N_SAMPLES):
    """int64 (n_samples, n_labels): every row a permutation of 1..n_labels."""
    rows, columns = draw(st.sampled_from(n_samples)), draw(st.sampled_from(n_labels))
    row = st.permutations(range(1, columns + 1))
    return np.array([draw(row) for _ in range(rows)])


@st.composite
def partial_rankings(draw, n_labels=N_LABELS, n_samples=N_SAMPLES):
    """float64 (n_samples, n_labels): dense positions 1..m', NaN for missing; a row can be empty."""
    rankings = draw(complete_rankings(n_labels, n_samples)).astype(float)
    kept = np.array(
        [draw(st.lists(st.booleans(), min_size=len(r), max_size=len(r))) for r in rankings]
    )
    for row, keep in zip(rankings, kept, strict=True):
        row[~keep] = np.nan
        row[keep] = 1 + np.argsort(np.argsort(row[keep]))
    return rankings


@st.composite
def tied_rankings(draw, n_labels=N_LABELS, n_samples=N_SAMPLES):
    """float64 (n_samples, n_labels): mean places of 1..m', NaN for missing; a row can be empty."""
    rows, columns = draw(st.sampled_from(n_samples)), draw(st.sampled_from(n_labels))
    cell = st.sampled_from([np.nan, *range(1, 1 + columns // 2)])
    cells = draw(st.lists(cell, min_size=rows * columns, max_size=rows * columns))
    table = np.array(cells).reshape(rows, columns)
    before = (table[:, None, :] < table[:, :, None]).sum(2)
    level = (table[:, None, :] == table[:, :, None]).sum(2)
    return np.where(np.isnan(table), np.nan, before + (level + 1) / 2)


@st.composite
def score_tables(draw, n_labels=N_LABELS, n_samples=N_SAMPLES):
    """float32 (n_samples, n_labels), with many equal values, zeros of both signs, extremes."""
    rows, columns = draw(st.sampled_from(n_samples)), draw(st.sampled_from(n_labels))
    special = [0.0, -0.0, 1.0, 1.5, -1.0, 1e-45, -1e-45, 1.1754944e-38, 3.4e38, -3.4e38]
    cell = st.sampled_from([*special, np.inf, -np.inf]) | st.floats(-8, 8, width=32)
    cells = draw(st.lists(cell, min_size=rows * columns, max_size=rows * columns))
    return np.array(cells, np.float32).reshape(rows, columns)


@st.composite
def preference_tables(draw, n_labels=(2, 3, 5), n_samples=N_SAMPLES):
    """int32 (n_samples, n_pairs) with small values, so that ties occur; and n_labels."""
    rows, labels = draw(st.sampled_from(n_samples)), draw(st.sampled_from(n_labels))
    n_cells = rows * labels * (labels - 1) // 2
    cells = draw(st.lists(st.integers(-3, 3), min_size=n_cells, max_size=n_cells))
    return np.array(cells, np.int32).reshape(rows, -1), labels


@st.composite
def histograms(draw):
    """int32 (16, 3, 4): two statistics and the samples of each bin; many bins are empty."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    table = rng.integers(0, draw(st.sampled_from([2, 3, 9])), (N_BINS, N_STATS, N_LANES), np.int32)
    empty = rng.random((N_BINS, 1, N_LANES)) < draw(st.sampled_from([0.0, 0.5, 0.9]))
    return np.where(empty, np.int32(0), table)

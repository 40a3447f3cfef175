"""From scores to orderings and ranks, as operators of ONNX."""

from typing import NamedTuple

import numpy as np

from lrrf_jax.interchange.onnx_graph import Graph, Value


class Ranked(NamedTuple):
    """What a learner says of the labels."""

    ordering: Value  # int64 (n_samples, n_labels), the numbers of the labels, best first
    scores: Value  # float64 or float32 (n_samples, n_labels), larger is better


def ordering_of(graph: Graph, scores: Value, n_labels: int, *, largest: bool = True) -> str:
    """List the labels by score, equal ones by index, which is what TopK promises."""
    return _sorted(graph, scores, n_labels, largest)[1]


def ranks_of(graph: Graph, ordering: Value, n_labels: int) -> str:  # int32 (n_samples, n_labels)
    """Turn orderings into positions."""
    positions = np.arange(1, n_labels + 1, dtype=np.int32)[None]
    of_rows = graph("Expand", positions, graph("Shape", ordering))
    return graph("ScatterElements", of_rows, ordering, of_rows, axis=1)


def in_order(graph: Graph, scores: Value, ranked: Value, n_labels: int) -> str:
    """Give the k-th largest score to the label at place k of an ordering."""
    place = graph("Sub", graph.cast(ranks_of(graph, ranked, n_labels), np.int64), np.array([1]))
    sorted_scores = _sorted(graph, scores, n_labels, largest=True)[0]
    return graph.pick(sorted_scores, graph("Unsqueeze", place, np.array([2])))


def _sorted(graph: Graph, scores: Value, n_labels: int, largest: bool) -> tuple[str, str]:
    names = graph.name("sorted"), graph.name("ordering")
    graph("TopK", scores, np.array([n_labels]), gives=names, axis=1, largest=int(largest), sorted=1)
    return names

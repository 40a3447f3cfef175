"""From scores to orderings and ranks, as operators of ONNX."""

from typing import NamedTuple

import numpy as np

from lrrf_jax.interchange.onnx_graph import Graph, Value


class Ranked(NamedTuple):
    """What a learner says of the labels."""

    ordering: Value  # int64 (n_samples, n_labels), the numbers of the labels, best first
    scores: Value  # float64 (n_samples, n_labels), larger is better


def ordering_of(graph: Graph, scores: Value, n_labels: int, *, largest: bool = True) -> str:
    """List the labels by score, float64; equal ones by index, which is what TopK promises."""
    return _sorted(graph, scores, n_labels, largest)[1]


def ranks_of(graph: Graph, ordering: Value, n_labels: int) -> str:  # int32 (n_samples, n_labels)
    """Turn orderings into positions."""
    positions = np.arange(1, n_labels + 1, dtype=np.int32)[None]
    of_rows = graph("Expand", positions, graph("Shape", ordering))
    return graph("ScatterElements", of_rows, ordering, of_rows, axis=1)


def in_order(graph: Graph, scores: Value, ordering: Value, n_labels: int) -> str:
    """Give the k-th largest score to the label at place k of an ordering."""
    place = graph("Sub", graph.cast(ranks_of(graph, ordering, n_labels), np.int64), np.array([1]))
    largest_first = _sorted(graph, scores, n_labels, largest=True)[0]
    return graph.pick(largest_first, graph("Unsqueeze", place, np.array([2])))


def _sorted(graph: Graph, scores: Value, n_labels: int, largest: bool) -> tuple[str, str]:
    """Sort the scores of each row; returns them, and the numbers of their labels."""
    # With a row more: of none, TopK ends the process in ONNX Runtime 1.20 to 1.24.
    padded = graph("Concat", scores, np.zeros((1, n_labels)), axis=0)
    names = graph.name("sorted"), graph.name("ordering")
    graph("TopK", padded, np.array([n_labels]), gives=names, axis=1, largest=int(largest), sorted=1)
    ends = np.array([0]), np.array([-1]), np.array([0])
    return graph("Slice", names[0], *ends), graph("Slice", names[1], *ends)

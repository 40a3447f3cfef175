"""Recipe: rank rows behind BentoML.

    pip install bentoml pandas
    cd scripts/recipes
    LRRF_MODEL=/models/iris.lrrf bentoml serve serve_bentoml:LabelRanking --port 3000
    curl http://127.0.0.1:3000/order -H 'Content-Type: application/json' \
        -d '{"rows": [{"sepal length (cm)": 5.1, ...}]}'

BentoML puts the rows of requests that arrive together into one list. A row that cannot be ranked
fails all requests that it is put together with: check rows before you send them, or use
`lrrf serve`, which tells each request its own.
"""

import os

import bentoml
import pandas as pd

from lrrf_jax import InputError, load

MOST_ROWS = 256  # of a batch
Row = dict[str, float | str | None]
_TOGETHER = {"batchable": True, "max_batch_size": MOST_ROWS, "max_latency_ms": 10_000}


class BadRows(bentoml.exceptions.BentoMLException):
    """Rows that cannot be ranked: the caller's, not ours."""

    error_code = bentoml.exceptions.InvalidArgument.error_code


@bentoml.service(name="label_ranking", workers=1)
class LabelRanking:
    """A model that is loaded, and has its programs compiled, before the first request."""

    def __init__(self) -> None:
        self.ranker = load(os.environ["LRRF_MODEL"])
        getattr(self.ranker, "ranker", self.ranker).compile([1, 32, MOST_ROWS], scores=True)

    @bentoml.api(**_TOGETHER)
    def positions(self, rows: list[Row]) -> list[list[int]]:
        """Answer the position of each label, 1 = best."""
        return self._answer("predict", rows)

    @bentoml.api(**_TOGETHER)
    def scores(self, rows: list[Row]) -> list[list[float]]:
        """Answer the score of each label, larger is better."""
        return self._answer("predict_scores", rows)

    @bentoml.api(**_TOGETHER)
    def order(self, rows: list[Row]) -> list[list[str]]:
        """Answer the labels, best first."""
        return self._answer("predict_order", rows)

    @bentoml.api
    def labels(self) -> list[str]:
        """Tell the labels, in the order of positions and scores."""
        return self.ranker.labels_.tolist()

    def _answer(self, method: str, rows: list[Row]) -> list:
        frame = pd.DataFrame(rows)
        names = getattr(self.ranker, "feature_names_in_", frame.columns)
        if set(names) == set(frame.columns):
            frame = frame[list(names)]  # objects of JSON have no order
        try:
            return getattr(self.ranker, method)(frame).tolist()
        except InputError as error:
            raise BadRows(str(error)) from error

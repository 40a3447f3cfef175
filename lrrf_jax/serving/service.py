"""Requests for rankings, several in one call; knows nothing of HTTP but its codes."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import jax
import numpy as np
from pydantic import ValidationError

import lrrf_jax
from lrrf_jax._backend import CPU
from lrrf_jax._categories import CodedRows
from lrrf_jax._features import Expected
from lrrf_jax._typing import NDArray
from lrrf_jax._validation import InputError
from lrrf_jax.io._cells import as_stored
from lrrf_jax.learners import load
from lrrf_jax.learners._estimator import require_fitted
from lrrf_jax.serving.messages import Answer, Limits, Model, Problem, Question, Versions
from lrrf_jax.serving.rows import features_of

OK, TOO_LARGE, UNUSABLE = 200, 413, 422


class Reply(NamedTuple):
    """The answer to a request."""

    status: int
    body: bytes  # JSON: an `Answer`, or a `Problem`


class _Asked(NamedTuple):
    """A request that can be ranked."""

    question: Question
    features: NDArray


class RankingService:
    """A model that answers requests, as JSON; may be called from several threads.

    Parameters
    ----------
    ranker : fitted LabelRanker or RankingPipeline
    max_rows : int
        Rows of a request, at most.
    """

    def __init__(self, ranker: Any, max_rows: int) -> None:
        self._ranker = ranker = as_stored(ranker)
        self._max_rows = max_rows
        learner = getattr(ranker, "ranker", ranker)
        require_fitted(learner)
        steps = ranker.steps[0][1] if learner is not ranker else None
        names = getattr(ranker, "feature_names_in_", None)
        names = None if names is None else [str(name) for name in names]
        categories = ranker._categories
        self._expected = Expected(ranker.n_features_in_, names, categories, ranker.unseen)
        self._unused = frozenset() if steps is None else steps.columns.unused
        self._exact = steps is not None  # numbers go through steps in float64
        self._learner = learner
        self._labels = np.array(ranker.labels_, object)

    @classmethod
    def of(cls, model: Any, max_rows: int) -> Self:
        """Take a fitted model, or load one from its path; raises as `lrrf_jax.load`."""
        is_path = isinstance(model, str | os.PathLike)
        return cls(load(model) if is_path else model, max_rows)

    def warm_up(self) -> None:
        """Compile what requests of up to the most rows need, and rank a row of missing values."""
        sizes = [size for size in CPU.batch_sizes if size < self._max_rows]
        self._learner.compile([*sizes, self._max_rows], scores=True)
        if self._learner.accepts_missing_features and not self._exact:
            self._rank(np.full((1, self._expected.n_features), np.nan, np.float32), scores=True)

    def model(self, max_bytes: int) -> Model:
        """Tell what rows must hold, and what ranks them."""
        ranker, expected = self._ranker, self._expected
        levels = ranker.feature_categories_.items()
        return Model(
            learner=self._learner.name,
            labels=list(self._labels),
            n_features=expected.n_features,
            features=None if expected.names is None else list(expected.names),
            categories={str(name): list(map(str, known)) for name, known in levels},
            unseen=expected.unseen,
            versions=Versions(
                lrrf_jax=lrrf_jax.__version__, jax=jax.__version__, numpy=np.__version__
            ),
            limits=Limits(rows=self._max_rows, bytes=max_bytes),
        )

    def example(self) -> dict[str, Any]:
        """Return a request with made-up cells, for the documentation."""
        expected = self._expected
        known = {j: levels.names[0] for j, levels in expected.categories.items()}
        cells = [known.get(j, 1.5) for j in range(expected.n_features)]
        names = expected.names
        row = cells if names is None else dict(zip(names, cells, strict=True))
        return {"rows": [row], "top": 1}

    def answer(self, bodies: Sequence[bytes]) -> list[Reply]:
        """Answer requests; what is wrong with one of them is told to it alone.

        Parameters
        ----------
        bodies : list of bytes
            JSON, each a `Question`.

        Returns
        -------
        list of Reply
            In the same order.
        """
        replies: list[Any] = [self._read(body) for body in bodies]
        asked = [i for i, one in enumerate(replies) if isinstance(one, _Asked)]
        for i, reply in zip(asked, self._replies([replies[i] for i in asked]), strict=True):
            replies[i] = reply
        return replies

    # ------------------------------------------------------------------------------- one request
    def _read(self, body: bytes) -> _Asked | Reply:
        try:
            question = Question.model_validate_json(body)
            n_rows, n_labels = len(question.rows), len(self._labels)
            if n_rows > self._max_rows:
                return problem(
                    TOO_LARGE,
                    f"rows must hold {self._max_rows} rows at most; it holds {n_rows}. Send "
                    "several requests, or rank files with lrrf predict.",
                )
            if question.ids is not None and len(question.ids) != n_rows:
                raise InputError(
                    f"ids must be as many as rows, {n_rows}; there are {len(question.ids)}."
                )
            if question.top is not None and question.top > n_labels:
                raise InputError(
                    f"top must be {n_labels}, the labels, at most; it is {question.top}."
                )
            features = features_of(question.rows, self._expected, self._unused, exact=self._exact)
        except ValidationError as error:
            return problem(UNUSABLE, _told(error))
        except InputError as error:
            return problem(UNUSABLE, str(error))
        return _Asked(question, features)

    def _replies(self, asked: list[_Asked]) -> list[Reply]:
        if not asked:
            return []
        scores = any(one.question.scores for one in asked)
        try:
            ranked = self._rank(np.concatenate([one.features for one in asked]), scores=scores)
        except InputError as error:  # of what a learner or a step takes no rows of
            if len(asked) == 1:
                return [problem(UNUSABLE, str(error))]
            return [reply for one in asked for reply in self._replies([one])]
        ends = np.cumsum([len(one.features) for one in asked])[:-1]
        parts = zip(*(np.split(part, ends) for part in ranked), strict=True)
        return [self._written(one.question, *part) for one, part in zip(asked, parts, strict=True)]

    def _rank(self, features: NDArray, *, scores: bool) -> list[NDArray]:
        rows = CodedRows(features) if self._expected.categories else features
        methods = [self._ranker.predict, self._ranker.predict_scores][: 1 + scores]
        return [method(rows) for method in methods]

    def _written(self, question: Question, positions: NDArray, *scores: NDArray) -> Reply:
        order = self._labels[positions.argsort(1)[:, : question.top]]
        answer = Answer.model_construct(
            labels=self._labels.tolist(),
            ids=question.ids,
            order=order.tolist(),
            positions=positions.tolist(),
            scores=scores[0].tolist() if question.scores else None,
        )
        left_out = {name for name in ("ids", "scores") if getattr(answer, name) is None}
        return Reply(OK, answer.model_dump_json(exclude=left_out).encode())


def problem(status: int, detail: str) -> Reply:
    """Say why there is no answer."""
    return Reply(status, Problem(detail=detail).model_dump_json().encode())


def _told(error: ValidationError) -> str:
    """Name the first thing that is wrong with a request, and how many there are."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    # Rows are objects or arrays, and pydantic tells why they are neither: what is told is why they
    # are not those that they are for the longest.
    of_first = [one for one in found if one["loc"][:1] == found[0]["loc"][:1]]
    first = max(of_first, key=lambda one: [part if _is_number(part) else -1 for part in one["loc"]])
    where = ".".join(str(part) for part in first["loc"] if not _is_kind(part))
    return (
        f"the request must be as /docs shows it; {where or 'the body'}: {first['msg']}. Send JSON "
        'such as {"rows": [{"NAME": 1.5}]}, with the names that /model lists.'
    )


def _is_number(part: Any) -> bool:
    return isinstance(part, int)


def _is_kind(part: Any) -> bool:  # of a part of the place, that pydantic adds for unions
    return isinstance(part, str) and (part in ("float", "bool", "str", "int") or "[" in part)

"""What requests and answers hold; the documentation of the service is made of it."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

# From left to right: what is none of these is told as such, and nothing becomes something else.
Cell = Annotated[StrictFloat | StrictBool | StrictStr | None, Field(union_mode="left_to_right")]


class Question(BaseModel):
    """Rows to rank."""

    model_config = ConfigDict(extra="forbid")

    rows: list[dict[str, Cell]] | list[list[Cell]] = Field(
        description="One or more rows: objects with a cell for each feature by its name, in any "
        "order, or arrays of cells in the order of training, see /model. A number; text where the "
        "feature is a category; null where the value is missing."
    )
    ids: list[StrictStr | StrictInt] | None = Field(
        None, description="One for each row, to be handed through; they need not be distinct."
    )
    top: int | None = Field(
        None, ge=1, strict=True, description="How many places of the order to answer; all if null."
    )
    scores: StrictBool = Field(False, description="Answer scores, too.")


class Answer(BaseModel):
    """The rankings of the rows, in their order."""

    labels: list[str] = Field(description="The labels, in the order of positions and scores.")
    ids: list[str | int] | None = Field(None, description="Those of the request; else absent.")
    order: list[list[str]] = Field(description="For each row the labels, best first.")
    positions: list[list[int]] = Field(
        description="For each row the position of each label, 1 = best."
    )
    scores: list[list[float]] | None = Field(
        None,
        description="For each row the score of each label, larger is better; absent unless asked.",
    )


class Problem(BaseModel):
    """Why there is no answer."""

    detail: str = Field(description="What is wrong, where, and the way out.")


class Versions(BaseModel):
    """What ranks, and what the model was written by."""

    lrrf_jax: str
    jax: str
    numpy: str


class Limits(BaseModel):
    """What is refused."""

    rows: int = Field(description="Rows of a request, at most.")
    bytes: int = Field(description="Bytes of a request, at most.")


class Model(BaseModel):
    """What the model takes and says."""

    learner: str = Field(description="The name of the algorithm, such as lr-rf.")
    labels: list[str]
    n_features: int
    features: list[str] | None = Field(
        description="In the order of training; null where they have no names: rows are arrays then."
    )
    categories: dict[str, list[str]] = Field(
        description="Of each feature that is a category, by name or else number, its levels."
    )
    unseen: str = Field(description="What other levels are: an error, or missing.")
    versions: Versions
    limits: Limits


class Status(BaseModel):
    """That the process lives, or ranks."""

    status: str

"""A table of learners of which each is imported when it is asked for."""

import difflib
import importlib
from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING

from lrrf_jax._validation import InputError

if TYPE_CHECKING:
    from lrrf_jax.learners.base import LabelRanker


class UnknownLearnerError(InputError, KeyError):
    """A name that no learner has: what a mapping raises, and what a user reads."""

    __str__ = ValueError.__str__  # that of KeyError is a literal, with quotes around it


class Learners(MutableMapping[str, "type[LabelRanker]"]):
    """The classes of learners by name, used as a dict; it begins as ``name: "module.Class"``."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._known: dict[str, str | type[LabelRanker]] = {**places}

    def __getitem__(self, name: str) -> "type[LabelRanker]":
        known = self._known.get(name)
        if known is None:
            raise UnknownLearnerError(self.no_learner(name))
        if isinstance(known, str):
            module, _, class_name = known.rpartition(".")
            known = getattr(importlib.import_module(f"lrrf_jax.learners.{module}"), class_name)
            self._known[name] = known
        return known

    def no_learner(self, name: object) -> str:
        """Say that there is no such learner, which ones there are, and what is close to it.

        >>> Learners({"lr-rf": "", "rpc": ""}).no_learner("LRRF")
        "there is no learner 'LRRF'; there are lr-rf, rpc. Close to it: 'lr-rf'."
        """
        folded = str(name).strip().lower().replace("_", "-")
        close = difflib.get_close_matches(folded, list(self), n=3)
        if not close and folded:
            close = [
                own for own in self if folded.replace("-", "") in self._class_name(own).lower()
            ]
        near = f" Close to it: {', '.join(map(repr, close))}." if close else ""
        return f"there is no learner {name!r}; there are {', '.join(self)}.{near}"

    def _class_name(self, name: str) -> str:
        known = self._known[name]
        return known.rpartition(".")[2] if isinstance(known, str) else known.__name__

    def __setitem__(self, name: str, learner: "type[LabelRanker]") -> None:
        self._known[name] = learner

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __contains__(self, name: object) -> bool:
        return name in self._known  # that of a Mapping would import it

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        return f"LEARNERS of {', '.join(self)}"

"""Learners are scikit-learn's estimators, without scikit-learn being imported to make them so.

It takes longer to import than everything else, for it brings ``scipy.stats`` and, where that is
installed, pandas. Whoever asks for `sklearn.base.BaseEstimator` has imported it. So a learner
begins with `Estimator` for a base, and as soon as ``sklearn.base`` is imported, by anyone, that
base is replaced by the real one: from then on it is inheritance like any other.
"""

import contextlib
import importlib.abc
import importlib.machinery
import inspect
import re
import sys
import types
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

_MODULE = "sklearn.base"
# What scikit-learn alone answers, asked by notebooks and others that need not have imported it.
_ANSWERS = re.compile(r"_repr_html_|_repr_mimebundle_|get_metadata_routing|set_[a-z_]+_request")
_PLAIN = (bool, int, float, str, type(None))  # types that scikit-learn prints as Python does
_LINE = 80

Learner = TypeVar("Learner", bound=type)


class Estimator:
    """What an estimator can do without scikit-learn; all else it does when that is imported."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; ``deep``: also those of estimators among them."""
        first, *parameters = inspect.signature(type(self).__init__).parameters
        values = {name: getattr(self, name) for name in sorted(parameters)}
        if deep and any(hasattr(value, "get_params") for value in values.values()):
            return _with_scikit_learn(self).get_params(deep=True)
        return values

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ValueError for a name that is none."""
        if not params.keys() <= self.get_params(deep=False).keys():
            return _with_scikit_learn(self).set_params(**params)  # parameters of parameters, or no
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if repr(value) != repr(defaults[name].default)
        }
        listed = ", ".join(f"{name}={value!r}" for name, value in changed.items())
        text = f"{type(self).__name__}({listed})"
        plain = all(type(value) in _PLAIN for value in changed.values())
        return text if plain and len(text) < _LINE else repr(_with_scikit_learn(self))

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator.__sklearn_tags__(self)

    if not TYPE_CHECKING:  # a type checker would take any name for one that is there

        def __getattr__(self, name: str) -> Any:
            if _ANSWERS.fullmatch(name):
                return getattr(_with_scikit_learn(self), name)
            return object.__getattribute__(self, name)  # which says what is wrong, as it just did


def becomes_estimator(learner: Learner) -> Learner:
    """Have `Estimator` among the bases replaced when ``sklearn.base`` is imported, or now.

    For the class that all learners come from.
    """
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    if _MODULE in sys.modules:
        _replace_bases()
    return learner


def require_fitted(learner: Any) -> None:
    """Raise scikit-learn's NotFittedError where ``fit`` has not been called."""
    if "params_" not in learner.__dict__:
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(learner, "params_")


def _with_scikit_learn(learner: Any) -> Any:
    """Import scikit-learn, so that the class of the learner has its methods."""
    _replace_bases()
    return learner


def _replace_bases() -> None:
    from sklearn.base import BaseEstimator

    for learner in Estimator.__subclasses__():
        bases = (BaseEstimator if base is Estimator else base for base in learner.__bases__)
        learner.__bases__ = tuple(bases)
        for made_before in _with_subclasses(learner):  # it makes their set_fit_request
            BaseEstimator.__init_subclass__.__func__(made_before)
    with contextlib.suppress(StopIteration):
        sys.meta_path.remove(next(f for f in sys.meta_path if isinstance(f, _Finder)))


def _with_subclasses(learner: type) -> Iterator[type]:
    yield learner
    subclasses: list[type] = learner.__subclasses__()
    for subclass in subclasses:
        yield from _with_subclasses(subclass)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds ``sklearn.base`` where the others find it, and is told when it is there."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _MODULE:
            return None
        others = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
        found = (other.find_spec(fullname, path, target) for other in others)
        spec = next(filter(None, found), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    """Loads as another loader does, and then replaces the bases."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        made: types.ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: types.ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader  # nobody has to know of this one
        self._loader.exec_module(module)
        _replace_bases()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

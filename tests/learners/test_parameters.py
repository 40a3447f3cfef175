"""What users may set: the constructors, made of class bodies, and their documentation."""

import dataclasses
import inspect
import json
import re
import typing

import pytest
from sklearn.base import clone

from lrrf_jax import LEARNERS
from lrrf_jax.learners import LabelRanker
from lrrf_jax.learners.forest.ranker import ForestLabelRanker

# A word of a documented type -> the annotations that it goes with.
PYTHON_TYPES = {
    "int": {"int"},
    "float": {"float"},
    "bool": {"bool"},
    "list": {"list"},
    "None": {"None"},
    "RandomState": {"RandomState"},
}


def section(doc, title):
    """Entries of a section of a numpydoc docstring, by a plain walk over its lines."""
    lines = inspect.cleandoc(doc).splitlines()
    at = lines.index(title)
    assert set(lines[at + 1]) == {"-"}
    entries = []
    for line, following in zip(lines[at + 2 :], [*lines[at + 3 :], ""], strict=True):
        if following and set(following) == {"-"}:
            break
        if line and not line.startswith(" "):
            entries.append([line])
        elif line:
            entries[-1].append(line.strip())
    return entries


def documented_types(text):
    """Names of Python types that a documented type stands for; texts in quotes are ``str``."""
    found = {"str"} if '"' in text else set()
    for word in re.sub(r'"[^"]*"|[{}]', "", text).replace(" or ", ",").split(","):
        if word.strip():
            found |= PYTHON_TYPES[word.strip()]
    return found


def annotated_types(hint):
    return {
        "None" if kind is type(None) else kind.__name__ for kind in typing.get_args(hint) or [hint]
    }


@pytest.mark.parametrize("name", LEARNERS)
def test_every_parameter_is_documented_once_in_order_with_its_type_and_default(name):
    learner = LEARNERS[name]
    parameters = inspect.signature(learner).parameters
    entries = section(learner.__doc__, "Parameters")
    heads = [re.fullmatch(r"(\w+) : (.+), default (.+)", entry[0]) for entry in entries]
    assert [head and head[1] for head in heads] == list(parameters)
    hints = typing.get_type_hints(learner.__init__)
    for (_, *text), head in zip(entries, heads, strict=True):
        parameter = parameters[head[1]]
        default = parameter.default
        assert head[3] == (json.dumps(default) if isinstance(default, str) else repr(default))
        if hints[head[1]] is not typing.Any:
            assert documented_types(head[2]) == annotated_types(hints[head[1]])
        kind = "None" if default is None else type(default).__name__
        assert kind in documented_types(head[2])
        if isinstance(default, str):
            assert f'"{default}"' in head[2]
        assert " ".join(text).endswith(".")


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_say_what_they_do_and_what_they_learn_and_no_heading_stands_twice(name):
    doc = inspect.cleandoc(LEARNERS[name].__doc__)
    assert doc.splitlines()[0].endswith(".")
    attributes = [entry[0].partition(" : ")[0] for entry in section(doc, "Attributes")]
    assert {"labels_", "n_features_in_", "feature_names_in_"} <= set(attributes)
    assert len(attributes) == len(set(attributes))
    headings = re.findall(r"^(\w+)\n-{3,}$", doc, re.MULTILINE)
    order = ["Parameters", "Attributes", "Notes", "Examples"]
    assert headings == [heading for heading in order if heading in headings]


def test_no_text_of_a_parameter_stands_in_two_class_bodies():
    bodies = {base for learner in LEARNERS.values() for base in learner.__mro__}
    texts = [
        entry.partition("\n")[2]
        for base in bodies
        for entry in vars(base).get("_documented", {}).get("Parameters", {}).values()
    ]
    assert len(texts) > 30
    assert len(texts) == len(set(texts))


@pytest.mark.parametrize("name", LEARNERS)
def test_the_constructor_stores_what_it_is_given_and_takes_the_number_of_trees_by_place(name):
    learner = LEARNERS[name]
    given = {parameter: object() for parameter in inspect.signature(learner).parameters}
    made = learner(**given)
    assert vars(made) == given
    assert made.get_params(deep=False) == given
    assert clone(learner()).get_params() == learner().get_params()
    if "n_estimators" in given:
        assert learner(7).n_estimators == 7
    with pytest.raises(TypeError):
        learner(7, 8)
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        learner(colour="red")


class Shallow(ForestLabelRanker):
    """Grow stumps.

    Parameters
    ----------
    shade : float
        How dark.

    Notes
    -----
    None.
    """

    shade: float = 0.5
    max_depth: int = 1


class Bare(Shallow):
    max_depth: int = 2


class ByHand(Shallow):
    """A constructor of its own."""

    def __init__(self, max_depth=3, *, shade=1.0):
        super().__init__(max_depth=max_depth, shade=shade)


def test_a_class_body_makes_a_constructor_and_adds_to_the_documentation_of_its_bases():
    own, inherited = inspect.signature(Shallow).parameters, inspect.signature(ForestLabelRanker)
    assert list(own) == ["n_estimators", "shade", *list(inherited.parameters)[1:]]
    assert (Shallow(3).n_estimators, Shallow().max_depth, Shallow(shade=1).shade) == (3, 1, 1)
    heads = [entry[0] for entry in section(Shallow.__doc__, "Parameters")]
    assert heads[:2] == ["n_estimators : int, default 50", "shade : float, default 0.5"]
    assert "max_depth : int, default 1" in heads
    assert "max_depth : int, default 16" in ForestLabelRanker.__doc__
    assert Shallow.__doc__.endswith("Notes\n-----\nNone.\n")
    assert list(inspect.signature(Bare).parameters) == list(own)
    assert "max_depth : int, default 2" in Bare.__doc__


def test_a_constructor_that_is_written_by_hand_is_kept():
    assert list(inspect.signature(ByHand).parameters) == ["max_depth", "shade"]
    assert (ByHand(4).max_depth, ByHand().shade, ByHand().n_estimators) == (4, 1.0, 50)
    heads = [entry[0] for entry in section(ByHand.__doc__, "Parameters")]
    assert heads == ["max_depth : int, default 3", "shade : float, default 1.0"]


def test_learners_compare_and_hash_by_identity_and_print_as_scikit_learn_prints():
    one, other = (LEARNERS["lr-rf"](3) for _ in range(2))
    assert one != other
    assert len({one, other}) == 2
    assert repr(one) == "RandomForestLabelRanker(n_estimators=3)"
    assert dataclasses.is_dataclass(LabelRanker)

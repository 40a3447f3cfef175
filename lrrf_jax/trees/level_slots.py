"""Which nodes of a level may still be split, and which samples are in them.

A level starts with *places*, two for every slot of the level above: the children of its nodes.
A place that holds enough samples, which do not all agree, opens a *slot*; histograms are kept
for slots only. The samples of all other places rest where they are.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from lrrf_jax._typing import Array
from lrrf_jax._xla import add_at, fusion_barrier, take
from lrrf_jax.trees.criterion import ClassEntropy, SparseClassEntropy, VectorCriterion
from lrrf_jax.trees.growth import GrowthConfig, Samples
from lrrf_jax.trees.level_plan import Plan


class Drawn(NamedTuple):
    """The samples of some trees on their way down."""

    row: Array  # int32 (n_drawn,)
    at: Array  # int32 (n_drawn,), the place, later the slot, of each; 0 for those that rest
    copies: Array  # int32 (n_drawn,), 0 for those that rest
    weight: Array  # int32 (n_drawn,), 0 for those that rest
    label: Array  # int32 (n_drawn,), class in the stage of the node, for `ClassEntropy`
    group: Array  # int32 (n_drawn,), number of the (node, class) pair, for `SparseClassEntropy`


class Nodes(NamedTuple):
    """The nodes of some places or slots."""

    number: Array  # int32 (n,), within the level; whatever where there is no node
    exists: Array  # bool (n,)
    stage: Array  # int32 (n,), which column of classes the node looks at


def class_in_stage(row: Array, stage: Array, samples: Samples, criterion: ClassEntropy) -> Array:
    """Class of each sample in its stage, int32 (n_drawn,); ``n_classes`` where it has none."""
    label = take(samples.stat.reshape(-1), row * samples.stat.shape[1] + stage)
    label = jnp.where(label < 0, criterion.n_classes, label)
    return jnp.where(take(samples.weight, row) > 0, label, criterion.n_classes)


def open_slots(
    places: Nodes, drawn: Drawn, samples: Samples, config: GrowthConfig, plan: Plan
) -> tuple[Nodes, Drawn]:  # nodes (n_slots,), those of each kind in the order of their places
    """Open a slot for each place that may be split; ``drawn.at`` goes from places to slots."""
    count, agree, stage, label = _examine(places, drawn, samples, config)
    opens = places.exists & ~agree & (count >= config.min_samples_split)
    slot_of_place, exists = _number_slots(opens, drawn, plan)
    written = jnp.where(opens, slot_of_place, plan.n_slots)
    nothing = jnp.zeros(plan.n_slots, jnp.int32)
    nodes = Nodes(
        number=nothing.at[written].set(places.number, mode="drop"),
        exists=exists,
        stage=nothing.at[written].set(stage, mode="drop"),
    )
    slot_of_place = fusion_barrier(samples.zero, jnp.where(opens, slot_of_place, -1))
    slot = take(slot_of_place, drawn.at)
    inside = slot >= 0
    return nodes, drawn._replace(
        at=jnp.maximum(slot, 0),
        copies=jnp.where(inside, drawn.copies, 0),
        weight=jnp.where(inside, drawn.weight, 0),
        label=label,
    )


def _number_slots(
    opens: Array,  # bool (n_places,)
    drawn: Drawn,  # in places
    plan: Plan,
) -> tuple[Array, Array]:  # int32 (n_places,), whatever where none opens; bool (n_slots,)
    """Give each slot that opens a number, from the first of its kind; also say which exist."""
    parts = [opens]
    if len(plan.kinds) > 1:
        nothing = jnp.zeros(len(opens), jnp.int32)
        n_rows = add_at(nothing, drawn.at, (drawn.copies > 0).astype(jnp.int32))
        for kind in plan.kinds[1:]:
            few = n_rows <= kind.most_rows
            parts[-1:] = [parts[-1] & ~few, parts[-1] & few]
    number, exists = None, []
    for part, kind in zip(parts, plan.kinds, strict=True):
        own = jnp.cumsum(part.astype(jnp.int32)) + (kind.first - 1)
        number = own if number is None else jnp.where(part, own, number)
        exists.append(jnp.arange(kind.n_slots, dtype=jnp.int32) < part.sum(dtype=jnp.int32))
    assert number is not None
    return number, jnp.concatenate(exists)


def _examine(
    places: Nodes, drawn: Drawn, samples: Samples, config: GrowthConfig
) -> tuple[Array, Array, Array, Array]:
    """Count the samples of each place, and see whether they agree.

    Returns the counts, int32 (n_places,); whether no split can gain, bool (n_places,); the
    stages, int32 (n_places,); and the classes of the samples in them, int32 (n_drawn,).
    """
    criterion, n_places = config.criterion, len(places.stage)
    if isinstance(criterion, ClassEntropy):
        return _advance_stages(places, drawn, samples, criterion)
    count = add_at(jnp.zeros(n_places, jnp.int32), drawn.at, drawn.copies)
    if isinstance(criterion, SparseClassEntropy):
        # The search finds no split worth making in a pure node, see `search_sorted`.
        agree = jnp.zeros(n_places, bool)
    else:
        agree = _vectors_agree(drawn, samples, criterion, n_places)
    return count, agree, places.stage, drawn.label


def _advance_stages(
    places: Nodes, drawn: Drawn, samples: Samples, criterion: ClassEntropy
) -> tuple[Array, Array, Array, Array]:
    """Move each node on to the first stage in which its samples differ."""
    n_places, n_columns = len(places.stage), criterion.n_classes + 1

    def count_classes(label):
        # One look at each sample tells both: samples without a class have a column too.
        cell = drawn.at * n_columns + label
        sums = add_at(jnp.zeros(n_places * n_columns, jnp.int32), cell, drawn.copies)
        sums = sums.reshape(n_places, n_columns)
        known = sums[:, :-1]
        return sums.sum(1), known.max(1) == known.sum(1)

    count, pure = count_classes(drawn.label)
    if criterion.n_stages == 1:
        return count, pure, places.stage, drawn.label

    def moving(pure, stage):
        return pure & places.exists & (stage < criterion.n_stages - 1)

    def step(state):
        _, pure, stage, _ = state
        stage = stage + moving(pure, stage).astype(jnp.int32)
        label = class_in_stage(drawn.row, take(stage, drawn.at), samples, criterion)
        return *count_classes(label), stage, label

    state = count, pure, places.stage, drawn.label
    return lax.while_loop(lambda state: moving(state[1], state[2]).any(), step, state)


def _vectors_agree(
    drawn: Drawn, samples: Samples, criterion: VectorCriterion, n_places: int
) -> Array:  # bool (n_places,)
    """Whether the samples of each place agree, so that no split can gain."""
    place = jnp.where(drawn.copies > 0, drawn.at, n_places)
    stat = samples.stat[drawn.row]
    if criterion.signs:
        signs = stat[:, : criterion.n_signs]
        both = [
            jnp.zeros((n_places, criterion.n_signs), bool).at[place].max(seen, mode="drop")
            for seen in (signs > 0, signs < 0)
        ]
        return ~(both[0] & both[1]).any(1)
    # Compare every sample with one of its node.
    position = jnp.arange(len(place), dtype=jnp.int32)
    example = jnp.zeros(n_places, jnp.int32).at[place].max(position, mode="drop")
    differs = (stat != stat[take(example, drawn.at)]).any(1)
    return ~jnp.zeros(n_places, bool).at[place].max(differs, mode="drop")

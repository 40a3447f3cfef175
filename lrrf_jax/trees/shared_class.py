"""Shannon entropy of classes that a sample may have several of, in equal shares.

What :mod:`lrrf_jax.trees.class_criterion` is where each sample has one.
"""

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax

from lrrf_jax._backend import by_platform
from lrrf_jax._numerics import sum_terms, xlog2x
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import add_at, take
from lrrf_jax.trees.criterion import Criterion, Statistic
from lrrf_jax.trees.growth import Drawn, Nodes, Samples
from lrrf_jax.trees.vector_criterion import VectorCriterion

_State = tuple[Array, Array]  # whether the samples of each place agree; the stage it is in


@dataclasses.dataclass(frozen=True)
class SharedClassEntropy(VectorCriterion):
    """Entropy of classes, of which a sample has one or shares of several in each stage.

    Samples come as int32 (n_samples, 3 n_classes): the first stage in which a sample has a class,
    the stage after the last one, and its share of the sample there. A node whose samples have the
    same shares in one stage goes on to the next; in the last no split can gain.
    """

    n_classes: int
    n_stages: int = 1
    separate_count = True  # shares are no numbers of samples
    weight_row = False

    @property
    def n_columns(self) -> int:
        """Rows of the sums that hold shares."""
        return self.n_classes

    def with_room(
        self, stat: NDArray, n_rows: int, room: Callable[[int], int]
    ) -> tuple[Criterion, NDArray]:
        """Leave classes that no sample has, and stages that no node comes to."""
        n_classes = room(self.n_classes)
        n_stages = 1 if self.n_stages == 1 else max(self.n_stages, n_classes - 1)
        wider = ((0, 0), (0, n_classes - self.n_classes))
        stat = np.concatenate([np.pad(part, wider) for part in np.split(stat, 3, axis=1)], axis=1)
        return dataclasses.replace(self, n_classes=n_classes, n_stages=n_stages), stat

    def start(self, drawn: Drawn, samples: Samples) -> Array:
        """Stage of the node of each sample."""
        return jnp.zeros_like(drawn.row)

    def shares(self, drawn: Drawn, samples: Samples) -> Array:  # int32 (n_drawn, n_classes)
        """Shares of each sample in the stage of its node."""
        first, end, share = jnp.split(take(samples.stat, drawn.row), 3, axis=1)
        stage = drawn.label[:, None]
        return jnp.where((first <= stage) & (stage < end), share, 0)

    def examine(
        self, places: Nodes, drawn: Drawn, samples: Samples
    ) -> tuple[Array, Array, Nodes, Drawn]:
        """Count samples; move each node on to the first stage in which its samples differ."""
        n_places = len(places.stage)
        count = add_at(jnp.zeros(n_places, jnp.int32), drawn.at, drawn.copies)

        def agree_in(stage: Array) -> Array:
            return self._same_shares(drawn._replace(label=take(stage, drawn.at)), samples, n_places)

        last_stage: Array = samples.sizes.n_stages - 1

        def moving(state: _State) -> Array:
            agree, stage = state
            return agree & places.exists & (stage < last_stage)

        def step(state: _State) -> _State:
            stage = state[1] + moving(state).astype(jnp.int32)
            return agree_in(stage), stage

        state = agree_in(places.stage), places.stage
        if self.n_stages > 1:
            state = by_platform(
                # The first takes few steps, but needs a host that says when to stop.
                cpu=lambda: lax.while_loop(lambda state: moving(state).any(), step, state),
                accelerator=lambda: lax.fori_loop(
                    0, self.n_stages - 1, lambda _, state: step(state), state
                ),
            )
        agree, stage = state
        drawn = drawn._replace(label=take(stage, drawn.at))
        return count, agree, places._replace(stage=stage), drawn

    def _same_shares(self, drawn: Drawn, samples: Samples, n_places: int) -> Array:
        """Whether all samples of a place that have a class have the same; bool (n_places,)."""
        shares = self.shares(drawn, samples)
        known = (shares > 0).any(1) & (drawn.weight > 0)
        place = jnp.where(known, drawn.at, n_places)
        position = jnp.arange(len(place), dtype=jnp.int32)
        example = jnp.zeros(n_places, jnp.int32).at[place].max(position, mode="drop")
        differs = (shares != take(shares, take(example, drawn.at))).any(1)
        # Words, for GPUs write single bytes by compare-and-swap.
        nothing = jnp.zeros(n_places, jnp.int32)
        return nothing.at[place].max(differs.astype(jnp.int32), mode="drop") == 0

    def statistics(self, drawn: Drawn, samples: Samples) -> list[Statistic]:
        """Weighted shares, then the number of samples that have any."""
        shares = self.shares(drawn, samples)
        counted = jnp.where((shares > 0).any(1), drawn.copies, 0)
        columns = [shares * drawn.weight[:, None], counted[:, None]]
        return [Statistic(None, jnp.concatenate(columns, axis=1))]

    def score(self, sums: Array) -> Array:
        """Minus entropy in bits, times weight."""
        shape = (*sums.shape[:-2], sums.shape[-1])
        terms = sum_terms(self.n_classes, lambda k: xlog2x(self.at(sums, k)), shape)
        total = sum_terms(self.n_classes, lambda k: self.at(sums, k), shape, jnp.int32)
        return terms - xlog2x(total)

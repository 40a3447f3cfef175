"""A vector per sample: the variance of its components, some of which may be missing."""

import abc
import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from lrrf_jax._backend import by_platform
from lrrf_jax._numerics import product, quotient, sum_terms
from lrrf_jax._typing import Array, NDArray
from lrrf_jax._xla import add_at, take
from lrrf_jax.trees.criterion import Criterion, HistogramCriterion, Statistic, row_of
from lrrf_jax.trees.growth import Drawn, Nodes, Samples

_LEAST_VALUES = 8  # room for fewer is not worth a program
_WORD_BITS = 31  # of int32


class VectorCriterion(HistogramCriterion):
    """A criterion whose samples are vectors of integers, summed component by component.

    The sums have a row for each column of a sample, then, where ``weight_row``, their weight,
    and where ``count_row``, their number.
    """

    adds_vectors = True
    separate_count: bool
    masked: bool
    weight_row: bool

    @property
    @abc.abstractmethod
    def n_columns(self) -> int:
        """Columns of a sample."""

    @property
    def n_signs(self) -> int:
        """Leading columns whose opposite signs are all disagreement there is; 0: any difference."""
        return 0

    @property
    def count_row(self) -> bool:
        """Whether the number of samples is kept apart from their weight."""
        return self.separate_count or not self.weight_row

    @property
    def n_stats(self) -> int:
        """Rows of the sums."""
        return self.n_columns + self.weight_row + self.count_row

    def examine(
        self, places: Nodes, drawn: Drawn, samples: Samples
    ) -> tuple[Array, Array, Nodes, Drawn]:
        """Count samples; where they agree, no split can gain."""
        count = add_at(jnp.zeros(len(places.stage), jnp.int32), drawn.at, drawn.copies)
        return count, self._agree(drawn, samples, len(count)), places, drawn

    def _agree(self, drawn: Drawn, samples: Samples, n_places: int) -> Array:
        place = jnp.where(drawn.copies > 0, drawn.at, n_places)
        agree: Array = by_platform(
            cpu=lambda: self._agree_in_bits(place, drawn, samples, n_places),
            accelerator=lambda: self._agree_in_words(place, drawn, samples, n_places),
        )
        return agree

    def _agree_in_bits(self, place: Array, drawn: Drawn, samples: Samples, n_places: int) -> Array:
        if self.n_signs and self.masked:
            signs = samples.stat[drawn.row, : self.n_signs]
            both = [
                jnp.zeros((n_places, self.n_signs), bool).at[place].max(seen, mode="drop")
                for seen in (signs > 0, signs < 0)
            ]
            return ~(both[0] & both[1]).any(1)
        # Compare every sample with one of its node.
        stat = _packed(samples.stat[:, : self.n_signs] > 0) if self.n_signs else samples.stat
        own = take(stat, drawn.row)
        position = jnp.arange(len(place), dtype=jnp.int32)
        example = jnp.zeros(n_places, jnp.int32).at[place].max(position, mode="drop")
        differs = (own != own[take(example, drawn.at)]).any(1)
        return ~jnp.zeros(n_places, bool).at[place].max(differs, mode="drop")

    def _agree_in_words(self, place: Array, drawn: Drawn, samples: Samples, n_places: int) -> Array:
        """Do the same without writing bytes, which accelerators do in loops."""
        stat, at = samples.stat[drawn.row], drawn.at
        if self.n_signs and self.masked:
            signs = stat[:, : self.n_signs]
            most = jnp.full((n_places, self.n_signs), -1, jnp.int32)
            most = most.at[place].max(signs, mode="drop")
            differs = ((take(most, at) > 0) & (signs < 0)).any(1)
        else:  # signs differ where they are not the same, for none of them is 0
            position = jnp.arange(len(place), dtype=jnp.int32)
            example = jnp.zeros(n_places, jnp.int32).at[place].max(position, mode="drop")
            differs = (stat != stat[take(example, at)]).any(1)
        nothing = jnp.zeros(n_places, jnp.int32)
        return nothing.at[place].max(differs.astype(jnp.int32), mode="drop") == 0

    def statistics(self, drawn: Drawn, samples: Samples) -> list[Statistic]:
        """Weighted columns, then weight and number where they are kept."""
        columns = [samples.stat[drawn.row] * drawn.weight[:, None]]
        if self.weight_row:
            columns.append(drawn.weight[:, None])
        if self.count_row:
            columns.append(drawn.copies[:, None])
        return [Statistic(None, jnp.concatenate(columns, axis=1))]

    def at(self, sums: Array, index: int | Array) -> Array:
        """One row of the sums, which may be kept as int16; int32 (..., n_lanes)."""
        return row_of(sums, index).astype(jnp.int32)

    def count(self, sums: Array) -> Array:
        """Count the samples."""
        return self.at(sums, self.n_stats - 1)

    def weight(self, sums: Array) -> Array:
        """Weigh the samples."""
        return self.at(sums, self.n_columns) if self.weight_row else self.count(sums)

    def mean_weight(self, sums: Array) -> Array | float:
        """Divide weight by number, float32 (..., n_lanes); 1 where samples have no weights."""
        if not self.separate_count:
            return 1.0
        count = jnp.maximum(self.count(sums), 1).astype(jnp.float32)
        return quotient(self.weight(sums).astype(jnp.float32), count)

    def fits_16_bits(self, stat: NDArray, n_samples: int) -> bool:
        """Whether there are few samples for the largest component."""
        return n_samples * max(1, int(np.abs(stat).max(initial=0))) < 2**15


def _packed(bits: Array) -> Array:  # bool (n_rows, n_bits) -> int32 (n_rows, n_words)
    """Put the bits of each row into few words, the same ones for the same bits."""
    n_words = -(-bits.shape[1] // _WORD_BITS)
    padded = jnp.pad(bits, ((0, 0), (0, n_words * _WORD_BITS - bits.shape[1])))
    shift = jnp.arange(_WORD_BITS, dtype=jnp.int32)
    words = padded.reshape(len(bits), n_words, _WORD_BITS).astype(jnp.int32) << shift
    return words.sum(-1, dtype=jnp.int32)


@dataclasses.dataclass(frozen=True)
class Variance(VectorCriterion):
    """Variance of a vector, summed over its components.

    Samples come as int32 (n_samples, n_values) vectors. With ``masked`` each component has its
    own number of observations, and a sample that lacks it counts neither way; a sample is then
    (n_samples, 2 n_values): values, 0 where missing, and 0/1 marks of the observed ones.
    """

    n_values: int
    masked: bool = False
    separate_count: bool = False
    # Values are -1, 0 or 1, so that full agreement shows in the sums alone.
    signs: bool = False

    def with_room(
        self, stat: NDArray, n_rows: int, room: Callable[[int], int]
    ) -> tuple[Criterion, NDArray]:
        """Add components that are 0, and observed nowhere."""
        n_values = room(max(self.n_values, _LEAST_VALUES))
        parts = np.split(stat, 1 + self.masked, axis=1)
        padded = [np.pad(part, ((0, 0), (0, n_values - self.n_values))) for part in parts]
        return dataclasses.replace(self, n_values=n_values), np.concatenate(padded, axis=1)

    @property
    def weight_row(self) -> bool:  # type: ignore[override]
        """Whether all components have the same observations."""
        return not self.masked

    @property
    def n_columns(self) -> int:
        """Columns of a sample."""
        return self.n_values * (1 + self.masked)

    @property
    def n_signs(self) -> int:
        """All values, where they are signs."""
        return self.n_values if self.signs else 0

    def score(self, sums: Array) -> Array:
        """Sum of (sum of values)^2 / observations."""

        def term(k: int | Array) -> Array:
            value = self.at(sums, k).astype(jnp.float32)
            if self.masked:
                observed = jnp.maximum(self.at(sums, self.n_values + k), 1).astype(jnp.float32)
                return product(value, quotient(value, observed))
            return product(value, value)

        total = sum_terms(self.n_values, term, (*sums.shape[:-2], sums.shape[-1]))
        if self.masked:
            return total
        return quotient(total, jnp.maximum(self.weight(sums), 1).astype(jnp.float32))

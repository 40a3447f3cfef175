"""Which parts of a run one job of an array takes."""

from typing import Any, NamedTuple

from lrrf_jax._validation import InputError


class Shard(NamedTuple):
    """Job ``number``, from 1, of ``total``."""

    number: int
    total: int

    @property
    def tag(self) -> str:
        """Name of the shard in file names."""
        return f"{self.number}-of-{self.total}"

    def takes(self, source: int, part: int) -> bool:
        """Tell whether a part, of an input with a number, is for this shard.

        Neighbouring parts and neighbouring inputs go to different shards. Needs no knowledge of
        other inputs, so that one that is unreadable on some host shifts nothing.

        >>> [[Shard(i, 3).takes(1, part) for part in range(4)] for i in (1, 2, 3)]
        [[False, False, True, False], [True, False, False, True], [False, True, False, False]]
        """
        return (source + part) % self.total == self.number - 1


WHOLE = Shard(1, 1)


def as_shard(shard: Any) -> Shard:
    """Read ``None``, ``"i/n"`` or ``(i, n)``; i counts from 1.

    >>> as_shard("2/8")
    Shard(number=2, total=8)
    """
    if shard is None:
        return WHOLE
    try:
        number, total = shard.split("/") if isinstance(shard, str) else shard
        chosen = Shard(int(number), int(total))
        exact = isinstance(shard, str) or chosen == (number, total)
    except (TypeError, ValueError):
        exact = False
    if not exact or not 1 <= chosen.number <= chosen.total:
        raise InputError(
            f"shard must be i/n with 1 <= i <= n, such as 1/8 for the first of eight; it is "
            f"{shard!r}. Job arrays that count from 0 add 1."
        )
    return chosen

"""A bar of the trees that have grown."""

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress(verbose: int, n_trees: int, n_there: int = 0) -> Iterator[Callable[[int], None]]:
    """Show a bar on stderr where ``verbose`` asks for one; ``n_there`` trees need not grow."""
    if not verbose:
        yield lambda n_grown: None
        return
    from tqdm import tqdm  # here, so that growing trees does without it

    with tqdm(total=n_trees, initial=n_there, unit="tree", file=sys.stderr) as bar:
        yield lambda n_grown: bar.update(n_grown) and None

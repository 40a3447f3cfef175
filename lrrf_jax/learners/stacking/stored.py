"""The members of a stack in its model file: each with a header and arrays of its own."""

from typing import Any

from lrrf_jax._typing import NDArray
from lrrf_jax._validation import ModelFileError
from lrrf_jax.learners.persistence.content import ADDED

_SAME = ("labels", "n_features", "feature_names")  # as the stack has them
_AGAIN = "Save the model again, with this version of lrrf_jax."


def own_arrays(arrays: dict[str, NDArray]) -> dict[str, NDArray]:
    """Pick the arrays that belong to no member."""
    return {name: values for name, values in arrays.items() if "." not in name}


def put_members(
    path: Any, members: dict[str, Any], header: dict[str, Any], arrays: dict[str, NDArray]
) -> None:
    """Add what a model file holds of the members to what it holds of the stack."""
    header["members"] = []
    for number, (name, member) in enumerate(members.items()):
        its_header, its_arrays = member._stored(path)
        header["members"].append([name, its_header])
        arrays |= {f"{number}.{array}": values for array, values in its_arrays.items()}


def read_members(path: Any, header: dict[str, Any], arrays: dict[str, NDArray]) -> dict[str, Any]:
    """Make the members anew; raises ModelFileError for what cannot be members of this stack."""
    from lrrf_jax.learners import of_content

    entries = header.get("members")
    n_members = header["config"]["n_members"]
    if not isinstance(entries, list) or len(entries) != n_members:
        raise ModelFileError(f"{path}: holds no usable 'stack' model: it lacks members. {_AGAIN}")
    members = {}
    for number, entry in enumerate(entries):
        name, its_header = entry if isinstance(entry, list) and len(entry) == 2 else (None, None)
        if not isinstance(name, str) or name in members or not isinstance(its_header, dict):
            raise ModelFileError(
                f"{path}: holds no usable 'stack' model: member {number} has no name or header of "
                f"its own. {_AGAIN}"
            )
        differs = [what for what in _SAME if its_header.get(what) != header[what]]
        if differs:
            raise ModelFileError(
                f"{path}: holds no usable 'stack' model: member '{name}' has other {differs[0]} "
                f"than the stack. {_AGAIN}"
            )
        prefix = f"{number}."
        its_arrays = {
            array.removeprefix(prefix): values
            for array, values in arrays.items()
            if array.startswith(prefix)
        }
        added = {what: header[what] for what in ADDED}
        members[name] = of_content(path, its_header | added, its_arrays)
    _require_all_taken(path, arrays, n_members)
    return members


def _require_all_taken(path: Any, arrays: dict[str, NDArray], n_members: int) -> None:
    for array in arrays:
        number, dot, _ = array.partition(".")
        if dot and not (number.isdecimal() and int(number) < n_members):
            raise ModelFileError(
                f"{path}: holds no usable 'stack' model: the array {array!r} belongs to no member. "
                f"{_AGAIN}"
            )

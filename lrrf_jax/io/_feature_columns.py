"""Which columns of a table hold the features of a model: told by names, without NumPy."""

from collections.abc import Sequence

from lrrf_jax._dialect import Dialect, csv_header, dialect_of
from lrrf_jax._table_names import TEXT_SUFFIXES, match_columns, resembling, suffix_of
from lrrf_jax._validation import InputError


def require_columns(
    path: str,
    told: Dialect,
    feature_names: Sequence[str] | None,
    n_features: int,
    features: str | Sequence[str] | None,
    keep: str | Sequence[str],
) -> None:
    """Raise InputError where the header of a text table lacks columns; other files pass."""
    if suffix_of(path) in TEXT_SUFFIXES:
        names = csv_header(path, dialect_of(path, told))
        chosen_features(path, names, feature_names, n_features, features)
        match_columns(path, names, keep, "keep")


def chosen_features(
    path: str,
    names: list[str],
    feature_names: Sequence[str] | None,
    n_features: int,
    features: str | Sequence[str] | None,
) -> list[str]:
    """Return the columns that hold the features of the model, in its order."""
    if features is not None:
        chosen = match_columns(path, names, features, "features")
        if len(chosen) != n_features:
            raise InputError(
                f"{path}: features= picks {len(chosen)} columns, the model has {n_features} "
                "features. Pick as many."
            )
        return chosen
    if n_features == 0:  # the consensus of rankings without features
        return []
    if feature_names is None:
        raise InputError(
            f"{path}: the model was trained without feature names, so its {n_features} features "
            f"cannot be told among the {len(names)} columns. Say which they are, with "
            "features= (--features GLOB)."
        )
    known = set(names)
    lacking = [name for name in feature_names if name not in known]
    if lacking:
        shown = ", ".join(map(repr, lacking[:10])) + (", ..." if len(lacking) > 10 else "")
        raise InputError(
            f"{path}: {len(lacking)} of the {n_features} feature columns of the model are not "
            f"there: {shown}. {resembling(lacking[0], names)} Rename the columns, or say which to "
            "use with features= (--features GLOB)."
        )
    return list(feature_names)

"""`fetch_kebi`: the sixteen data sets of the field, from a folder or from the network."""

import contextlib
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

import platformdirs

from lrrf_jax._files import replacing
from lrrf_jax._validation import InputError, is_no_room, unwritable
from lrrf_jax.datasets._kebi_registry import SUFFIXES, kebi_sets

if TYPE_CHECKING:
    from lrrf_jax.datasets.container import LabelRankingData

FOLDER_VARIABLE = "LRRF_DATA"
# Copies on the network, at a commit each, so that they cannot change. The first has all sets.
MIRRORS = (
    "https://raw.githubusercontent.com/LoicAdam/Imprecise_Plackett_Luce/"
    "51bb0d801cd08464d3362a8edf8ed7c575eacc0b/data/{file}.txt",
    "https://raw.githubusercontent.com/akorba/Structured_Approach_Label_Ranking/"
    "7519eeb703eff641e223af49450afa831f291325/data/{name}.txt",
)
_FILES = {"calhousing": "callhousing", "cpu-small": "cpu"}  # as the first mirror calls them
_SECONDS = 30  # without an answer


def kebi_names() -> tuple[str, ...]:
    """Return the names that `fetch_kebi` knows.

    Examples
    --------
    >>> kebi_names()[:4], len(kebi_names())
    (('authorship', 'bodyfat', 'calhousing', 'cpu-small'), 16)
    """
    return tuple(kebi_sets())


def fetch_kebi(
    name: str,
    *,
    directory: str | os.PathLike[str] | None = None,
    urls: str | Sequence[str] | None = None,
    force: bool = False,
    progress: bool = False,
    as_frame: bool = False,
) -> "LabelRankingData":
    """Load one of the sixteen KEBI sets; download it where it is not there yet.

    The sets are those of Cheng, Huehn and Huellermeier (2009), which Zhou and Qiu (2018) and most
    papers of the field use. They are looked for in a folder, as NAME.csv.gz, .csv, .parquet, .npz,
    .xarff or .txt, and downloaded to it if need be.

    Copies differ in their format, so not the file is checked but what it says: shape, SHA-256 of
    the rankings and SHA-256 of the features as float32. Features whose last digits are rounded
    otherwise are accepted with a warning.

    Parameters
    ----------
    name : str
        One of `kebi_names`.
    directory : path, optional
        The folder; by default ``$LRRF_DATA``, or else the user's cache, such as
        ``~/.cache/lrrf_jax/kebi``.
    urls : str or sequence of str, optional
        Where to download from, tried in turn; ``{name}`` stands for the name. By default copies
        in public repositories.
    force : bool
        Download even where a copy is there, and replace it.
    progress : bool
        Show the download on stderr.
    as_frame : bool
        Return ``X`` and ``y`` as pandas data frames, with the names of their columns.

    Returns
    -------
    LabelRankingData
        Complete rankings; features are called A1, A2, ..., labels L1, L2, ...

    Raises
    ------
    InputError
        Where the name is not known, the copy in the folder is damaged, or no download worked; the
        message says what failed and what to do. A bad download leaves nothing behind.
    """
    data = _fetched(name, directory, urls, force, progress)
    return data.in_frames() if as_frame else data


def _fetched(
    name: str,
    directory: str | os.PathLike[str] | None,
    urls: str | Sequence[str] | None,
    force: bool,
    progress: bool,
) -> "LabelRankingData":
    sets = kebi_sets()
    if name not in sets:
        raise InputError(f"there is no KEBI set {name!r}; there are {', '.join(sets)}.")
    from lrrf_jax.datasets.kebi_content import read_copy  # which takes NumPy and pyarrow

    folder = kebi_directory(directory)
    path = None if force else local_copy(name, folder)
    if path is not None:
        try:
            return read_copy(path, name, sets[name])
        except InputError as error:
            raise InputError(
                f"{error} The copy is damaged, or of another set. Replace it with "
                f"fetch_kebi({name!r}, force=True) (lrrf datasets fetch --force {name})."
            ) from error
    places = [urls] if isinstance(urls, str) else list(urls or MIRRORS)
    failures = []
    for place in places:
        url = place.replace("{name}", name).replace("{file}", _FILES.get(name, name))
        try:
            with _downloaded(url, name, folder, progress) as path:
                data = read_copy(path, name, sets[name])
                _keep(path, name, folder)
                return data
        except (InputError, OSError, ValueError) as error:
            if isinstance(error, OSError) and (
                is_no_room(error) or isinstance(error, PermissionError)
            ):
                raise unwritable(folder, error) from error
            failures.append(f"{url} ({_reason(error)})")
    raise InputError(
        f"{name} could not be downloaded: {'; '.join(failures)}. Without a network, put a copy "
        f"into {folder} as {name}.csv.gz, {name}.csv or {name}.txt, or name the folder that has it "
        f"with directory= or ${FOLDER_VARIABLE}."
    )


def kebi_directory(directory: str | os.PathLike[str] | None = None) -> str:
    """Return the folder where sets are looked for."""
    if directory is not None:
        return os.path.abspath(os.path.expanduser(os.fsdecode(directory)))
    if os.environ.get(FOLDER_VARIABLE):
        return os.path.abspath(os.path.expanduser(os.environ[FOLDER_VARIABLE]))
    return os.path.join(platformdirs.user_cache_dir("lrrf_jax"), "kebi")


def local_copy(name: str, folder: str) -> str | None:
    """Return the path of the copy of a set in a folder, if there is one."""
    paths = (os.path.join(folder, f"{name}{suffix}") for suffix in SUFFIXES)
    return next((path for path in paths if os.path.isfile(path)), None)


def _pooch() -> Any:
    try:
        import pooch
    except ImportError:
        raise InputError(
            "downloads need pooch. Install it: pip install 'lrrf_jax[datasets]'; or name a folder "
            f"that has the data sets with directory= or ${FOLDER_VARIABLE}."
        ) from None
    return pooch


@contextlib.contextmanager
def _downloaded(url: str, name: str, folder: str, progress: bool) -> Iterator[str]:
    """Download to a file of this process alone, which is removed in the end if still there."""
    from lrrf_jax._table_names import suffix_of

    pooch = _pooch()
    suffix = suffix_of(urlparse(url).path)
    file = f"download-{os.getpid()}-{name}{suffix if suffix in SUFFIXES else '.txt'}"
    path = os.path.join(folder, file)
    logger = pooch.get_logger()
    level = logger.level
    try:
        logger.setLevel("ERROR")  # it would print a hash to put into the code
        loader = pooch.HTTPDownloader(progressbar=progress, timeout=_SECONDS)
        # There is no hash of the file: see `fetch_kebi` for what is checked.
        pooch.retrieve(url, known_hash=None, fname=file, path=folder, downloader=loader)
        yield path
    finally:
        logger.setLevel(level)
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)


def _reason(error: Exception) -> str:
    """Say in a few words why a download failed."""
    kinds = {kind.__name__ for kind in type(error).__mro__}  # of requests, which pooch brings
    if "Timeout" in kinds:
        return f"no answer for {_SECONDS} seconds"
    if "ConnectionError" in kinds:
        return "no connection"
    text = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return re.sub(r"^\S*download-\d+-", "", text).rstrip(".")


def _keep(path: str, name: str, folder: str) -> None:
    """Give a good download its name, and remove older copies, which would be found before it."""
    from lrrf_jax._table_names import suffix_of

    final = os.path.join(folder, f"{name}{suffix_of(path)}")
    # A copy, for pooch lets nobody else read its files.
    with open(path, "rb") as download, replacing(final) as file:
        shutil.copyfileobj(download, file)
    for suffix in SUFFIXES:
        other = os.path.join(folder, f"{name}{suffix}")
        if other != final:
            with contextlib.suppress(FileNotFoundError):
                os.remove(other)

"""The files of registered corpora on this machine: local copies, or downloads kept in a cache."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hardalign.corpora.registry import Collection, RegisteredCorpus, RegisteredFile
from hardalign.errors import HardalignError
from hardalign.files import make_folder, sha256

if TYPE_CHECKING:
    from requests import RequestException

GITHUB = "https://raw.githubusercontent.com"
DATA_DIR = "HARDALIGN_DATA"
"""The environment variable that names the folder of local copies."""
CACHE_DIR = "HARDALIGN_CACHE"
"""The environment variable that names the folder for downloads."""

_RETRIES = 2


def fetch_file(
    corpus: RegisteredCorpus,
    file: RegisteredFile,
    data_dir: Path | None = None,
    *,
    base: str = GITHUB,
    timeout: float = 30.0,
) -> Path:
    """Returns a file of a corpus: a local copy if there is one, else the cached or new download.

    Args:
        corpus: The corpus.
        file: One of its files.
        data_dir: The folder with local copies; if not given, what HARDALIGN_DATA names. A copy
            lies there under its ``name`` or, in a clone of the repository, under its ``path``.
        base: The address that the repository's name is appended to.
        timeout: Seconds to wait for a sign of the server.

    Raises:
        HardalignError: The file is not the registered one, or not here and not to be had.
    """
    if data_dir is None and os.environ.get(DATA_DIR):
        data_dir = Path(os.environ[DATA_DIR])
    if data_dir is not None and (copy := _local_copy(file, data_dir)):
        return copy
    if corpus.collection.by_hand:
        raise HardalignError(
            f"{corpus.name} is never downloaded: {corpus.collection.by_hand}; {_put(file)}"
        )
    return _download(corpus.collection, file, base, timeout)


def file_url(collection: Collection, file: RegisteredFile, base: str = GITHUB) -> str:
    """Returns the address of a file of a public collection."""
    return f"{base}/{collection.repository}/{collection.commit}/{file.path}"


def _local_copy(file: RegisteredFile, data_dir: Path) -> Path | None:
    if not data_dir.is_dir():
        raise HardalignError(f"{data_dir}: no such folder; name the one with your copies")
    # Without a path the second place would be the folder itself, which is no file.
    places = (data_dir / file.name, data_dir / file.path)
    copy = next((place for place in places if place.is_file()), None)
    if copy is not None and file.sha256 is not None:
        try:
            checksum = sha256(copy.read_bytes())
        except OSError as error:
            raise HardalignError(f"{copy}: cannot be read: {error.strerror}") from error
        if checksum != file.sha256:
            raise HardalignError(
                f"{copy}: not the registered file: its sha256 begins with {checksum[:12]}, "
                f"not with {file.sha256[:12]}; get it again, or use it as a file of your own"
            )
    return copy


def _download(collection: Collection, file: RegisteredFile, base: str, timeout: float) -> Path:
    try:
        import pooch  # type: ignore[import-untyped]
        from filelock import FileLock
        from requests import RequestException
    except ModuleNotFoundError:
        raise HardalignError(
            "downloads need a package; install it with pip install 'hardalign[data]'"
        ) from None
    pooch.get_logger().setLevel("WARNING")
    cache = Path(os.environ.get(CACHE_DIR) or pooch.os_cache("hardalign"))
    make_folder(cache)
    url = file_url(collection, file, base)
    keeper = pooch.create(
        cache,
        base_url="",
        registry={file.name: f"sha256:{file.sha256}"},
        urls={file.name: url},
        retry_if_failed=_RETRIES,
    )
    try:
        # Runs that start together download once; who waits finds the file whole.
        with FileLock(cache / ".lock"):
            return Path(keeper.fetch(file.name, downloader=pooch.HTTPDownloader(timeout=timeout)))
    except RequestException as error:
        reason = _reason(error, timeout)
    except ValueError:
        reason = "what arrives is not the registered file: its sha256 differs"
    except OSError as error:
        raise HardalignError(
            f"{cache}: cannot be written: {error.strerror or error}; "
            f"free some space or name another folder with {CACHE_DIR}"
        ) from error
    raise HardalignError(f"{url}: cannot be downloaded: {reason}; try again later, or {_put(file)}")


def _reason(error: RequestException, timeout: float) -> str:
    from requests import HTTPError, Timeout

    if isinstance(error, HTTPError) and error.response is not None:
        return f"the server answers {error.response.status_code} {error.response.reason}"
    # A server that falls silent in the middle of a file is no Timeout in requests' eyes.
    if isinstance(error, Timeout) or "timed out" in str(error):
        return f"no sign of the server within {timeout:g} seconds"
    # requests' own words are a page long; the type tells a proxy or certificate from a dead line.
    return f"there is no network, or the connection broke off ({type(error).__name__})"


def _put(file: RegisteredFile) -> str:
    return f"put the file as {file.name} into a folder and name that by data_dir or {DATA_DIR}"

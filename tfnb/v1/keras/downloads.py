"""`tf.keras.utils.get_file`: files that are on this machine already. Nothing is downloaded.

Invariant: the path that is returned is that of an existing file or folder, with the checksum that was asked for.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from tfnb.errors import DataLossError, NotFoundError

__all__ = ["get_file", "local_file"]


def local_file(name: str, origin: str = "", subfolder: str = "datasets", folder: str | Path | None = None) -> Path:
    """Returns the path of a file in the cache of Keras, ~/.keras. Raises `NotFoundError` when it is not there."""
    given = Path(name)
    path = given if given.is_absolute() else Path(folder or Path.home() / ".keras") / subfolder / name
    if not path.exists():
        source = f"; fetch {origin} yourself" if origin else "; put it there"
        raise NotFoundError(f"{path} is not there, and tfnb downloads nothing{source}")
    return path


def get_file(
    fname: str,
    origin: str,
    untar: bool = False,
    md5_hash: str | None = None,
    file_hash: str | None = None,
    cache_subdir: str = "datasets",
    hash_algorithm: str = "auto",
    extract: bool = False,
    archive_format: object = "auto",
    cache_dir: str | None = None,
) -> str:
    """Returns the path of a file in the cache of Keras, or with `untar` and `extract` of the unpacked folder.

    Raises `NotFoundError` when it is not there, since nothing is downloaded or unpacked, and `DataLossError` for
    another checksum.
    """
    del archive_format
    name = fname.removesuffix(".tar.gz").removesuffix(".zip") if untar or extract else fname
    path = local_file(name, origin, cache_subdir, cache_dir)
    wanted = file_hash or md5_hash
    if wanted and path.is_file():
        kind = hash_algorithm if hash_algorithm != "auto" else "sha256" if len(wanted) == 64 else "md5"
        if hashlib.new(kind, path.read_bytes()).hexdigest() != wanted:
            raise DataLossError(f"{path} does not have the {kind} checksum {wanted}")
    return str(path)

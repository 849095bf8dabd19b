"""The folder in which several devices write the parts of one sharded save, until the parts are merged.

As in TensorFlow its name is `PREFIX_temp_TOKEN`, with a random token of the saver's graph. Each process that writes a
part claims the folder, so that the next save can distinguish a folder left by killed processes from one in use.
Invariant: a process holds at most one claim per saver, that of the saver's last save.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable

from tfnb.system.files import make_folder, os_errors
from tfnb.system.scratch import PART_FOLDER, Claim, remove_owners

__all__ = ["claim_folder", "remove_folders"]

_TOKEN = 32  # the number of characters in a token
_claims: dict[str, Claim] = {}  # claims by the saver's token
_lock = threading.Lock()


def claim_folder(prefix: str) -> None:
    """Creates and claims the folder of a part to be saved under this prefix; does nothing for any other prefix."""
    folder = os.path.dirname(prefix)
    if not PART_FOLDER.fullmatch(os.path.basename(folder)):
        return
    make_folder(folder)
    with _lock, os_errors(folder):
        claim = _claims.get(folder[-_TOKEN:])
        if claim is None or claim.folder != folder or not claim.is_there():
            _claims[folder[-_TOKEN:]] = Claim(folder)
            if claim is not None:  # the claim of a save that failed, or that another process merged
                claim.leave()


def remove_folders(prefixes: Iterable[str]) -> None:
    """Removes the folders of these parts with their owner files; a folder that contains other files is kept."""
    for folder in {os.path.dirname(p) for p in prefixes}:
        if not PART_FOLDER.fullmatch(os.path.basename(folder)):
            continue
        with _lock:
            claim = _claims.get(folder[-_TOKEN:])
            if claim is not None and claim.folder == folder:
                del _claims[folder[-_TOKEN:]]
                claim.release()
        remove_owners(folder)
        with contextlib.suppress(OSError):
            os.rmdir(folder)

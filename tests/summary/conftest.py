"""Event files as TensorBoard's own loader sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def events():
    """(folder) -> the Events that TensorBoard's loader finds in the folder's files, in order."""
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    def load(folder: Any) -> list[Any]:
        return [e for p in sorted(Path(folder).iterdir()) for e in EventFileLoader(str(p)).Load()]

    return load

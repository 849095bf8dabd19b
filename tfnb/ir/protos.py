"""TensorFlow's protobuf messages, from the `tensorboard` package, loaded when they are first needed.

Files, graphs and summaries are exchanged in them. Invariant: importing tfnb loads no protobuf; this is the one place
that knows where the messages come from.
"""

from __future__ import annotations

import importlib
from typing import Any

from tfnb.caches import remembered

__all__ = ["proto"]


@remembered("modules of messages", 64)
def proto(name: str) -> Any:
    """Returns the module of messages of `name`.proto: `proto("summary").Summary`."""
    return importlib.import_module(f"tensorboard.compat.proto.{name}_pb2")

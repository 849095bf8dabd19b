"""`tf.train.Example` and its parts, the messages of records.

Invariant: the classes are created on first use, because protobuf loads slowly.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tfnb.client.namespace import Lazy
from tfnb.ops.io.example_messages import MESSAGES, message

__all__ = ["API"]

API: dict[str, Any] = {f"train.{name}": Lazy(partial(message, name)) for name in MESSAGES}

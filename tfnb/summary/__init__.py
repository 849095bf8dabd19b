"""Event files: writing, reading and downsampling (white paper, section 9).

The messages `Summary`, `Event` and others are attributes of this module, which imports protobuf only when one of them
is used. Invariant: TensorBoard can read every file that is written here.
"""

from __future__ import annotations

from typing import Any

from tfnb.ir.protos import proto

# message -> the file of TensorFlow that declares it
_MESSAGES = {
    "Summary": "summary",
    "SummaryMetadata": "summary",
    "SummaryDescription": "summary",
    "HistogramProto": "histogram",
    "Event": "event",
    "LogMessage": "event",
    "SessionLog": "event",
    "TaggedRunMetadata": "event",
}


def __getattr__(name: str) -> Any:
    if name not in _MESSAGES:
        raise AttributeError(f"module 'tfnb.summary' has no attribute {name!r}")
    return getattr(proto(_MESSAGES[name]), name)

"""Text that is pasted into the builder: a graph as protobuf's text becomes Python, or is refused."""

from __future__ import annotations

from pathlib import Path

from fuzz.mutate import of_bytes
from fuzz.readers import graph_text
from fuzz.target import Target
from tfnb.errors import InvalidArgumentError
from tfnb.notebook.builder.files.graph_text import MOST_CHARACTERS, is_graph_text, python_of_graph


def read(data: bytes) -> None:
    """Reads a text as the builder does when it is pasted."""
    text = data.decode("utf-8", "replace")
    if not is_graph_text(text):
        raise InvalidArgumentError("this is no graph as text")
    python_of_graph(text[: MOST_CHARACTERS + 1])


def target(folder: Path) -> Target:
    seeds = [text for text in graph_text.texts() if len(text) < 4000]
    return Target(seeds, graph_text.hostile(), [of_bytes(seeds), graph_text.of_tokens(seeds)], read)

"""A book, *Alice's Adventures in Wonderland*, for tutorials on texts.

It is in the public domain (where it is from: README.md in this folder). Invariant: reading needs no network.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["read_text"]


def read_text() -> str:
    """Returns the whole book, 148,410 letters of ASCII: its title, then twelve chapters.

    Lines end with a line feed; an empty line stands between paragraphs. Quotations begin with a grave accent and end
    with an apostrophe.
    """
    return (Path(__file__).parent / "alice.txt").read_text("ascii")

"""Docstrings as Markdown: what stands in them is text, but for words in backticks, lists and indented code."""

from __future__ import annotations

import re

__all__ = ["as_markdown"]

SPECIAL = re.compile(r"([\\*_{}\[\]<>#|$~])")


def as_markdown(doc: str) -> str:
    """Returns a docstring, cleaned of its indentation, as Markdown that shows it as it is read in the source."""
    return "\n\n".join(_block(block) for block in re.split(r"\n{2,}", doc.strip("\n")) if block.strip())


def _block(block: str) -> str:
    lines = block.split("\n")
    if lines[0].startswith(">>> "):
        return f"```python\n{block}\n```"
    indented = [line for line in lines if line.startswith("    ")]
    if len(indented) == len(lines):
        width = min(len(line) - len(line.lstrip()) for line in lines)
        return "```text\n" + "\n".join(line[width:] for line in lines) + "\n```"
    if _is_table(lines):
        return f"```text\n{block}\n```"
    return "\n".join(_line(line) for line in lines)


def _is_table(lines: list[str]) -> bool:
    """Whether columns are laid out by spaces, which text that is filled would lose."""
    return sum(bool(re.search(r"\S {2,}\S", line)) for line in lines) > 1


def _line(line: str) -> str:
    parts = re.split(r"(``[^`]+``|`[^`]+`)", line)
    text = "".join(part if part.startswith("`") else SPECIAL.sub(r"\\\1", part) for part in parts)
    if re.match(r"[-*] |\d+\. ", line):  # an item of a list; an escaped star is none
        return text.replace("\\*", "*", 1) if line.startswith("* ") else text
    text = text.lstrip()
    return f"\\{text}" if text.startswith(("-", "+", "=")) else text  # which would begin a list or underline a heading

"""Rendering: writes the tree of a kernel as lines of OpenCL C.

Invariant: the text follows from the tree alone; a loop's or condition's body of one statement has no braces.
"""

from __future__ import annotations

from tfnb.codegen.opencl_c.tree import Assign, Block, Call, Declare, For, If, Range, Return, Store

__all__ = ["render"]

INDENT = "    "


def render(block: Block, depth: int = 0) -> list[str]:
    """Returns the lines of a block, indented by `depth` levels."""
    lines: list[str] = []
    _block(block, INDENT * depth, lines)
    return lines


def _block(block: Block, margin: str, lines: list[str]) -> None:
    for node in block:
        if isinstance(node, Declare):  # most statements have no body
            lines.append(margin + _declare(node))
        elif isinstance(node, (For, If, Range)):
            _nested(node, margin, lines)
        else:
            lines.append(margin + _line(node))


def _nested(node: For | If | Range, margin: str, lines: list[str]) -> None:
    """The lines of a statement with a body: its head, and the body one level deeper."""
    braces = len(node.body) != 1 or isinstance(
        node, Range
    )  # RANGE is a macro, in which a reader does not see the loop, so it always has braces
    lines.append(f"{margin}{_head(node)} {{" if braces else margin + _head(node))
    _block(node.body, margin + INDENT, lines)
    if braces:
        lines.append(margin + "}")


def _head(node: For | If | Range) -> str:
    if isinstance(node, If):
        return f"if ({node.condition})"
    if isinstance(node, Range):
        return f"RANGE({node.ctype}, {node.name}, {node.end}, {node.step})"
    name = node.name
    step = f"++{name}" if node.step == "1" else f"{name} += {node.step}"
    return f"for ({node.ctype} {name} = {node.begin}; {name} < {node.end}; {step})"


def _line(node: Assign | Store | Call | Return) -> str:
    """Returns the text of a statement without a body."""
    if isinstance(node, Store):
        return _store(node)
    if isinstance(node, Assign):
        return f"{node.name} {node.op}= {node.value};"
    if isinstance(node, Call):
        return f"{node.name};" if node.args is None else f"{node.name}({', '.join(node.args)});"
    return "return;"


def _declare(node: Declare) -> str:
    name = f"{node.name}[{node.length}]" if node.length else node.name
    declaration = f"{node.ctype}{name}" if node.ctype[-1] == "*" else f"{node.ctype} {name}"
    return f"{declaration} = {node.value};" if node.value else f"{declaration};"


def _store(node: Store) -> str:
    if node.lanes == 1:
        if node.ctype == "half":
            return f"vstore_half({node.value}, {node.at}, {node.pointer});"
        return f"{node.pointer}[{node.at}] = {node.value};"
    address = node.pointer if node.at == "0" else f"{node.pointer} + {node.at}"
    if node.live:
        return f"put({address}, {node.value}, {node.live});"
    return f"STORE({node.ctype}, {node.lanes}, {node.value}, {address});"

"""Writes the messages that tfnb/notebook/protocol declares as TypeScript: labextension/src/protocol/NAME.ts.

`PYTHONPATH=. python scripts/browser_protocol.py` writes the files; tests/notebook/test_protocol.py fails when they are
not what this would write. Invariant: the output follows the formatter's rules, so that `npm run check` accepts it.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

ROOT = Path(__file__).resolve().parents[1]
DECLARED = ROOT / "tfnb" / "notebook" / "protocol"
WRITTEN = ROOT / "labextension" / "src" / "protocol"
WIDTH = 100
PLAIN = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    bytes: "Bytes",
    NoneType: "null",
    Any: "unknown",
}
BYTES = re.compile(r"(: |readonly )Bytes\b")


class Declarations:
    """The declarations of one module, in the order of their source."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
        self._names: dict[Any, str] = {}

    def typescript(self) -> str:
        """The text of the TypeScript file."""
        blocks = []
        for k, node in enumerate(self._tree.body):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                blocks.append(self._interface(node))
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
                if isinstance(target, ast.Name) and not target.id.startswith("_"):
                    blocks.append(_doc(_text_of(self._tree.body[k + 1 : k + 2]), "") + self._assigned(target.id))
        source = f"{self._module.__name__.replace('.', '/')}.py"
        head = f"Generated from {source} by scripts/browser_protocol.py.\n\n{self._module.__doc__}"
        lines = head.strip().split("\n")
        imports = 'import type { Bytes } from "./bytes";\n\n' if BYTES.search("".join(blocks)) else ""
        return "".join(f"// {line}".rstrip() + "\n" for line in lines) + f"\n{imports}" + "\n".join(blocks)

    def _assigned(self, name: str) -> str:
        value = getattr(self._module, name)
        if name.isupper():
            return f"export const {name} = {_constant(value)} as const;\n"
        text = self._type(value)
        self._names[value] = name
        return _alias(name, text)

    def _interface(self, node: ast.ClassDef) -> str:
        declared = getattr(self._module, node.name)
        assert is_typeddict(declared), f"{node.name} is no TypedDict"
        docs = self._field_docs(node)
        lines = []
        for field, hint in get_type_hints(declared).items():
            optional = "?" if field in declared.__optional_keys__ else ""
            lines.append(f"{_doc(docs.get(field, ''), '  ')}  readonly {field}{optional}: {self._type(hint)};\n")
        return f"{_doc(_text_of(node.body), '')}export interface {node.name} {{\n{''.join(lines)}}}\n"

    def _field_docs(self, node: ast.ClassDef) -> dict[str, str]:
        """The string behind each field, also of those that are inherited."""
        docs: dict[str, str] = {}
        for base in node.bases:
            for other in self._tree.body:
                if isinstance(other, ast.ClassDef) and isinstance(base, ast.Name) and other.name == base.id:
                    docs.update(self._field_docs(other))
        for field, after in zip(node.body, [*node.body[1:], None], strict=True):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and after is not None:
                docs[field.target.id] = _text_of([after])
        return docs

    def _type(self, hint: Any) -> str:
        if hint in self._names:
            return self._names[hint]
        if is_typeddict(hint):
            return str(hint.__name__)
        if hint in PLAIN:
            return PLAIN[hint]
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Literal:
            return " | ".join(json.dumps(value) for value in arguments)
        if origin in (Union, UnionType):
            return " | ".join(self._type(argument) for argument in arguments)
        if origin is list:
            inner = self._type(arguments[0])
            return f"readonly ({inner})[]" if " " in inner else f"readonly {inner}[]"
        if origin is tuple:
            return f"readonly [{', '.join(self._type(argument) for argument in arguments)}]"
        if origin is dict:
            key = self._type(arguments[0])
            return f"Readonly<Record<{key}, {self._type(arguments[1])}>>"
        raise TypeError(f"{self._module.__name__}: {hint} has no form in TypeScript")


def _constant(value: Any) -> str:
    if isinstance(value, dict):
        inner = [f"{key}: {json.dumps(one)}" for key, one in value.items()]
        return _broken("{ ", inner, " }", "export const NAME_OF_IT = ")
    return _broken("[", [json.dumps(one) for one in value], "]", "export const NAME_OF_IT = ")


def _broken(begin: str, inner: list[str], end: str, before: str) -> str:
    """On one line, or a line for each where that would be too long."""
    line = f"{begin}{', '.join(inner)}{end}"
    if len(before) + len(line) <= WIDTH - len(" as const;"):
        return line
    return begin.strip() + "\n" + "".join(f"  {one},\n" for one in inner) + end.strip()


def _alias(name: str, text: str) -> str:
    line = f"export type {name} = {text};\n"
    if len(line) <= WIDTH + 1:
        return line
    return f"export type {name} =\n" + "\n".join(f"  | {one}" for one in text.split(" | ")) + ";\n"


def _text_of(nodes: list[Any]) -> str:
    """The string that stands first in a class, or behind a field or an alias."""
    if nodes and isinstance(nodes[0], ast.Expr) and isinstance(nodes[0].value, ast.Constant):
        return " ".join(str(nodes[0].value.value).split())
    return ""


def _doc(text: str, indent: str) -> str:
    if not text:
        return ""
    if len(indent) + len(text) + 7 <= WIDTH:
        return f"{indent}/** {text} */\n"
    lines = textwrap.wrap(text, WIDTH - len(indent) - 3)
    return f"{indent}/**\n" + "".join(f"{indent} * {line}\n" for line in lines) + f"{indent} */\n"


def generated() -> dict[str, str]:
    """The text of each file by its name."""
    names = [path.stem for path in sorted(DECLARED.glob("*.py")) if path.stem != "__init__"]
    modules = {name: importlib.import_module(f"tfnb.notebook.protocol.{name}") for name in names}
    return {f"{name}.ts": Declarations(module).typescript() for name, module in modules.items()}


def main() -> int:
    for name, text in generated().items():
        (WRITTEN / name).write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

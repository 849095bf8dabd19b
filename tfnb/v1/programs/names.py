"""The names of TensorFlow that a program uses, read from its syntax tree without running it.

Imports and assignments of modules (`slim = tf.contrib.slim`) are followed, in each function anew. Invariant: a name is
counted only where it surely is TensorFlow's; a variable that is bound to something else is not followed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Use", "uses"]

_CAUGHT = ("AttributeError", "ImportError", "ModuleNotFoundError", "Exception")
_Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass
class Use:
    """A name of TensorFlow at a line of a program.

    path: the dotted name below `tensorflow`. guarded: whether the program goes on where it is missing. call: the call
    of this name, or None.
    """

    path: str
    line: int
    guarded: bool = False
    call: ast.Call | None = None


@dataclass
class _Scope:
    """The local names that stand for modules and names of TensorFlow; None for those that stand for something else."""

    names: dict[str, str | None] = field(default_factory=dict)
    outer: _Scope | None = None

    def get(self, name: str) -> str | None:
        if name in self.names:
            return self.names[name]
        return self.outer.get(name) if self.outer else None


class _Reader(ast.NodeVisitor):
    """Collects the uses. `is_module` returns whether a dotted name is a module of TensorFlow; aliases of those are
    followed."""

    def __init__(self, is_module: Callable[[str], bool]) -> None:
        self.uses: list[Use] = []
        self._is_module = is_module
        self._scope = _Scope()
        self._guards = 0
        self._later: list[tuple[ast.AST, _Scope, int]] = []

    def read(self, tree: ast.Module) -> None:
        """Reads a program: the lines of the module first, then the bodies of functions, as they see its names."""
        for statement in tree.body:
            self.visit(statement)
        while self._later:
            function, self._scope, self._guards = self._later.pop(0)
            body = function.body if isinstance(function, _Function) else []
            for node in body if isinstance(body, list) else [body]:
                self.visit(node)

    def _add(self, path: str, node: ast.AST, call: ast.Call | None = None) -> None:
        self.uses.append(Use(path, getattr(node, "lineno", 0), self._guards > 0, call))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            top, _, below = alias.name.partition(".")
            if top != "tensorflow":
                self._scope.names[alias.asname or top] = None
                continue
            self._scope.names[alias.asname or top] = below if alias.asname else ""
            if below:
                self._add(below, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        top, _, below = (node.module or "").partition(".")
        for alias in node.names:
            path = None
            if top == "tensorflow" and not node.level:
                path = f"{below}.{alias.name}".lstrip(".")
                self._add(below if alias.name == "*" else path, node)
            self._scope.names[alias.asname or alias.name] = path

    def visit_Try(self, node: ast.Try) -> None:
        caught = [ast.unparse(handler.type) if handler.type else "Exception" for handler in node.handlers]
        guards = any(name in text for name in _CAUGHT for text in caught)
        self._guards += guards
        for part in node.body:
            self.visit(part)
        self._guards -= guards
        for rest in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(rest)

    def visit_If(self, node: ast.If) -> None:
        """Counts names in both branches as guarded if the test asks for an attribute or a version of TensorFlow."""
        text = ast.unparse(node.test)
        guards = "hasattr(" in text or "__version__" in text or "VERSION" in text
        self.visit(node.test)
        self._guards += guards
        for part in (*node.body, *node.orelse):
            self.visit(part)
        self._guards -= guards

    def visit_IfExp(self, node: ast.IfExp) -> None:
        guards = "hasattr(" in ast.unparse(node.test)
        self._guards += guards
        self.generic_visit(node)
        self._guards -= guards

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for part in (*node.decorator_list, *node.args.defaults, *(d for d in node.args.kw_defaults if d)):
            self.visit(part)
        self._scope.names[node.name] = None
        self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for part in (*node.args.defaults, *(d for d in node.args.kw_defaults if d)):
            self.visit(part)
        self._function(node)

    def _function(self, node: ast.FunctionDef | ast.Lambda) -> None:
        names = [a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)]
        self._later.append((node, _Scope(dict.fromkeys(names), self._scope), self._guards))

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        path = self._path(node.value)
        followed = path if path is not None and self._is_module(path) else None
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._scope.names[target.id] = followed
            else:
                self.visit(target)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            path = self._scope.get(node.id)
            if path:
                self._add(path, node)
        else:
            self._scope.names[node.id] = None

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self._path(node)
        if path is None:
            self.visit(node.value)
        elif isinstance(node.ctx, ast.Load):
            self._add(path, node)

    def visit_Call(self, node: ast.Call) -> None:
        path = self._path(node.func)
        if path:
            self._add(path, node, node)
        else:
            self.visit(node.func)
        for part in (*node.args, *node.keywords):
            self.visit(part)

    def _path(self, node: ast.AST) -> str | None:
        """Returns the dotted name below tensorflow of an expression, "nn.relu" for `tf.nn.relu`, or None."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        base = self._scope.get(node.id) if isinstance(node, ast.Name) else None
        return None if base is None else ".".join([*([base] if base else []), *parts])


def uses(tree: ast.Module, is_module: Callable[[str], bool]) -> list[Use]:
    """Returns the names of TensorFlow that a program uses, in the order of its text.

    is_module: whether a dotted name below tensorflow is a module.
    """
    reader = _Reader(is_module)
    reader.read(tree)
    return sorted(reader.uses, key=lambda use: use.line)

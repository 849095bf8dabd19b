"""Which names a statement of Python binds and which it reads.

The rules are those of Python as far as a straight-line program needs them: names inside of functions, lambdas and
comprehensions are their own, everything else belongs to the module. Invariant: a name that is read is reported with
its place in the source, so that it can be renamed there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

__all__ = ["Names", "names_of"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


_NAMELESS = (ast.Constant, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


class Names(ast.NodeVisitor):
    """The names of one piece of syntax: `bound` in the order of binding, `reads` and `writes` as nodes of the tree.

    `deferred` are the reads inside of functions, which happen when the function is called.
    """

    def __init__(self) -> None:
        self.bound: dict[str, None] = {}
        self.reads: list[ast.Name] = []
        self.writes: list[ast.Name] = []
        self.deferred: list[ast.Name] = []
        self._locals: list[set[str]] = []
        self._depth = 0

    def generic_visit(self, node: ast.AST) -> None:
        for name in node._fields:
            value = getattr(node, name, None)
            for part in value if isinstance(value, list) else (value,):
                if isinstance(part, ast.AST) and not isinstance(part, _NAMELESS):
                    self.visit(part)

    def _is_local(self, name: str) -> bool:
        return any(name in names for names in self._locals)

    def visit_Name(self, node: ast.Name) -> None:
        if self._is_local(node.id):
            return
        if isinstance(node.ctx, ast.Load | ast.Del):  # `del` needs the name as a read does, and is renamed with it
            (self.deferred if self._depth else self.reads).append(node)
        elif not self._depth:
            self.writes.append(node)
            self.bound[node.id] = None

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.annotation)
        if node.value is not None:
            self.visit(node.value)
            self.visit(node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Name) and not self._is_local(node.target.id) and not self._depth:
            self.reads.append(node.target)
            self.bound[node.target.id] = None
        else:
            self.visit(node.target)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self.visit(node.target)
        for part in (*node.body, *node.orelse):
            self.visit(part)

    def visit_Import(self, node: ast.Import) -> None:
        self._bind((a.asname or a.name.split(".")[0]) for a in node.names)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self._bind((a.asname or a.name) for a in node.names if a.name != "*")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._define(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._define(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for default in _defaults(node.args):
            self.visit(default)
        self._inside({a.arg for a in _arguments(node.args)}, [node.body])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self.visit(part)
        self._inside(_assigned(node.body), node.body)
        self._bind([node.name])

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self.visit(node.type)
        for part in node.body:
            self.visit(part)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._comprehension(node, [node.elt])

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self._comprehension(node, [node.elt])

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._comprehension(node, [node.elt])

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension(node, [node.key, node.value])

    def _comprehension(self, node: _Comprehension, parts: list[ast.expr]) -> None:
        own = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        self.visit(node.generators[0].iter)  # evaluated outside
        self._locals.append(own)
        for i, generator in enumerate(node.generators):
            if i:
                self.visit(generator.iter)
            for test in generator.ifs:
                self.visit(test)
        for part in parts:
            self.visit(part)
        self._locals.pop()

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for part in (*node.decorator_list, *_defaults(node.args)):
            self.visit(part)
        declared = {n for s in ast.walk(node) if isinstance(s, ast.Global | ast.Nonlocal) for n in s.names}
        own = ({a.arg for a in _arguments(node.args)} | _assigned(node.body)) - declared
        self._inside(own, node.body)
        self._bind([node.name])

    def _inside(self, own: set[str], body: Iterable[ast.AST]) -> None:
        self._locals.append(own)
        self._depth += 1
        for part in body:
            self.visit(part)
        self._depth -= 1
        self._locals.pop()

    def _bind(self, names: Iterable[str]) -> None:
        for name in names:
            if not self._depth and not self._is_local(name):
                self.bound[name] = None


def names_of(*trees: ast.AST) -> Names:
    """Returns the names that the pieces of syntax bind and read, in this order."""
    names = Names()
    for tree in trees:
        names.visit(tree)
    return names


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    optional = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *optional]


def _defaults(arguments: ast.arguments) -> list[ast.expr]:
    return [d for d in (*arguments.defaults, *arguments.kw_defaults) if d is not None]


def _assigned(body: Iterable[ast.stmt]) -> set[str]:
    """The names that a function's body binds, without those of the functions in it."""
    names: set[str] = set()
    parts: list[ast.AST] = list(body)
    while parts:
        part = parts.pop()
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(part.name)
        elif isinstance(part, ast.Import | ast.ImportFrom):
            names.update(a.asname or a.name.split(".")[0] for a in part.names)
        elif isinstance(part, ast.Name):
            if not isinstance(part.ctx, ast.Load):
                names.add(part.id)
        elif not isinstance(part, _Function | _Comprehension):
            parts.extend(ast.iter_child_nodes(part))
    return names

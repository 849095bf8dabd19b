"""`RELU: OpDef[Tensor]` says to type checkers what a call returns: it must be what the op's signature text says."""

from __future__ import annotations

import ast
import inspect
import typing
from types import ModuleType

import pytest

from tfnb.ir import const, function
from tfnb.ir.opdef import Arg, OpDef
from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.ops import all_families
from tfnb.ops.math import unary

FAMILIES = [const, function, *all_families()]


def of_signature(op: OpDef) -> object:
    """The type of a call's result, by the outputs of the op."""
    parts = [list[Tensor] if _is_list(a) else Tensor for a in op.output_args]
    return Operation if not parts else parts[0] if len(parts) == 1 else tuple[tuple(parts)]


def _is_list(a: Arg) -> bool:
    return a.number is not None or a.type_list


def declared(statement: ast.stmt, module: ModuleType) -> object:
    """The declared type of an assigned op: its annotation, or the result of the function that makes it, or None."""
    match statement:
        case ast.AnnAssign(annotation=annotation):
            return eval(ast.unparse(annotation), vars(module))
        case ast.Assign(value=ast.Call(func=ast.Name(name))):
            return typing.get_type_hints(vars(module)[name]).get("return")
    return None


def _assignments(module: ModuleType) -> dict[str, ast.stmt]:
    tree = ast.parse(inspect.getsource(module))
    single = [
        s for s in tree.body if isinstance(s, ast.AnnAssign) or (isinstance(s, ast.Assign) and len(s.targets) == 1)
    ]
    return {ast.unparse(s.target if isinstance(s, ast.AnnAssign) else s.targets[0]): s for s in single}


def wrongly_declared(module: ModuleType) -> dict[str, object]:
    """What is declared of those ops of a module whose declarations say something else than their signatures."""
    ops = {n: s for n, s in _assignments(module).items() if isinstance(vars(module).get(n), OpDef)}
    of_calls = {n: declared(s, module) for n, s in ops.items()}
    return {n: t for n, t in of_calls.items() if t != OpDef[of_signature(vars(module)[n])]}


@pytest.mark.parametrize("module", FAMILIES, ids=lambda m: m.__name__)
def test_ops_return_what_is_declared(module):
    assert wrongly_declared(module) == {}


def test_a_wrong_declaration_is_found(monkeypatch):
    monkeypatch.setattr(unary, "NEG", OpDef("Neg", "x: T", ""))
    monkeypatch.setattr(unary, "ZETA", OpDef("Zeta", "x: T, q: T", "z: N*T"))
    assert wrongly_declared(unary) == {"NEG": OpDef[Tensor], "ZETA": OpDef[Tensor]}

"""The call that a statement makes, taken apart: each argument with its place, matched with a parameter.

A statement is a call (`tf.matmul(a, b)`, `tf.train.AdamOptimizer(0.1).minimize(loss)`, `cell.zero_state(n)`), an
operator (`a * b`), or a plain value. Invariant: a slot has the tree of what the source gives, or None where it gives
nothing, and slots are in the order of the signature.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tfnb.notebook.builder.signatures import Formal, Signature, signature_of

__all__ = ["CallForm", "Resolve", "Slot", "call_form", "dotted"]

Resolve = Callable[[ast.expr], Any]

_OPERATORS: dict[type, tuple[str, str]] = {
    ast.Add: ("add", "+"),
    ast.Sub: ("subtract", "-"),
    ast.Mult: ("multiply", "*"),
    ast.Div: ("divide", "/"),
    ast.FloorDiv: ("floordiv", "//"),
    ast.Mod: ("floormod", "%"),
    ast.Pow: ("pow", "**"),
    ast.MatMult: ("matmul", "@"),
    ast.BitAnd: ("logical_and", "&"),
    ast.BitOr: ("logical_or", "|"),
    ast.BitXor: ("logical_xor", "^"),
    ast.Lt: ("less", "<"),
    ast.LtE: ("less_equal", "<="),
    ast.Gt: ("greater", ">"),
    ast.GtE: ("greater_equal", ">="),
    ast.USub: ("negative", "-"),
    ast.Invert: ("logical_not", "~"),
}


@dataclass(eq=False, slots=True)
class Slot:
    """A place for an argument. `name` is the port's or parameter's name, `tree` what stands there.

    `call` is the call it belongs to (None for operands); `element` the index in a list, or -1; `keyword` whether the
    source names it; `formal` the parameter, None where the signature is not known.
    """

    name: str
    label: str
    formal: Formal | None
    tree: ast.expr | None
    call: ast.Call | None
    position: int = -1
    keyword: ast.keyword | None = None
    element: int = -1
    parent: ast.expr | None = None


@dataclass(eq=False, slots=True)
class CallForm:
    """What a statement calls: `text` is the function as it is written, `function` the object, if it is known."""

    text: str
    title: str
    function: Any
    signature: Signature | None
    call: ast.Call | None
    slots: tuple[Slot, ...]
    kind: str
    """ "call", "operator" or "value"."""

    def slot(self, name: str) -> Slot | None:
        """Returns the slot of this name, or None."""
        return next((s for s in self.slots if s.name == name), None)


def dotted(tree: ast.expr) -> str:
    """Returns "a.b.c" for a chain of names, or ""."""
    parts = []
    while isinstance(tree, ast.Attribute):
        parts.append(tree.attr)
        tree = tree.value
    if not isinstance(tree, ast.Name):
        return ""
    return ".".join([tree.id, *reversed(parts)])


def call_form(value: ast.expr, resolve: Resolve) -> CallForm:
    """Takes an expression apart. `resolve` gives the object that a name or chain of attributes stands for, or None."""
    if isinstance(value, ast.Call):
        return _call(value, resolve)
    operands: list[tuple[str, ast.expr]] = []
    if isinstance(value, ast.BinOp) and type(value.op) in _OPERATORS:
        name, sign = _OPERATORS[type(value.op)]
        operands = [("a" if name == "matmul" else "x", value.left), ("b" if name == "matmul" else "y", value.right)]
    elif isinstance(value, ast.UnaryOp) and type(value.op) in _OPERATORS:
        name, sign = _OPERATORS[type(value.op)]
        operands = [("x", value.operand)]
    elif isinstance(value, ast.Compare) and len(value.ops) == 1 and type(value.ops[0]) in _OPERATORS:
        name, sign = _OPERATORS[type(value.ops[0])]
        operands = [("x", value.left), ("y", value.comparators[0])]
    if operands:
        slots = tuple(Slot(n, n, _operand(n), t, None, i) for i, (n, t) in enumerate(operands))
        return CallForm(f"tf.{name}", sign, None, None, None, slots, "operator")
    slot = Slot("value", "value", None, value, None, 0)
    return CallForm("", "", None, None, None, (slot,), "value")


def _operand(name: str) -> Formal:
    return Formal(name, True, False, True, False, False, False, "python", "", (), "")


def _call(call: ast.Call, resolve: Resolve) -> CallForm:
    text, function = dotted(call.func), resolve(call.func)
    receiver: ast.expr | None = None
    if isinstance(call.func, ast.Attribute):
        owner = call.func.value
        if isinstance(owner, ast.Call):
            made = resolve(owner.func)
            text = f"{dotted(owner.func)}.{call.func.attr}" if dotted(owner.func) else call.func.attr
            if inspect.isclass(made):
                function = _method(made, call.func.attr)
            receiver = owner
        elif isinstance(owner, ast.Name) and (function is None or not inspect.ismodule(resolve(owner))):
            receiver = owner
    signature = signature_of(function) if callable(function) else None
    slots: list[Slot] = []
    if isinstance(receiver, ast.Name):
        slots.append(Slot("self", receiver.id, _operand("self"), receiver, None, 0))
    slots += _arguments(call, signature)
    if isinstance(receiver, ast.Call):
        names = {s.name for s in slots}
        inner = _call(receiver, resolve)
        slots += [s for s in inner.slots if s.name not in names]
    title = text.rpartition(".")[2] or ast.unparse(call.func)[:40]
    return CallForm(text or ast.unparse(call.func)[:80], title, function, signature, call, tuple(slots), "call")


def _method(owner: type, name: str) -> Any:
    """The method of a class as it is called on an instance: its signature has no `self`."""
    member = inspect.getattr_static(owner, name, None)
    if not inspect.isfunction(member):
        return getattr(owner, name, None)
    return member.__get__(_Receiver, type)


class _Receiver:
    """Stands for the object whose method is looked at; nothing is called."""


def _arguments(call: ast.Call, signature: Signature | None) -> list[Slot]:
    formals = list(signature.formals) if signature is not None else []
    given: dict[str, Slot] = {}
    extra: list[Slot] = []
    variadic = next((f for f in formals if f.is_variadic), None)
    positional = [f for f in formals if not (f.is_keyword_only or f.is_variadic or f.name == "**")]
    places = {f.name: i for i, f in enumerate(positional)}
    for i, tree in enumerate(call.args):
        if isinstance(tree, ast.Starred):
            extra.append(Slot(f"*{i}", f"*{ast.unparse(tree.value)[:20]}", None, tree, call, i))
        elif i < len(positional):
            given[positional[i].name] = Slot(positional[i].name, positional[i].name, positional[i], tree, call, i)
        elif variadic is not None:
            k = i - len(positional)
            extra.append(Slot(f"{variadic.name}[{k}]", f"{variadic.name} {k}", variadic, tree, call, i, element=k))
        else:
            extra.append(Slot(f"argument {i}", f"argument {i}", None, tree, call, i))
    for keyword in call.keywords:
        if keyword.arg is None:
            extra.append(Slot("**", "**", None, keyword.value, call, keyword=keyword))
            continue
        formal = signature.formal(keyword.arg) if signature is not None else None
        slot = Slot(keyword.arg, keyword.arg, formal, keyword.value, call, keyword=keyword)
        if formal is None:
            extra.append(slot)
        else:
            given[keyword.arg] = slot
    slots: list[Slot] = []
    for f in formals:
        if f.is_variadic:
            count = sum(s.formal is f for s in extra)
            slots += [s for s in extra if s.formal is f]
            extra = [s for s in extra if s.formal is not f]
            slots.append(Slot(f"{f.name}[{count}]", f"{f.name} {count}", f, None, call, len(call.args), element=count))
        elif f.name in given:
            slots += _elements(given[f.name])
        elif not f.is_old:
            name = f"{f.name}[0]" if f.is_list else f.name
            label, element = (f"{f.name} 0", 0) if f.is_list else (f.name, -1)
            slots.append(Slot(name, label, f, None, call, places.get(f.name, -1), element=element))
    return slots + extra


def _elements(slot: Slot) -> list[Slot]:
    """The slots of a given list of tensors, and one more for the next element; other slots stay one."""
    is_list = slot.formal is not None and slot.formal.is_list
    tree = slot.tree
    if isinstance(tree, ast.List | ast.Tuple) and is_list:
        n, name = len(tree.elts), slot.name
        parts = [
            Slot(f"{name}[{i}]", f"{name} {i}", slot.formal, e, slot.call, slot.position, slot.keyword, i, tree)
            for i, e in enumerate(tree.elts)
        ]
        last = Slot(f"{name}[{n}]", f"{name} {n}", slot.formal, None, slot.call, slot.position, slot.keyword, n, tree)
        return [*parts, last]
    return [slot]

"""The nodes that are drawn for a program that was built.

Invariant: dtypes and shapes are those of the built graph's tensors, and a wire is drawn for each name of another node
that a statement reads.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from tfnb.ir.operation import Operation
from tfnb.ir.tensor import Tensor
from tfnb.notebook.builder.building import MOST_AT_ONCE, Built, Outcome
from tfnb.notebook.builder.calls import CallForm, Slot, call_form
from tfnb.notebook.builder.inside.flops import flops_of
from tfnb.notebook.builder.signatures import Formal
from tfnb.notebook.builder.statements import Program, Statement, Use
from tfnb.notebook.protocol.builder import (
    BuilderNode,
    InputPort,
    OutputPort,
    Parameter,
    Wire,
)

__all__ = ["is_drawn", "node_of", "output_values", "outputs_of", "tensor_of", "wire_of"]

_MOST_OUTPUTS = 32


def is_drawn(statement: Statement) -> bool:
    """Returns whether a statement is a node: imports, docstrings and `pass` are only in the code."""
    tree = statement.tree
    if isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Constant):
        return False
    return not isinstance(tree, ast.Import | ast.ImportFrom | ast.Pass)


def output_values(statement: Statement, outcome: Outcome) -> list[tuple[str, Any]]:
    """Returns the Python expressions for what a statement makes, with their values (None where unknown).

    A list of tensors gives its elements, and at the end the list itself.
    """
    if outcome.outputs is None:
        outcome.outputs = _output_values(statement, outcome)
    return outcome.outputs


def _output_values(statement: Statement, outcome: Outcome) -> list[tuple[str, Any]]:
    if not statement.names:
        return [("", outcome.result)] if outcome.result is not None else []
    outputs: list[tuple[str, Any]] = []
    for name in statement.names:
        if name == "_":
            continue
        value: Any = outcome.values.get(name)
        if type(value) in (list, tuple) and 0 < len(value) <= _MOST_OUTPUTS:
            outputs += [(f"{name}[{i}]", v) for i, v in enumerate(value)]
        outputs.append((name, value))
    return outputs


def outputs_of(statement: Statement, outcome: Outcome) -> list[OutputPort]:
    """Returns the outputs as they are drawn."""
    return [_output(name, value) for name, value in output_values(statement, outcome)]


def tensor_of(value: object) -> Tensor | None:
    """Returns the tensor that a value is or stands for, as a variable does, or None."""
    if isinstance(value, Tensor):
        return value
    if hasattr(value, "__tensor__") and not isinstance(value, type):
        operation = getattr(value, "op", None)
        return operation.outputs[0] if isinstance(operation, Operation) and operation.outputs else None
    return None


def _output(name: str, value: object) -> OutputPort:
    tensor = tensor_of(value)
    if tensor is not None:
        dims = tensor.get_shape().sizes
        shape = None if dims is None else [None if d is None else int(d) for d in dims]
        return {"name": name, "dtype": tensor.dtype.base_dtype.name, "shape": shape}
    return {"name": name, "dtype": "", "shape": None}


def wire_of(tree: ast.expr | None, program: Program, uses: dict[int, Use], built: Built) -> Wire | None:
    """Returns the output that an expression is: a name, or an element of a list; None for anything else."""
    if isinstance(tree, ast.Name):
        name, text = tree, tree.id
    elif isinstance(tree, ast.Subscript) and isinstance(tree.value, ast.Name) and isinstance(tree.slice, ast.Constant):
        name, text = tree.value, f"{tree.value.id}[{tree.slice.value!r}]"
    else:
        return None
    use = uses.get(program.places.place(name.lineno, name.col_offset))
    if use is None or use.by < 0 or not is_drawn(program.statements[use.by]):
        return None
    source = program.statements[use.by]
    names = [n for n, _ in output_values(source, built.outcomes[use.by])]
    if text in names:
        return {"node": source.id, "output": names.index(text)}
    return None


def node_of(program: Program, built: Built, statement: Statement) -> BuilderNode:
    """Returns the node of a statement, as it is sent."""
    outcome = built.outcomes[statement.index]
    uses = {u.start: u for u in statement.uses}
    form = outcome.form
    if form is None and statement.value is not None:
        form = call_form(statement.value, lambda _: None)
    inputs: list[InputPort] = []
    parameters: list[Parameter] = []
    if form is not None and form.kind != "value":
        for slot in form.slots:
            _show(slot, program, built, uses, inputs, parameters)
    elif form is not None:
        parameters.append(_parameter(form.slots[0], program))
    if form is None or form.kind == "value":
        inputs += list(_name_ports(statement, program, built))
    call, kind, title = _words(statement, outcome, form)
    return {
        "id": statement.id,
        "kind": kind,
        "call": call,
        "title": title,
        "line": statement.line,
        "source": statement.text,
        "inputs": inputs,
        "outputs": outputs_of(statement, outcome) or [_output(n, None) for n in statement.names],
        "parameters": parameters,
        "problem": None,
        "parameter_count": outcome.parameter_count,
        "flops": _flops(statement, outcome),
        "frame": "",
    }


def _flops(statement: Statement, outcome: Outcome) -> int:
    if outcome.is_partial or len(outcome.operations) > MOST_AT_ONCE:
        return -1
    values = [value for _, value in output_values(statement, outcome)]
    results = [v if isinstance(v, Operation) else getattr(tensor_of(v), "op", None) for v in values]
    return flops_of(outcome.operations, [op for op in results if op is not None])


def _words(statement: Statement, outcome: Outcome, form: CallForm | None) -> tuple[str, Any, str]:
    """The call, the kind and the title of a node."""
    first = statement.text.split("\n")[0].strip()
    if form is None or form.kind == "value":
        return first, "code", first[:60]
    if form.kind == "operator":
        return form.text, "op", form.title
    code = getattr(form.function, "__code__", None)
    if code is not None and code.co_filename.startswith("<builder"):
        return form.text, "function", form.title
    if outcome.state == "not run" or (outcome.state == "failed" and form.function is None):
        return first, "code", first[:60]
    return form.text, "op" if _is_one(form, outcome) else "layer", form.title


def _is_one(form: CallForm, outcome: Outcome) -> bool:
    """Does the call make one operation, beside constants? A variable counts as one, with its initial value."""
    name = getattr(form.function, "__name__", "")
    if name in ("Variable", "get_variable"):
        return True
    if outcome.is_partial:
        return False
    if outcome.state == "built":
        return sum(op.type != "Const" for op in outcome.operations) <= 1
    return _makes_one(form)


def _makes_one(form: CallForm) -> bool:
    module = getattr(form.function, "__module__", "") or ""
    return not module.startswith(("tfnb.client.layers", "tfnb.client.losses", "tfnb.train", "tfnb.client.rnn"))


def _show(
    slot: Slot,
    program: Program,
    built: Built,
    uses: dict[int, Use],
    inputs: list[InputPort],
    parameters: list[Parameter],
) -> None:
    """Adds a slot to the inputs or to the parameters."""
    if slot.tree is None:
        if slot.formal is not None and slot.formal.is_tensor:
            inputs.append(_input(slot.name, slot.label, None, "", slot.formal, slot.element))
        else:
            parameters.append(_parameter(slot, program))
        return
    wire = wire_of(slot.tree, program, uses, built)
    names = list(_names_in(slot.tree, program, built, uses)) if wire is None else []
    is_tensor = slot.formal is not None and slot.formal.is_tensor
    if wire is None and not is_tensor and not (slot.formal is None and names):
        parameters.append(_parameter(slot, program))
        if not names:
            return
    else:
        text = program.text(slot.tree) if wire is None else ""
        inputs.append(_input(slot.name, slot.label, wire, text, slot.formal, slot.element))
    for name, inner in names:
        inputs.append(_input(f"{slot.name}:{name}", f"{name} in {slot.label}", inner, "", None, -1))


def _input(name: str, label: str, wire: Wire | None, text: str, formal: Formal | None, element: int) -> InputPort:
    is_needed = formal is not None and formal.is_needed and element <= 0
    doc = formal.doc if formal is not None else ""
    return {"name": name, "label": label, "wire": wire, "text": text, "is_needed": is_needed, "doc": doc}


def _names_in(tree: ast.expr, program: Program, built: Built, uses: dict[int, Use]) -> Iterator[tuple[str, Wire]]:
    """The outputs of other nodes that an expression reads, by their Python text, each once."""
    seen: set[str] = set()
    todo: list[ast.AST] = [tree]
    while todo:
        part = todo.pop(0)
        wire = wire_of(part, program, uses, built) if isinstance(part, ast.expr) else None
        if wire is None:
            todo.extend(ast.iter_child_nodes(part))
            continue
        text = ast.unparse(part)
        if text not in seen:
            seen.add(text)
            yield text, wire


def _name_ports(statement: Statement, program: Program, built: Built) -> Iterator[InputPort]:
    """The inputs of a grey block: one for each name of another node that it reads."""
    seen: set[str] = set()
    for use in statement.uses:
        if use.by < 0 or use.name in seen or not is_drawn(program.statements[use.by]):
            continue
        seen.add(use.name)
        source = program.statements[use.by]
        names = [n for n, _ in output_values(source, built.outcomes[use.by])]
        wire: Wire = {"node": source.id, "output": names.index(use.name) if use.name in names else 0}
        yield _input(use.name, use.name, wire, "", None, -1)


def _parameter(slot: Slot, program: Program) -> Parameter:
    formal = slot.formal
    text = program.text(slot.tree) if slot.tree is not None else ""
    if formal is None:
        return {"name": slot.name, "kind": "python", "text": text, "default": "", "choices": [], "doc": ""}
    return {
        "name": slot.name,
        "kind": formal.kind,
        "text": text,
        "default": formal.default,
        "choices": list(formal.choices),
        "doc": formal.doc,
    }

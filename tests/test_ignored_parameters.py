"""No parameter is accepted and then ignored: this test reads the syntax tree of the whole package.

It finds parameters that the body of their function never reads, keyword arguments that are taken out of `**kwargs` and
dropped, and attributes and fields of configuration objects that no code reads. `del x` does not count as reading. What
is left stands in a table with a reason: docs/hints.md for parameters that a user can give, the tables below for the rest.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import tfnb.ops  # noqa: F401 (the modules are looked up among those that are loaded)

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "tfnb"
# In these packages every function is looked at; in `ops`, where kernels and shape functions have a common form, those
# that users call; the rest of the packages has no functions that users call.
PACKAGES = ("client", "train", "session", "summary", "datasets", "ir", "v1")
# Not yet: Keras accepts what its own functions have for a reason that is written nowhere.
NOT_READ = {("v1", "keras"), ("v1", "programs")}

# A part of a class -> the class that users see, by whose name its methods are known.
PARTS = {"Transformations": "Dataset"}
# function -> why it does not read a parameter
INTERNAL = {
    "rnn_step(min_sequence_length, max_sequence_length, skip_conditionals)": "how TensorFlow saves work; no result differs",
    "create_slot(colocate_with_primary)": "a slot is always on the device of its variable; no result differs",
    "create_slot_with_initializer(colocate_with_primary)": "as for create_slot",
    "create_zeros_slot(colocate_with_primary)": "as for create_slot",
    "containing_xla_context(ctxt)": "there is no context of XLA, whatever is asked",
    "in_xla_context(graph)": "there is no context of XLA, whatever is asked",
    "metric_variable(validate_shape)": "the shape is always given, and the variable has it",
    "IndexedSlices.__tensor__(as_ref)": "the protocol of what becomes a tensor; there is no reference",
    "DenseShape.__tensor__(dtype, as_ref)": "the protocol of what becomes a tensor; the caller checks the dtype",
    "_Finder.find_spec(path, target)": "the interface of importlib; the name says which module is meant",
    "Namespace.find_spec(path, target)": "as for `_Finder`",
    "Chain.__tensor__(dtype, as_ref)": "the protocol of what becomes a tensor; the caller checks the dtype",
    "GraphEdit.to_tensor(ref)": "has the form of GraphBuilder.to_tensor; a step's graph has no references to make",
    "dataclass_transform(_)": "the form of typing.dataclass_transform, for Python 3.10",
    "scalar_shape(c)": "a shape function; all have one form",
    "unknown(c)": "a shape function; all have one form",
    "no_outputs(c)": "a shape function; all have one form",
    "_sparse(structure)": "one of the functions that put composites together; all have one form",
    "RoundRobinStrategy.__call__(op)": "a placement strategy's form; round robin does not look at the operation",
    "_Entry.__get__(kind)": "Python's protocol of attributes; those of the class itself are told by the other argument",
    "Size.__deepcopy__(memo)": "Python's protocol; equal formulas are one object, so there is no copy to remember",
    "Channel.post(endpoint)": "Dask's form of a handler",
    "RpcService.hello(name, peer)": "the form of all messages to a task",
    "Initializer.make_part(whole)": "for subclasses that make parts of a whole, as Identity",
    "VariableDeviceChooser.__call__(op)": "the form of device functions; it takes the tasks in turn",
    "Layer.build(shape)": "for subclasses with variables",
    "Layer.call(args, kwargs)": "for subclasses",
    "SessionRunHook.before_run(run_context)": "for subclasses",
    "no_regularizer(_)": "a regulariser's form",
    "_nothing_yet(_)": "the form of a train_op_fn",
    "unconditionally(_, __)": "for decorators whose arguments say when a test is left out in TensorFlow",
    **dict.fromkeys(("BaseMonitor.step_begin(step)", "BaseMonitor.step_end(step, output)"), "for subclasses"),
    "EveryN.every_n_step_begin(step)": "for subclasses",
    "EveryN.every_n_step_end(step, outputs)": "for subclasses",
    "Decoder.finalize(sequence_lengths)": "for subclasses",
    "VocabularyProcessor.fit(unused_y)": "the form of scikit-learn's transformers, as in TensorFlow",
    "VocabularyProcessor.fit_transform(unused_y)": "the form of scikit-learn's transformers, as in TensorFlow",
    "ByteProcessor.fit(x)": "the form of scikit-learn's transformers, as in TensorFlow",
}
_RESULT = "a result that users read"
# class, or class.field -> why no code of the package reads it
FIELDS = {
    **dict.fromkeys(("FileStatistics", "Datasets"), _RESULT),
    **dict.fromkeys(
        (
            "KernelBuildError",
            "BasicDecoderOutput",
            "GANModel",
            "FinalBeamSearchDecoderOutput.beam_search_decoder_output",
            "ValidationMonitor.best_metrics",
            "DirectoryIterator.filenames",
            "InputContext",
            "_StepContext.is_last_step",
            "_Strategies.remote_cluster",
            "CGState",
            "CGLSState",
            "LanczosBidiagState",
            "DataFrameIterator.filenames",
            "_Local.implementation",
        ),
        _RESULT,
    ),
    **dict.fromkeys(
        (
            "RunConfig.protocol",
            "RunConfig.experimental_max_worker_delay_secs",
        ),
        "refused there by refuse_given, which reads them by name",
    ),
    "RunConfig.session_creation_timeout_secs": "see docs/hints.md",
    **dict.fromkeys(
        (
            "_TPUFields.num_cores_per_replica",
            "_TPUFields.tpu_job_name",
            "_TPUFields.initial_infeed_sleep_secs",
            "_TPUFields.input_partition_dims",
            "_TPUFields.eval_training_input_configuration",
            "_TPUFields.experimental_host_call_every_n_steps",
        ),
        "a description of TPUs, which the program reads",
    ),
    "WarmStartSettings": "warm_start gets its fields as arguments",
    "CrossAttrs.internal_type": "values are mixed by their own dtypes",
    "TakeAttrs.wait_for_incomplete": "TensorFlow's kernel does not read it either",
    "TensorSummaryAttrs.display_name": "TensorFlow's kernel does not read it either",
    "StackAttrs.stack_name": "a node's stack has a name of its own in each step",
    "SparseSegmentAttrs.sparse_gradient": "the gradient is the same, sparse or not",
    **dict.fromkeys(
        (f"{name}.use_locking" for name in ("UpdateAttrs", "AssignAttrs", "LockAttrs", "NesterovAttrs", "SlotAttrs")),
        "see docs/hints.md",
    ),
    **dict.fromkeys(("TopKAttrs.sorted", "TopKV2Attrs.sorted", "JpegAttrs.fancy_upscaling"), "see docs/hints.md"),
    **dict.fromkeys(
        (f"{kind}TableAttrs.use_node_name_sharing" for kind in ("", "Vector", "Dense")), "see docs/hints.md"
    ),
    **dict.fromkeys(("DenseTableAttrs.initial_num_buckets", "DenseTableAttrs.max_load_factor"), "see docs/hints.md"),
    **dict.fromkeys(("ConvAttrs.use_cudnn_on_gpu", "SparseMatMulAttrs"), "see docs/hints.md"),
}


class Found(NamedTuple):
    """A parameter that is not read. `where`: the qualified name of its function."""

    path: str
    where: str
    parameter: str

    def __str__(self) -> str:
        return f"{self.path}: {self.where}({self.parameter})"


def parameters(function: ast.FunctionDef) -> list[str]:
    a = function.args
    rest = [x for x in (a.vararg, a.kwarg) if x is not None]
    names = [x.arg for x in [*a.posonlyargs, *a.args, *a.kwonlyargs, *rest]]
    return [n for n in names if n not in ("self", "cls")]


def reads(function: ast.FunctionDef) -> set[str]:
    """The names that a body reads; of `locals()` those that are then taken out of it by their name in the module."""
    nodes = [n for statement in function.body for n in ast.walk(statement)]
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def texts(tree: ast.AST) -> set[str]:
    return {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def only_tells(function: ast.FunctionDef) -> bool:
    """Has a body with a docstring, `pass` or an error only: a method that subclasses override."""
    body = [s for s in function.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    return all(isinstance(s, (ast.Pass, ast.Raise)) for s in body)


def dropped(function: ast.FunctionDef) -> Iterator[str]:
    """Keyword arguments that are taken out of the function's `**kwargs` by a statement that does nothing else."""
    kwarg = function.args.kwarg.arg if function.args.kwarg else None
    for node in ast.walk(function):
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and kwarg is not None and ast.unparse(call.func) == f"{kwarg}.pop":
            yield ast.unparse(call.args[0])


def base_names(node: ast.ClassDef) -> list[str]:
    return [ast.unparse(b).split("[")[0].rpartition(".")[2] for b in node.bases]


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def classes() -> dict[str, ast.ClassDef]:
    return {n.name: n for tree in trees().values() for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}


def overridden(node: ast.ClassDef, method: str) -> list[str]:
    """The parameters of a method of a base class that is overridden."""
    for name in base_names(node):
        base = classes().get(name)
        if base is None or base is node:
            continue
        own = next((f for f in base.body if isinstance(f, ast.FunctionDef) and f.name == method), None)
        found = parameters(own) if own is not None else overridden(base, method)
        if found:
            return found
    return []


def is_overload(f: ast.FunctionDef) -> bool:
    """Is this only a signature of the function below it?"""
    return any(isinstance(d, ast.Name) and d.id == "overload" for d in f.decorator_list)


def unread(tree: ast.AST, path: str, only: set[str] | None = None) -> Iterator[Found]:
    """The parameters that no code reads; with `only`, of functions of these names and no methods."""
    words = texts(tree)

    def visit(node: ast.AST, prefix: str, owner: ast.ClassDef | None) -> Iterator[Found]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                if only is None or (owner is None and child.name in only):
                    yield from of_function(child, prefix, owner)
            elif isinstance(child, ast.ClassDef) and only is None:
                yield from visit(child, f"{prefix}{PARTS.get(child.name, child.name)}.", child)
            elif isinstance(child, (ast.If, ast.Try, ast.With)):
                yield from visit(child, prefix, owner)

    def of_function(f: ast.FunctionDef, prefix: str, owner: ast.ClassDef | None) -> Iterator[Found]:
        yield from (Found(path, prefix + f.name, name) for name in dropped(f))
        if f.name == "__exit__" or is_overload(f) or (owner is not None and only_tells(f)):
            return
        known = reads(f)
        if "locals" in known:
            known |= words
        if owner is not None:
            known |= set(overridden(owner, f.name)) if f.name not in ("__init__", "__new__") else set()
        yield from (Found(path, prefix + f.name, name) for name in parameters(f) if name not in known)

    yield from visit(tree, "", None)


def public_functions(module: object) -> set[str]:
    """The names of the module's functions that its table API gives to users."""
    values = [v for k, v in getattr(module, "API", {}).items()]
    mine = [inspect.unwrap(v) for v in values if inspect.isfunction(v)]
    return {v.__name__ for v in mine}


@cache
def found() -> list[Found]:
    result = []
    for path, tree in trees().items():
        relative = path.relative_to(PACKAGE)
        if relative.parts[:2] in NOT_READ:
            continue
        if relative.parts[0] in PACKAGES or len(relative.parts) == 1:
            result += unread(tree, str(relative))
        elif relative.parts[0] == "ops":
            module = sys.modules.get(".".join(("tfnb", *relative.with_suffix("").parts)))
            result += unread(tree, str(relative), public_functions(module))
    return result


def hints() -> dict[str, list[str]]:
    """docs/hints.md: parameter -> the functions or methods, "*" for all that have it."""
    rows = re.findall(r"^\| `([^|]+)` \| ([^|]+) \| ([^|]+) \|$", (ROOT / "docs/hints.md").read_text(), re.M)
    assert rows and all(len(why.split()) > 2 for _, _, why in rows)
    return {name: re.findall(r"`([^`]+)`", where) or ["*"] for name, where, _ in rows}


def excused(one: Found, table: dict[str, list[str]]) -> bool:
    inside = {w: names.rstrip(")").split(", ") for w, _, names in (key.partition("(") for key in INTERNAL)}
    if one.parameter in inside.get(one.where, ()):
        return True
    where = table.get(one.parameter, ())
    return "*" in where or one.where in where or one.where.removesuffix(".__init__") in where


def test_no_parameter_is_ignored():
    table = hints()
    left = [str(one) for one in found() if not excused(one, table)]
    assert not left, "accepted and never read:\n" + "\n".join(left)


def test_no_excuse_is_stale():
    all_found, table = found(), hints()
    used = {(one.where, one.parameter) for one in all_found} | {tuple(x.split(".")) for x in unread_fields()}
    for key in INTERNAL:
        where, _, names = key.partition("(")
        for name in names.rstrip(")").split(", "):
            assert (where, name) in used, f"{where} reads {name}, or is gone: take it out of the table"
    for name, places in table.items():
        for place in places:
            known = [w for w, p in used if p == name and (place == "*" or w.removesuffix(".__init__") == place)]
            assert known, f"docs/hints.md: {name} of {place} is read, or is gone"


def is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


@cache
def unread_fields() -> list[str]:
    """Fields of dataclasses and named tuples, and attributes of objects, that no code of the package reads."""
    result: list[str] = []
    nodes = [n for tree in trees().values() for n in ast.walk(tree)]
    known = {n.attr for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)}
    calls = [n for n in nodes if isinstance(n, ast.Call) and is_name(n.func, "getattr") and len(n.args) > 1]
    known |= {n.args[1].value for n in calls if isinstance(n.args[1], ast.Constant)}
    for node in nodes:
        if not isinstance(node, ast.ClassDef):
            continue
        decorators = {ast.unparse(d).partition("(")[0] for d in node.decorator_list}
        plain = "NamedTuple" in base_names(node) or bool(decorators & {"dataclass", "record"})
        names = {
            s.target.id: s
            for s in node.body
            if plain
            and isinstance(s, ast.AnnAssign)
            and isinstance(s.target, ast.Name)
            and "ClassVar" not in ast.unparse(s.annotation)
        }
        for n in ast.walk(node):
            if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store) and is_name(n.value, "self"):
                names[n.attr] = n
        result += [f"{node.name}.{name}" for name in names if name not in known]
    return result


def test_no_field_is_ignored():
    hinted = [f"{place}.{name}" for name, places in hints().items() for place in places]
    found_fields = unread_fields()
    left = [x for x in found_fields if not {x, x.partition(".")[0]} & {*FIELDS, *hinted}]
    assert not left, "kept and never read:\n" + "\n".join(left)
    seen = {y for x in found_fields for y in (x, x.partition(".")[0])}
    assert not [x for x in FIELDS if x not in seen], "these are read now: take them out of the table"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(a, b): return a", ["b"]),
        ("def f(a, *, b=1, **kw):\n    del b\n    return a", ["b", "kw"]),
        ("def f(a):\n    def g(): return a\n    return g", []),
        ("def f(a, **kw):\n    kw.pop('fused', None)\n    return g(a, **kw)", ["'fused'"]),
        ("def f(a):\n    'Nothing is done.'", ["a"]),
        ("def f(a):\n    a = 1", ["a"]),
        ("class C:\n    def f(self, a):\n        'To be overridden.'", []),
        ("class C:\n    def __init__(self, a, b):\n        self.a = a", ["b"]),
    ],
)
def test_the_finder(source, expected):
    assert [one.parameter for one in unread(ast.parse(source), "x.py")] == expected

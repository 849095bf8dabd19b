"""Why a test that passes under TensorFlow does not pass under tfnb: one reason for each, from its line of the results.

Invariant: every row has exactly one reason, `pass` and `private` among them.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["MEANINGS", "PASS", "PRIVATE", "Names", "reason"]

Row = dict[str, Any]
Names = dict[str, list[str]]  # public names: each last part with the whole names that end in it

PASS, PRIVATE = "pass", "private"
MEANINGS = {
    "name": "a public name of TensorFlow is missing",
    "argument": "an argument or a field of a configuration is missing",
    "refused": "tfnb refuses what TensorFlow takes, or an attribute differs",
    "kernel": "there is no kernel for the dtype, mostly sparse updates of float16",
    "dtype": "the dtype is not taken",
    "value": "another value or attribute: random numbers, rounding, a meaning of later versions, or a defect",
    "graph": "names of nodes, devices, types or messages of the graph differ",
    "taken": "tfnb takes what TensorFlow refuses, or refuses it later",
    "class": "another class of error",
    "text": "the right class of error with another text",
    "shape": "another static shape",
    "exact": "a static shape is known more exactly",
    "time": "longer than 40 seconds",
    "file": "the file could not be loaded or ended",
}
# The public modules of TensorFlow; a name is public if it stands in one of these.
PUBLIC_MODULES = frozenset(
    "nn train image losses metrics summary errors test python_io gfile logging flags app compat sets linalg spectral "
    "layers saved_model graph_util initializers estimator feature_column distributions data bitwise user_ops "
    "resource_loader sysconfig rnn_cell builder loader tag_constants signature_constants main_op utils".split()
)
# Parts of module names whose functions are not public: generated modules, bindings of C++, messages, eager execution.
PRIVATE_MODULES = ("gen_", "pywrap", "test_ops", "_pb2", "c_api", "eager", "common_shapes", "op_def", "registry")
BUILT_IN = ("int", "float", "str", "bytes", "NoneType", "list", "tuple", "dict", "ndarray", "function", "method")
ABOUT_SHAPES = re.compile(r"get_shape|\.shape\b|TensorShape|as_list\(\)|static_shape|ShapeEqual|\.ndims")
ABOUT_GRAPHS = re.compile(
    r"\.name\b|\.device\b|node_def|ProtoEqual|\.type\b|op_type|\.op\b|DeviceEqual|as_graph_def|collection|\.inputs"
    r"|control_inputs"
)
ABOUT_DTYPES = re.compile(r"needed a float|needed float|cannot be (int|uint|complex|float|string|bool|half)")
TWO_SHAPES = re.compile(
    r"(\(.*?\)|\[.*?\]|TensorShape\(.*?\)|\w+) != (\(.*?\)|\[.*?\]|TensorShape\(.*?\)|\w+)", re.DOTALL
)


def reason(row: Row | None, loading: Row | None, names: Names) -> str:
    """Returns why a test of which `row` is the line here does not pass, `pass` if it does, or `private`.

    loading: the line of a file that could not be loaded, which stands for each of its tests.
    """
    if row is None:
        return "file" if loading is None else reason(loading, None, names)
    status, text = row["status"], str(row.get("message", ""))
    if status == "pass":
        return PASS
    if status in ("hang", "timeout"):
        return "time"
    if status in ("crash", "skip"):
        return "file"
    if _is_about_private_op(text + str(row.get("events", "")), names) or "Placeholder object" in text:
        return PRIVATE
    if status == "events":
        return "class" if any(kind == "class" for kind, _ in row["events"]) else "text"
    classes = row.get("classes", [])
    if "AttributeError" in classes:
        return _of_attribute(text, names)
    if "ImportError" in classes:
        return PRIVATE
    if "TypeError" in classes and re.search("unexpected keyword|positional argument|multiple values for", text):
        return "argument"
    if "AssertionError" in classes:
        return _of_assertion(text, str(row.get("line", "")))
    if row.get("type") == "UnimplementedError":
        return "kernel"
    return "dtype" if row.get("type") == "DTypeError" or ABOUT_DTYPES.search(text) else "refused"


def _of_attribute(text: str, names: Names) -> str:
    """The reason for an attribute that is missing: of a module of TensorFlow, or of an object."""
    if "PRIVATE: tensorflow." in text:
        return PRIVATE
    module = re.search(r"module 'tensorflow\.?([\w.]*)' has no attribute '(\w+)'", text)
    if module:
        place, name = module.groups()
        is_private = not _is_public(name, names) or any(part in place for part in PRIVATE_MODULES)
        return PRIVATE if is_private else "name"
    found = re.search(r"(?:'(\w+)' object|module '([\w.]+)'|type object '(\w+)') has no attribute '(\w+)'", text)
    if not found:
        return "refused"
    owner = next(filter(None, found.groups()))
    if found.group(4).startswith("_"):
        return PRIVATE
    return "refused" if owner in BUILT_IN else "name"


def _is_about_private_op(text: str, names: Names) -> bool:
    """Whether an error says that there is no such operation, and it is one that the tests' own library registers."""
    op = re.search(r"no op is named '(\w+)'", text)
    return op is not None and not _is_public(op.group(1), names)


def _is_public(name: str, names: Names) -> bool:
    whole = names.get(name, ())
    return not name.startswith("_") and any(set(path.split(".")[:-1]) <= PUBLIC_MODULES for path in whole)


def _of_assertion(text: str, line: str) -> str:
    """The reason for an assertion that fails in a line of the test."""
    if "PRIVATE: tensorflow." in text:
        return PRIVATE
    if "not raised" in text:
        return "taken"
    if ABOUT_SHAPES.search(line):
        return "exact" if _is_more_exact(text, line) else "shape"
    return "graph" if ABOUT_GRAPHS.search(line) else "value"


def _is_more_exact(text: str, line: str) -> bool:
    """Whether the test wants a shape with unknown dimensions, and the shape is known."""
    if re.search(r"x: array\(\[[\d, ]*\]\)\s+y: array\(\[.*None", text):
        return True
    both = TWO_SHAPES.search(text)
    if not both:
        return False
    first = line.split("(", 1)[-1].split(",")[0]
    is_ours_first = "shape" in first.lower() and "expected" not in first
    ours, wanted = both.groups() if is_ours_first else reversed(both.groups())
    return ("None" in wanted or "unknown" in wanted) and "None" not in ours and bool(re.search(r"\d", ours))

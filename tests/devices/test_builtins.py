"""The declarations that replace PoCL's header are those of that header, and other functions are still found."""

from __future__ import annotations

import re
from pathlib import Path

import pyopencl as cl
import pytest

from tfnb.codegen.program import Module
from tfnb.devices.opencl import builtins, pocl
from tfnb.devices.opencl.build import ProgramLibrary
from tfnb.devices.opencl.platforms import Unit
from tfnb.settings import Settings

pytestmark = pytest.mark.opencl

_SPACES = r"__global |__local |__private |__constant "
_NAMES = re.compile(r"\b(\w+) ?\(")
_PRELUDE = {"BUILTIN_VALUE": "__ovld __cnfn", "BUILTIN_READ": "__ovld __purefn", "BUILTIN": "__ovld"}


def _header() -> str:
    """Returns the header of the PoCL that this process uses; skips the test if it is elsewhere or another version's."""
    libraries = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libpocl" in line}
    for library in libraries:
        packages = Path(library).parents[2]
        for path in packages.glob("pocl_binary_distribution/.libs/share/pocl/include/opencl-c.h"):
            return path.read_text()
    pytest.skip("PoCL's header is not beside its library")


def _overloads(text: str) -> dict[str, list[str]]:
    """Returns the declarations in a header by name, without the names of parameters and without 16-bit floats."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*|\\\n", " ", text, flags=re.DOTALL)
    text = re.sub(r"^\s*#[^\n]*", "", text, flags=re.MULTILINE)
    results: dict[str, list[str]] = {}
    for declaration in (" ".join(d.split()) for d in text.split(";")):
        match = _NAMES.search(re.sub(r"__attribute__ ?\(\(\w+\)\)", "", declaration))
        if match is None:
            continue
        start, _, rest = declaration.partition(match[1] + "(")
        types = [_type(p) for p in rest.rstrip(")").split(",")]
        if not any(re.match(r"half\d", t) or t == "half" for t in (*types, *start.split()[:1])):
            results.setdefault(match[1], []).append(f"{start}({', '.join(types)})")
    return results


def _type(parameter: str) -> str:
    """Returns the type of a parameter, whether it has a name or not."""
    match = re.match(rf"\s*(const )?({_SPACES})?(?:const )?(\w+)\s*(\*)?", parameter)
    return "".join(part or "" for part in match.groups()) if match else ""


def test_declarations_are_those_of_the_header(unit: Unit) -> None:
    if not pocl.has_known_header(unit.device):
        pytest.skip("another compiler")
    header = _overloads(_header())
    ours = _overloads(builtins.declarations([" ".join(header)]).partition("(pure))\n")[2])
    assert len(ours) > 200
    for name, declared in ours.items():
        for short, long in _PRELUDE.items():
            declared = [re.sub(rf"\b{short}\b", long, d) for d in declared]
        declared = [d.replace("__attribute__((convergent))", "__conv") for d in declared]
        assert sorted(declared) == sorted(set(header[name])), name


def test_a_function_without_a_declaration_is_found_in_the_header(unit: Unit, settings: Settings) -> None:
    source = "__kernel void k(__global float4 *x) { x[0].x = length(x[get_global_id(0)]); }"
    assert "length" not in builtins.declarations([source])
    assert "get_global_id" in builtins.declarations([source])
    built = ProgramLibrary(unit, settings).get(Module(source))
    assert cl.Kernel(built.program, "k").num_args == 1


def test_joined_names_are_declared() -> None:
    text = builtins.declarations(["JOIN(vload_half, W) JOIN(convert_, V)"])
    assert "float8 BUILTIN_READ vload_half8(" in text
    assert "int16 BUILTIN_VALUE convert_int16(double16)" in text

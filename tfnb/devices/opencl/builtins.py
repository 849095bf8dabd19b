"""Declarations of those built-in functions of OpenCL C that a source uses.

PoCL reads a header of 18,000 lines before each source. That takes 0.12 s, more than all the rest for most kernels. The
macro `SKIP` makes it leave this header out, and the source then begins with the declarations that it needs.
Invariant: a declared function has the same overloads and attributes as in PoCL's header, so the code is the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["SKIP", "calls", "declarations"]

SKIP = "-D_OPENCL_H_"

_WIDTHS = ("", "2", "3", "4", "8", "16")
_FLOATS = ("float", "double")
_SIGNED = ("char", "short", "int", "long")
_UNSIGNED = tuple(f"u{t}" for t in _SIGNED)
_INTEGERS = (*_SIGNED, *_UNSIGNED)
_NUMBERS = (*_INTEGERS, *_FLOATS)

_OPERANDS = {
    name: count
    for count, names in (
        (
            1,
            "acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 fabs floor lgamma log log10 log1p "
            "log2 rint round rsqrt sign sin sinh sqrt tan tanh tgamma trunc",
        ),
        (2, "atan2 copysign fmod hypot nextafter pow remainder"),
        (3, "fma mad"),
    )
    for name in names.split()
}
_ITEMS = ("get_global_id", "get_global_size", "get_group_id", "get_local_id", "get_local_size", "get_num_groups")
_TESTS = ("isfinite", "isinf", "isnan")
_WITH_NUMBERS = {"fmax": (2, _FLOATS), "fmin": (2, _FLOATS), "max": (2, _NUMBERS), "min": (2, _NUMBERS)}
_WITH_NUMBERS["clamp"] = (3, _NUMBERS)
_OF_INTEGERS = {"clz": 1, "mul_hi": 2}

_ALL = (*_OPERANDS, *_ITEMS, *_TESTS, *_WITH_NUMBERS, *_OF_INTEGERS, "abs", "all", "any", "barrier")
_PROTOTYPE = re.compile(r"(\w+) BUILTIN(?:_VALUE|_READ| __attribute__\(\(\w+\)\))? (\w+)\((.*)\);")

_WORD = re.compile(r"[A-Za-z_]\w*")
_CONVERSION = re.compile(rf"convert_({'|'.join(_NUMBERS)})(2|3|4|8|16)?(_sat)?(_rt[eznp])?")
_ACCESS = re.compile(r"v(load|store)(_half)?(2|3|4|8|16)?")
# The names that begin with a word to which a macro may join the rest.
_JOINED: dict[str, tuple[str, ...]] = {f"convert_{t}": tuple(f"convert_{t}{w}" for w in _WIDTHS) for t in _NUMBERS}
_JOINED["convert_"] = tuple(name for names in _JOINED.values() for name in names)
_JOINED |= {f: tuple(f"{f}{w}" for w in _WIDTHS) for f in ("vload", "vstore", "vload_half", "vstore_half")}

_NARROW = re.compile(rf"\b({'|'.join(_NUMBERS)})[23]\b")
_PRINTF = "int printf(__constant const char *, ...) __attribute__((format(printf, 1, 2)));"
_PRELUDE = """#define BUILTIN __attribute__((overloadable))
#define BUILTIN_VALUE BUILTIN __attribute__((const))
#define BUILTIN_READ BUILTIN __attribute__((pure))
"""


def declarations(texts: Iterable[str]) -> str:
    """Returns the declarations of the built-in functions whose names are words of `texts`, as the begin of a source.

    Names that macros join from parts are recognised by their first part, such as `convert_`.
    """
    words = {word for text in texts for word in _WORD.findall(text)}
    names = words.union(*(_JOINED[word] for word in words & _JOINED.keys()))
    lines = [line for name in sorted(names) for line in _declared(name)]
    return _PRELUDE + "\n".join(lines) + "\n#line 1\n"


def calls() -> str:
    """Returns a source that calls each overload of all functions that `declarations` knows, and `printf`.

    Those of two and three lanes, which no kernel of tfnb uses, are left out.
    """
    names = [*_ALL, *(name for names in _JOINED.values() for name in names)]
    lines = [line for name in dict.fromkeys(names) for line in _declared(name) if not _NARROW.search(line)]
    functions = []
    for number, line in enumerate(lines):
        prototype = _PROTOTYPE.fullmatch(line)
        if prototype is None:  # a condition of the preprocessor
            functions.append(line)
            continue
        result, name, operands = prototype.groups()
        kinds = enumerate(operands.split(", "))
        # Pointers are passed on, and values are read through pointers.
        pointers = ", ".join(f"{kind if '*' in kind else f'__private {kind} *'}p{k}" for k, kind in kinds)
        arguments = ", ".join(f"p{k}" if "*" in kind else f"*p{k}" for k, kind in enumerate(operands.split(", ")))
        kept = "" if result == "void" else "*to = "
        to = "" if result == "void" else f"__private {result} *to, "
        functions.append(f"void call_{number}({to}{pointers}) {{ {kept}{name}({arguments}); }}")
    return "\n".join((_PRELUDE, _PRINTF, *lines, *functions, '__kernel void calls(void) { printf(""); }', ""))


def _declared(name: str) -> list[str]:
    """Returns the declarations of a function, one for each overload; none for other names."""
    if name in _ITEMS:
        return [f"size_t BUILTIN_VALUE {name}(uint);"]
    if name == "barrier":
        return [f"void BUILTIN __attribute__((convergent)) {name}(cl_mem_fence_flags);"]
    if name in _OPERANDS:
        return _values(name, [(v, [v] * _OPERANDS[name]) for t in _FLOATS for v in _vectors(t)])
    if name in _OF_INTEGERS:
        return _values(name, [(v, [v] * _OF_INTEGERS[name]) for t in _INTEGERS for v in _vectors(t)])
    if name in _WITH_NUMBERS:
        count, types = _WITH_NUMBERS[name]
        same = [(v, [v] * count) for t in types for v in _vectors(t)]
        mixed = [(v, [v, *[t] * (count - 1)]) for t in types for v in _vectors(t)[1:]]
        return _values(name, same + mixed)
    if name in _TESTS:
        pairs = [("float", "int"), ("double", "long")]
        return _values(name, [(f"{i if w else 'int'}{w}", [t + w]) for t, i in pairs for w in _WIDTHS])
    if name in ("all", "any"):
        return _values(name, [("int", [v]) for t in _SIGNED for v in _vectors(t)])
    if name == "abs":
        kinds = [(t, f"u{t}") for t in _SIGNED] + [(t, t) for t in _UNSIGNED]
        return _values(name, [(u + w, [t + w]) for t, u in kinds for w in _WIDTHS])
    conversion = _CONVERSION.fullmatch(name)
    if conversion is not None:
        kind, width = conversion[1], conversion[2] or ""
        if conversion[3] and kind in _FLOATS:
            return []
        return _values(name, [(kind + width, [t + width]) for t in _NUMBERS])
    access = _ACCESS.fullmatch(name)
    return [] if access is None else _access(name, access[1] == "load", bool(access[2]), access[3] or "")


def _vectors(kind: str) -> list[str]:
    return [kind + w for w in _WIDTHS]


def _values(name: str, overloads: Iterable[tuple[str, list[str]]]) -> list[str]:
    return [f"{result} BUILTIN_VALUE {name}({', '.join(operands)});" for result, operands in overloads]


def _access(name: str, loads: bool, half: bool, width: str) -> list[str]:
    """Returns the declarations of a function that loads or stores vectors, for all types and address spaces."""
    if not half and not width:
        return []
    lines = ["#ifdef __opencl_c_generic_address_space", *_accesses(name, loads, half, width, "")]
    lines.append("#endif\n#ifdef __opencl_c_named_address_space_builtins")
    for space in ("__global ", "__local ", "__private "):
        lines += _accesses(name, loads, half, width, space)
    lines.append("#endif")
    return lines + _accesses(name, loads, half, width, "__constant ") if loads else lines


def _accesses(name: str, loads: bool, half: bool, width: str, space: str) -> list[str]:
    if loads:
        kinds = [("float", "half")] if half else [(t, t) for t in _NUMBERS]
        return [f"{v}{width} BUILTIN_READ {name}(size_t, const {space}{memory} *);" for v, memory in kinds]
    kinds = [(t, "half") for t in _FLOATS] if half else [(t, t) for t in _NUMBERS]
    return [f"void BUILTIN {name}({v}{width}, size_t, {space}{memory} *);" for v, memory in kinds]

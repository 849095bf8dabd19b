"""The instructions of the interpreter, and the kernel that runs them.

The kernel has registers for numbers (`s`), for vectors of 16 lanes (`v`) and for pointers (`p`). An instruction is five
ints: its number, the register that it sets, and three operands. Floats, ints and unsigned ints share the registers, so
a change of type without a change of bits is no instruction.
Invariant: an instruction has the bits of the OpenCL C that it stands for, by the functions of the kernel library that
generated kernels call, and with one rounding for each operation.
"""

from __future__ import annotations

from typing import NamedTuple

from tfnb.codegen.opencl_c.functions import EACH_ROUNDS

__all__ = [
    "CONSTANTS",
    "FIXED_VECTORS",
    "INSTRUCTIONS",
    "LENGTH",
    "MOST_NUMBERS",
    "MOST_POINTERS",
    "NUMBERS",
    "POINTERS",
    "VECTORS",
    "Instruction",
    "interpreter_source",
]

NUMBERS, VECTORS, POINTERS = 160, 48, 32  # registers
CONSTANTS, FIXED_VECTORS = 64, 24  # more of them, for what never changes
MOST_POINTERS, MOST_NUMBERS = 18, 40  # arguments of a kernel that can be interpreted
LENGTH = 5  # ints of an instruction

_TYPES = {"f": "float", "i": "int", "u": "uint", "b": "uchar"}


class Instruction(NamedTuple):
    """`number` is its number in the code, `body` its OpenCL C."""

    number: int
    body: str


INSTRUCTIONS: dict[str, Instruction] = {}
"""The instructions by name.

The name of an operation is that of the operator or function of OpenCL C, with the letter of the operands' type: f, i or
u, and with 16 for vectors, as `+.f16`.
"""


def _add(name: str, body: str) -> None:
    INSTRUCTIONS[name] = Instruction(len(INSTRUCTIONS), body)


def _value(letter: str, kind: str, is_vector: bool) -> str:
    register = f"v[{letter}]" if is_vector else f"s[{letter}]"
    if is_vector:
        return register if kind == "f" else f"as_{_TYPES[kind]}16({register})"
    return register if kind == "i" else f"as_{_TYPES[kind]}({register})"


def _set(kind: str, is_vector: bool, value: str, letter: str = "d") -> str:
    if is_vector:
        return f"v[{letter}] = {value};" if kind == "f" else f"v[{letter}] = as_float16({value});"
    return f"s[{letter}] = {value};" if kind == "i" else f"s[{letter}] = as_int({value});"


def _add_operation(name: str, form: str, kinds: str, n_operands: int, result: str = "", widths: str = "sv") -> None:
    """An instruction for each type and width; `result` is the type of the result, if it is another one."""
    for kind in kinds:
        for is_vector in [w == "v" for w in widths]:
            operands = {letter: _value(letter, kind, is_vector) for letter in "abc"[:n_operands]}
            text = form.format(**operands, V="16" if is_vector else "", T=_TYPES[kind])
            _add(f"{name}.{kind}{'16' if is_vector else ''}", _set(result or kind, is_vector, text))


def _add_arithmetic() -> None:
    for symbol in "+-*":
        _add_operation(symbol, f"{{a}} {symbol} {{b}}", "fu", 2)
        # signed numbers wrap: C leaves that undefined
        for lanes in ("", "16"):
            INSTRUCTIONS[f"{symbol}.i{lanes}"] = INSTRUCTIONS[f"{symbol}.u{lanes}"]
    _add_operation("/", "{a} / {b}", "f", 2)
    _add_operation("/", "t_div({a}, {b})", "iu", 2)
    _add_operation("%", "t_truncmod({a}, {b})", "iu", 2)
    for symbol in ("<", "<=", ">", ">=", "==", "!="):
        _add_operation(symbol, f"{{a}} {symbol} {{b}}", "fiu", 2, result="i")
    for symbol in "&|^":
        _add_operation(symbol, f"{{a}} {symbol} {{b}}", "i", 2)
    _add_operation("<<", "{a} << {b}", "iu", 2)
    _add_operation(">>", "{a} >> {b}", "iu", 2)
    _add_operation("neg", "-{a}", "f", 1)
    _add_operation("neg", "as_int{V}(-as_uint{V}({a}))", "i", 1)
    _add_operation("~", "~{a}", "i", 1)
    _add_operation("!", "!{a}", "i", 1, widths="s")
    _add("select", "s[d] = s[a] ? s[b] : s[c];")
    _add("select16", "v[d] = as_int16(v[a]) ? v[b] : v[c];")
    _add("select16s", "v[d] = s[a] ? v[b] : v[c];")


def _add_functions() -> None:
    for name in ("fabs", "sqrt", "floor", "ceil", "rint"):
        _add_operation(name, f"{name}({{a}})", "f", 1)
    for name in ("t_exp", "t_log", "t_rsqrt", "t_sign", "t_tanh", "t_sigmoid", "t_log1p", "t_expm1"):
        _add_operation(name, f"{name}({{a}})", "f", 1)
    for name in ("t_sin", "t_cos", "t_erf"):
        _add_operation(name, f"{name}({{a}})", "f", 1, widths="v")
    _add_operation("t_pow", "t_pow({a}, {b})", "f", 2)
    for name in ("t_max", "t_min"):
        _add_operation(name, f"{name}({{a}}, {{b}})", "fiu", 2)
    for name in ("t_div", "t_floordiv", "t_floormod", "t_truncmod"):
        _add_operation(name, f"{name}({{a}}, {{b}})", "i", 2)
    for name in ("min", "max"):
        _add_operation(name, f"{name}({{a}}, {{b}})", "i", 2, widths="s")


def _add_conversions() -> None:
    for source, target in (("i", "f"), ("u", "f"), ("f", "i"), ("f", "u")):
        for is_vector in (False, True):
            lanes = "16" if is_vector else ""
            value = _value("a", source, is_vector)
            convert = f"convert_{_TYPES[target]}{lanes}({value})"
            _add(f"convert.{source}{target}{lanes}", _set(target, is_vector, convert))
    _add("splat", "v[d] = (float16)(as_float(s[a]));")
    _add("copy", "s[d] = s[a];")
    _add("copy16", "v[d] = v[a];")
    _add("lanes", "v[d] = as_float16(lanes16());")
    _add("lane_index", "v[d] = as_float16(lane_index16(s[a], s[b]));")
    _add("live", "s[d] = LIVE(s[a], 16);")


def _add_memory() -> None:
    for kind, name in _TYPES.items():
        element = f"((__global {name} *)p[a])[s[b]]"
        vector = f"LOAD({name}, 16, (__global {name} *)p[a] + s[b])"
        address = f"(__global {name} *)p[d] + s[b]"
        if kind == "b":
            _add("load.b", f"s[d] = {element};")
            _add("load.b16", f"v[d] = as_float16(convert_int16({vector}));")
            _add("gather.b16", f"v[d] = as_float16(convert_int16(gather((__global {name} *)p[a], as_int16(v[b]))));")
            _add("store.b", f"((__global {name} *)p[d])[s[b]] = s[a];")
            _add("put.b16", f"put({address}, convert_uchar16(as_int16(v[a])), s[c]);")
            continue
        _add(f"load.{kind}", _set(kind, False, element))
        _add(f"load.{kind}16", _set(kind, True, vector))
        _add(f"store.{kind}", f"((__global {name} *)p[d])[s[b]] = {_value('a', kind, False)};")
        if kind != "u":
            gathered = f"gather((__global const {name} *)p[a], as_int16(v[b]))"
            _add(f"gather.{kind}16", _set(kind, True, gathered))
            _add(f"put.{kind}16", f"put({address}, {_value('a', kind, True)}, s[c]);")
    _add("store.f16", "STORE(float, 16, v[a], (__global float *)p[d] + s[b]);")
    _add("store.i16", "STORE(int, 16, as_int16(v[a]), (__global int *)p[d] + s[b]);")
    _add("move", "p[d] = p[a] + (long)s[b] * 4;")  # of a pointer to numbers of four bytes
    _add("philox", "philox(v, d, s, a, b, c);")


def _add_across() -> None:
    for name in ("across_sum", "across_prod", "across_max", "across_min"):
        for kind in "fi":
            _add(f"{name}.{kind}16", _set(kind, False, f"{name}({_value('a', kind, True)})"))
    for name in ("across_any", "across_all"):
        _add(f"{name}.i16", f"s[d] = {name}(as_int16(v[a]));")
    for name in ("across_argmax", "across_argmin"):
        _add(
            f"{name}.f16",
            f"{{ float best; int at; {name}(v[a], as_int16(v[b]), &best, &at); s[d] = as_int(best); s[c] = at; }}",
        )


def _add_jumps() -> None:
    _add("item", "s[d] = item;")
    _add("begin", "s[d] = part_begin(s[a], s[b], item, items);")
    _add("end", "s[d] = part_begin(s[a], s[b], item + 1, items);")
    _add("jump", "at = d; continue;")
    _add("jump_unless", "if (!s[a]) { at = d; continue; }")
    _add("jump_unless_less", "if (!(s[a] < s[b])) { at = d; continue; }")
    _add("stop", "return;")


for _group in (_add_arithmetic, _add_functions, _add_conversions, _add_memory, _add_across, _add_jumps):
    _group()

_LIBRARY = (
    ("lib/math.clh", "float", ""),
    ("lib/math.clh", "float", "16"),
    ("fused/integers.clh", "int", ""),
    ("fused/integers.clh", "int", "16"),
    ("fused/integers.clh", "uint", ""),
    ("fused/integers.clh", "uint", "16"),
    ("lib/reduce.clh", "float", "16"),
    ("lib/reduce.clh", "int", "16"),
    ("fused/put.clh", "float", "16"),
    ("fused/put.clh", "int", "16"),
    ("fused/put.clh", "uchar", "16"),
    ("fused/gather.clh", "float", "16"),
    ("fused/gather.clh", "int", "16"),
    ("fused/gather.clh", "uchar", "16"),
    ("lib/philox.clh", "", "16"),
)

_PHILOX = """
// Four vectors of random words: the keys are the numbers a and a + 1, the counter is the vectors b and c.

inline void philox(float16 *v, int d, const int *s, int a, int b, int c)
{
    uint16 words[4];
    philox_4x32(as_uint(s[a]), as_uint(s[a + 1]), as_uint16(v[b]), as_uint16(v[c]), words);
    for (int k = 0; k < 4; ++k)
        v[d + k] = as_float16(words[k]);
}
"""


def interpreter_source() -> str:
    """Returns the text of the module with the kernel `interpret`.

    Its arguments are the code, then the pointers and the numbers of the kernel that it runs, each as many as there may
    be. Without code it does nothing.
    """
    parts = ['#include "lib/types.clh"', '#include "lib/index.clh"']
    for file, ctype, lanes in _LIBRARY:
        parts += [f"#define T {ctype}" if ctype else "", f"#define W {lanes}", f'#include "{file}"']
    pointers = [f"__global char *p{k}" for k in range(MOST_POINTERS)]
    numbers = [f"int n{k}" for k in range(MOST_NUMBERS)]
    bodies = {i.number: i.body for i in INSTRUCTIONS.values()}
    cases = "\n".join(f"        case {number}: {body} break;" for number, body in bodies.items())
    names = ["code", *(f"p{k}" for k in range(MOST_POINTERS)), *(f"n{k}" for k in range(MOST_NUMBERS))]
    set_pointers = "\n".join(f"    p[{k}] = p{k};" for k in range(MOST_POINTERS))
    set_numbers = "\n".join(f"    s[{k}] = n{k};" for k in range(MOST_NUMBERS))
    parameters = ", ".join(["__global const int *code", *pointers, *numbers])
    return (
        "\n".join(p for p in parts if p)
        + f"""
{EACH_ROUNDS}
{_PHILOX}
static PART void run(int item, int items, {parameters})
{{
    int s[{NUMBERS + CONSTANTS}];
    float16 v[{VECTORS + FIXED_VECTORS}];
    __global char *p[{POINTERS}];
{set_pointers}
{set_numbers}
    int n_constants = *code++;
    for (int k = 0; k < n_constants; ++k)
        s[{NUMBERS} + k] = code[k];
    code += n_constants;
    for (int at = 0;;) {{
        __global const int *instruction = code + at * {LENGTH};
        int d = instruction[1], a = instruction[2], b = instruction[3], c = instruction[4];
        switch (instruction[0]) {{
{cases}
        }}
        ++at;
    }}
}}

__kernel void interpret({parameters})
{{
    int item = get_global_id(0), items = get_global_size(0);
    if (code)  // there is none in the launch that only compiles
        run(item, items, {", ".join(names)});
}}
"""
    )

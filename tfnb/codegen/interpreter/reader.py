"""The reader: it translates the text of a generated kernel into code of the interpreter.

It knows the OpenCL C that the printer of kernels writes, with 16 lanes and elements of four bytes or of bool: locals,
loops, conditions, stores, and expressions of operators and functions of the kernel library. A kernel that has anything
else is not interpreted.
Invariant: the code computes the bits of the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from tfnb.caches import remembered
from tfnb.codegen.interpreter.assembler import Assembler, Label, NotInterpretedError, Value
from tfnb.codegen.interpreter.instructions import MOST_NUMBERS, MOST_POINTERS
from tfnb.codegen.opencl_c.functions import ITEM_PARAMETERS

__all__ = ["code_of", "is_interpretable"]

# Compiled by the first reader, since most processes have no new kernel.
_TOKEN = (
    r"\s*(?:(?P<number>(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?[fUL]?)|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<symbol><<|>>|<=|>=|==|!=|\+\+|\+=|[-+*/%&|^~!<>=?:;,(){}\[\]]))"
)
_KINDS = {"float": "f", "int": "i", "uint": "u", "uchar": "b"}
_SCALARS = frozenset(_KINDS)
_VECTORS = {f"{name}16": kind for name, kind in _KINDS.items()}
_BINARY = (("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"), ("*", "/", "%"))
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_NAMED = {"INT_MAX": ("i", 2**31 - 1), "INT_MIN": ("i", -(2**31)), "INFINITY": ("f", math.inf), "NAN": ("f", math.nan)}
_ACROSS = frozenset(f"across_{name}" for name in ("sum", "prod", "max", "min", "any", "all"))
_FUNCTIONS = frozenset(("fabs", "sqrt", "floor", "ceil", "rint", "min", "max"))


def code_of(source: str, entry: str) -> np.ndarray | None:
    """Returns the code of the kernel `entry` in the text of a module; None if it is not interpreted."""
    _, found, rest = source.partition(f"static PART void part_{entry}({ITEM_PARAMETERS},")
    return _translated(rest.partition("\n\n")[0]) if found else None


def is_interpretable(text: str) -> bool:
    """Returns whether there is code for a kernel with this text."""
    return _translated(text.partition("(")[2]) is not None


@remembered("code of interpreted kernels", 1024)
def _translated(text: str) -> np.ndarray | None:
    """Returns the code for a text that begins with the declarations of a kernel's parameters."""
    try:
        return _Reader(text).read()
    except NotInterpretedError:
        return None


class _Reader:
    """Reads the text of one kernel."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        position, end = 0, len(text.rstrip())
        token_at = re.compile(_TOKEN).match
        while position < end:
            match = token_at(text, position)
            if match is None:
                raise NotInterpretedError(text[position : position + 20])
            self._tokens.append(match[match.lastgroup or 0])
            position = match.end()
        self._tokens += ["", ""]
        self._at = 0
        self._out = Assembler()
        self._locals: dict[str, Value] = {}
        self._pointers: dict[str, tuple[str, int]] = {}  # the kind of the elements and the register
        self._rows: dict[str, int] = {}  # the first registers of arrays of vectors
        self._block: list[Value] = []

    def read(self) -> np.ndarray:
        """Returns the code."""
        self._parameters()
        self._body()
        if self._next():
            raise NotInterpretedError("something after the end")
        return self._out.code()

    # ---- tokens

    def _next(self) -> str:
        return self._tokens[self._at]

    def _take(self) -> str:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _accept(self, token: str) -> bool:
        if self._tokens[self._at] != token:
            return False
        self._at += 1
        return True

    def _expect(self, *tokens: str) -> None:
        for token in tokens:
            if self._take() != token:
                raise NotInterpretedError(f"{token} is missing before {self._tokens[self._at - 1]}")

    # ---- declarations and statements

    def _parameters(self) -> None:
        numbers = 0
        while not self._accept(")"):
            if self._accept("__global"):
                self._accept("const")
                kind = self._kind_of_element()
                self._expect("*")
                register = len(self._pointers)
                if register == MOST_POINTERS:
                    raise NotInterpretedError("too many pointers")
                self._pointers[self._take()] = kind, register
            else:
                kind, name = self._take(), self._take()
                if kind in ("int", "float") and numbers < MOST_NUMBERS:
                    self._locals[name] = Value(_KINDS[kind], False, numbers, is_fixed=True)
                    numbers += 1
                else:
                    raise NotInterpretedError("a parameter of another type, or too many")
            self._accept(",")

    def _kind_of_element(self) -> str:
        kind = _KINDS.get(self._take())
        if kind is None:
            raise NotInterpretedError("elements of another type")
        return kind

    def _body(self) -> None:
        """Reads a statement, or statements in braces; their locals end with it."""
        with self._scope():
            if self._accept("{"):
                while not self._accept("}"):
                    self._statement()
            else:
                self._statement()

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """A context whose locals end with it."""
        outer, names = self._block, dict(self._locals)
        self._block = []
        yield
        self._out.end_block(self._block)
        self._block, self._locals = outer, names

    def _statement(self) -> None:
        token = self._next()
        if token in _SCALARS or token in _VECTORS:
            self._declare()
        elif token == "for":
            self._for()
        elif token == "RANGE":
            self._range()
        elif token == "if":
            self._if()
        elif token == "return":
            self._expect("return", ";")
            self._out.emit("stop")
        elif token == "__global":
            self._declare_pointer()
        elif token in ("put", "STORE", "philox_4x32", "across_argmax", "across_argmin"):
            getattr(self, f"_{token.lower().removesuffix('_4x32')}")()
            self._expect(";")
        elif token in self._pointers:
            self._store_element()
        elif token in self._locals:
            self._assign()
        else:
            raise NotInterpretedError(token)
        self._out.end_statement()

    def _declare(self) -> None:
        kind, is_vector = self._type()
        name = self._take()
        if self._accept("["):
            length = self._take()
            self._expect("]", ";")
            if not is_vector or length != "4":
                raise NotInterpretedError("an array")
            first = self._out.new_row(4, is_vector=True)
            self._out.keep(Value(kind, True, first), self._block, 4)
            self._rows[name] = first
            return
        local = self._out.new(kind, is_vector)
        self._out.keep(local, self._block)
        if self._accept("="):
            self._out.set(local, self._as(self._expression(), kind, is_vector))
        self._expect(";")
        self._locals[name] = local

    def _type(self) -> tuple[str, bool]:
        name = self._take()
        return (_VECTORS[name], True) if name in _VECTORS else (_KINDS[name], False)

    def _as(self, value: Value, kind: str, is_vector: bool) -> Value:
        """Returns the value as an initialiser converts it: a number becomes a vector, but not the other way."""
        if value.is_vector:
            if not is_vector or "f" in (value.kind, kind) and value.kind != kind:
                raise NotInterpretedError("a conversion of vectors")
            return value.as_kind(kind)
        value = self._out.converted(value, kind)
        return self._out.vector(value) if is_vector else value

    def _declare_pointer(self) -> None:
        self._expect("__global")
        self._accept("const")
        kind = self._kind_of_element()
        self._expect("*")
        name = self._take()
        self._expect("=")
        of, register, offset = self._address()
        self._expect(";")
        if of != kind or kind == "b":
            raise NotInterpretedError("a pointer to another type")
        pointer = self._out.new_pointer()
        self._out.emit("move", pointer, register, offset.register)
        self._pointers[name] = kind, pointer

    def _local(self) -> Value:
        """Reads the name of a local that may be set."""
        local = self._locals.get(self._take())
        if local is None or local.is_fixed:
            raise NotInterpretedError("no local")
        return local

    def _assign(self) -> None:
        local = self._local()
        self._expect("=")
        self._out.set(local, self._as(self._expression(), local.kind, local.is_vector))
        self._expect(";")

    def _store_element(self) -> None:
        kind, register = self._pointers[self._take()]
        self._expect("[")
        at = self._index()
        self._expect("]", "=")
        value = self._expression()
        self._expect(";")
        if value.is_vector:
            raise NotInterpretedError("a vector as an element")
        self._out.emit(f"store.{kind}", register, self._out.converted(value, kind).register, at.register)

    def _if(self) -> None:
        self._expect("if", "(")
        condition = self._expression()
        self._expect(")")
        if condition.is_vector or condition.kind == "f":
            raise NotInterpretedError("a condition")
        end = Label()
        self._out.emit("jump_unless", end, condition.register)
        self._out.end_statement()
        self._body()
        self._out.place(end)

    def _loop(self, variable: Value, end: Label, step: Value, top: Label) -> None:
        """Reads the body of a loop, and ends that."""
        self._body()
        self._out.emit("+.i", variable.register, variable.register, step.register)
        self._out.emit("jump", top)
        self._out.place(end)

    def _fixed(self, step: Value) -> Value:
        """Returns the step of a loop, which must be an argument or a constant, since it is added after the body."""
        if not self._int(step).is_fixed:
            raise NotInterpretedError("a step that is computed")
        return step

    def _new_variable(self) -> Value:
        variable = self._out.new("i", is_vector=False)
        self._out.keep(variable, self._block)
        return variable

    def _for(self) -> None:
        with self._scope():
            self._expect("for", "(", "int")
            name = self._take()
            self._expect("=")
            variable = self._new_variable()
            self._out.set(variable, self._int(self._expression()))
            self._locals[name] = variable
            self._expect(";", name, "<")
            top, end = Label(), Label()
            self._out.place(top)
            limit = self._int(self._expression())
            self._out.emit("jump_unless_less", end, variable.register, limit.register)
            self._expect(";")
            if self._accept("++"):
                self._expect(name, ")")
                step = self._out.constant("i", 1)
            else:
                self._expect(name, "+=")
                step = self._fixed(self._expression())
                self._expect(")")
            self._out.end_statement()
            self._loop(variable, end, step, top)

    def _range(self) -> None:
        with self._scope():
            self._expect("RANGE", "(", "int", ",")
            name = self._take()
            self._expect(",")
            n = self._int(self._expression())
            self._expect(",")
            step = self._fixed(self._expression())
            self._expect(")")
            variable, last = self._new_variable(), self._new_variable()
            self._out.emit("begin", variable.register, n.register, step.register)
            self._out.emit("end", last.register, n.register, step.register)
            self._locals |= {name: variable, f"{name}_end": last}
            top, end = Label(), Label()
            self._out.place(top)
            self._out.emit("jump_unless_less", end, variable.register, last.register)
            self._out.end_statement()
            self._loop(variable, end, step, top)

    # ---- calls that are statements

    def _put(self) -> None:
        self._expect("put", "(")
        kind, register, offset = self._address()
        self._expect(",")
        value = self._expression()
        self._expect(",")
        live = self._int(self._expression())
        self._expect(")")
        self._out.emit(f"put.{kind}16", register, self._stored(value, kind), offset.register, live.register)

    def _store(self) -> None:
        self._expect("STORE", "(")
        kind = self._kind_of_element()
        self._expect(",", "16", ",")
        value = self._expression()
        self._expect(",")
        of, register, offset = self._address()
        self._expect(")")
        if of != kind:
            raise NotInterpretedError("a pointer to another type")
        self._out.emit(f"store.{kind}16", register, self._stored(value, kind), offset.register)

    def _stored(self, value: Value, kind: str) -> int:
        """Returns the register of a vector that is stored as elements of this type."""
        if not value.is_vector or value.kind != kind:
            raise NotInterpretedError("a value of another type")
        return value.register

    def _philox(self) -> None:
        self._expect("philox_4x32", "(")
        words = []
        for _ in range(4):
            words.append(self._expression())
            self._expect(",")
        first = self._rows.get(self._take())
        self._expect(")")
        if first is None or [w.is_vector for w in words] != [False, False, True, True]:
            raise NotInterpretedError("random words of another width")
        keys = self._out.new_row(2, is_vector=False)
        for k in (0, 1):
            self._out.emit("copy", keys + k, words[k].register)
        self._out.emit("philox", first, keys, words[2].register, words[3].register)

    def _across_argmax(self) -> None:
        name = self._take()
        self._expect("(")
        values = self._expression()
        self._expect(",")
        places = self._expression()
        self._expect(",", "&")
        best = self._local()
        self._expect(",", "&")
        place = self._local()
        self._expect(")")
        kinds = (values.kind, values.is_vector, places.kind, places.is_vector, best.kind, place.kind)
        if kinds != ("f", True, "i", True, "f", "i"):
            raise NotInterpretedError("an argmax of another type")
        self._out.emit(f"{name}.f16", best.register, values.register, places.register, place.register)

    _across_argmin = _across_argmax

    # ---- expressions

    def _int(self, value: Value) -> Value:
        if value.is_vector or value.kind != "i":
            raise NotInterpretedError("an int is needed")
        return value

    def _index(self) -> Value:
        value = self._expression()
        return self._int(value.as_kind("i") if value.kind == "u" else value)

    def _address(self) -> tuple[str, int, Value]:
        """Reads a pointer and perhaps what is added to it: the kind of its elements, its register, and the offset."""
        pointer = self._pointers.get(self._take())
        if pointer is None:
            raise NotInterpretedError("a pointer")
        return *pointer, self._int(self._expression()) if self._accept("+") else self._out.constant("i", 0)

    def _expression(self) -> Value:
        condition = self._binary(0)
        if not self._accept("?"):
            return condition
        a = self._expression()
        self._expect(":")
        b = self._expression()
        a, b = self._unified(a, b)
        if condition.is_vector:
            a, b = self._out.vector(a), self._out.vector(b)
        if condition.kind == "f":
            raise NotInterpretedError("a condition")
        name = "select16" if condition.is_vector else "select16s" if a.is_vector else "select"
        return self._out.compute(name, a.kind, a.is_vector, condition.register, a.register, b.register)

    def _binary(self, level: int) -> Value:
        if level == len(_BINARY):
            return self._unary()
        a = self._binary(level + 1)
        while self._next() in _BINARY[level]:
            symbol = self._take()
            a = self._combined(symbol, a, self._binary(level + 1))
        return a

    def _combined(self, symbol: str, a: Value, b: Value) -> Value:
        if symbol in ("<<", ">>"):
            if "f" in (a.kind, b.kind):
                raise NotInterpretedError("a shift of floats")
            b = b.as_kind(a.kind)
            if a.is_vector or b.is_vector:
                a, b = self._out.vector(a), self._out.vector(b)
        else:
            a, b = self._unified(a, b)
        if symbol in _COMPARISONS:
            return self._out.operation(symbol, [a, b], "i")
        if symbol in "&|^" and a.kind == "u":
            return self._out.operation(symbol, [a.as_kind("i"), b.as_kind("i")], "u")
        return self._out.operation(symbol, [a, b], a.kind)

    def _unified(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Returns two operands as values of one type and width, by the rules of OpenCL C."""
        if a.is_vector and b.is_vector:
            if a.kind != b.kind:
                raise NotInterpretedError("vectors of two types")
            kind = a.kind
        elif a.is_vector or b.is_vector:
            kind = a.kind if a.is_vector else b.kind  # the number takes the type of the vector's elements
        else:
            kinds = (a.kind, b.kind)
            kind = "f" if "f" in kinds else "u" if "u" in kinds else "i"
        a, b = self._out.converted(a, kind), self._out.converted(b, kind)
        a, b = self._out.alike(a, b), self._out.alike(b, a)
        if kind == "b":  # bytes are held as ints
            return a.as_kind("i"), b.as_kind("i")
        return a, b

    def _unary(self) -> Value:
        symbol = self._next()
        if symbol not in ("-", "~", "!", "("):
            return self._primary()
        self._take()
        if symbol == "(":
            return self._parenthesis()
        if symbol == "-" and self._next()[:1].isdigit():
            value = self._number(-1)
        else:
            operand = self._unary()
            name = "neg" if symbol == "-" else symbol
            if operand.kind == "b":
                operand = operand.as_kind("i")
            value = self._out.operation(name, [operand], operand.kind)
        return value

    def _parenthesis(self) -> Value:
        """Reads a cast, or an expression in parentheses, after the opening one."""
        if self._next() not in _SCALARS and self._next() not in _VECTORS:
            value = self._expression()
            self._expect(")")
            return value
        kind, is_vector = self._type()
        self._expect(")")
        value = self._unary()
        if value.is_vector:
            if not is_vector or value.kind != kind:
                raise NotInterpretedError("a cast of a vector")
            return value
        return self._as(value, kind, is_vector)

    def _number(self, sign: int = 1) -> Value:
        text = self._take()
        if "L" in text:
            raise NotInterpretedError("a long number")
        if text.endswith("f"):
            return self._out.constant("f", sign * float(np.float32(text[:-1])))
        if not text.removesuffix("U").isdigit():
            raise NotInterpretedError("a double")
        kind = "u" if text.endswith("U") else "i"
        return self._out.constant(kind, sign * int(text.removesuffix("U")))

    def _primary(self) -> Value:
        token = self._next()
        if token[:1].isdigit():
            return self._number()
        self._take()
        if self._next() == "(":
            return self._call(token)
        if self._next() == "[" and token in self._rows:
            self._take()
            number = self._take()
            self._expect("]")
            if number not in ("0", "1", "2", "3"):
                raise NotInterpretedError("an array")
            return Value("u", True, self._rows[token] + int(number))
        if self._next() == "[" and token in self._pointers:
            kind, register = self._pointers[token]
            self._take()
            at = self._index()
            self._expect("]")
            value = self._out.compute(f"load.{kind}", kind, False, register, at.register)
            return value.as_kind("i") if kind == "b" else value  # C computes with ints
        if token in self._locals:
            return self._locals[token]
        if token == "ITEM":
            return self._out.compute("item", "i", False)
        if token in _NAMED:
            return self._out.constant(*_NAMED[token])
        raise NotInterpretedError(token)

    def _call(self, name: str) -> Value:
        self._expect("(")
        if name == "LOAD":
            kind = self._kind_of_element()
            self._expect(",", "16", ",")
            return self._vector_at(f"load.{kind}16", kind)
        if name == "gather":
            kind, register = self._pointers.get(self._take(), ("", 0))
            self._expect(",")
            at = self._expression()
            self._expect(")")
            if not at.is_vector or at.kind not in ("i", "u"):
                raise NotInterpretedError("a gather")
            return self._out.compute(f"gather.{kind}16", kind, True, register, at.register)
        args: list[Value] = []
        while not self._accept(")"):
            args.append(self._expression())
            if self._next() != ")":
                self._expect(",")
        return self._function(name, args)

    def _vector_at(self, instruction: str, kind: str) -> Value:
        of, register, offset = self._address()
        self._expect(")")
        if of != kind:
            raise NotInterpretedError("a pointer to another type")
        return self._out.compute(instruction, kind, True, register, offset.register)

    def _function(self, name: str, args: list[Value]) -> Value:
        out = self._out
        if name == "lanes16" and not args:
            return out.compute("lanes", "i", True)
        if name == "lane_index16" and len(args) == 2:
            return out.compute("lane_index", "i", True, *[self._int(a).register for a in args])
        if name == "LIVE" and len(args) == 2:
            return out.compute("live", "i", False, self._int(args[0]).register)
        prefix, _, target = name.rpartition("_")
        if prefix in ("as", "convert") and len(args) == 1:
            return self._as_type(prefix, target, args[0])
        if name in _ACROSS and len(args) == 1 and args[0].is_vector:
            return out.compute(f"{name}.{args[0].kind}16", args[0].kind, False, args[0].register)
        if (name.startswith("t_") or name in _FUNCTIONS) and 1 <= len(args) <= 2:
            if len(args) == 2:
                args = [*self._unified(*args)]
            return out.operation(name, args, args[0].kind)
        raise NotInterpretedError(name)

    def _as_type(self, how: str, target: str, value: Value) -> Value:
        kind = _VECTORS.get(target) if value.is_vector else _KINDS.get(target)
        if kind is None or how == "as" and "b" in (kind, value.kind):
            raise NotInterpretedError(f"{how}_{target}")
        return value.as_kind(kind) if how == "as" else self._out.converted(value, kind)

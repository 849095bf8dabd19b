"""The table of scalar primitives: each is one line, and a function of `tfnb.ir.scalar` by the name that it has here.

`Primitive` says what the arguments mean. Invariant: NumPy, OpenCL C and Python compute the same value up to rounding.
"""

from __future__ import annotations

import numpy as np

from tfnb.ir.scalar import host_functions as on_host
from tfnb.ir.scalar.expression import Binary, Expr, Library, Unary
from tfnb.types import bool_

# Libraries of functions that OpenCL C does not have, or that are slower or less accurate there.
MATH = Library("lib/math.clh")
SPECIAL = Library("fused/special.clh")
INTEGERS = Library("fused/integers.clh")

SLOW = 12  # the cost of a function that takes a polynomial or a loop

# arithmetic

add = Binary("add", np.add, commutes=True, infix="+", unsigned="+", python="{0} + {1}")
sub = Binary("sub", np.subtract, infix="-", unsigned="-", python="{0} - {1}")
mul = Binary("mul", np.multiply, commutes=True, infix="*", unsigned="*", python="{0} * {1}")
div = Binary("div", on_host.divide, floats="({0} / {1})", integers=INTEGERS, cost=4)
floordiv = Binary("floordiv", on_host.floordiv, floats=MATH, integers=INTEGERS, cost=4)
floormod = Binary("floormod", on_host.floormod, floats=MATH, integers=INTEGERS, cost=4)
truncmod = Binary("truncmod", on_host.truncmod, floats=MATH, integers=INTEGERS, cost=4)
neg = Unary("neg", np.negative, floats="(-{0})", integers="(-{0})", unsigned="-", python="-{0}")
abs_ = Unary("abs", np.abs, floats="fabs({0})", integers=INTEGERS)
sign = Unary("sign", on_host.sign, floats=MATH, integers=INTEGERS)
recip = Unary("recip", lambda x: 1 / x, floats="(1.0f / {0})", doubles="(1.0 / {0})", cost=4)
maximum = Binary(
    "max", np.maximum, commutes=True, floats=MATH, integers=INTEGERS, by_constant={None: "({0} < {1} ? {1} : {0})"}
)
minimum = Binary(
    "min", np.minimum, commutes=True, floats=MATH, integers=INTEGERS, by_constant={None: "({0} > {1} ? {1} : {0})"}
)
pow_ = Binary(
    "pow", on_host.power, floats=MATH, integers=INTEGERS, by_constant={1.0: "{0}", 2.0: "({0} * {0})"}, cost=SLOW
)
sqrt = Unary("sqrt", np.sqrt, floats="sqrt({0})", cost=4)
rsqrt = Unary("rsqrt", lambda x: 1 / np.sqrt(x), floats=MATH, cost=5)

# rounding

floor = Unary("floor", np.floor, floats="floor({0})")
ceil = Unary("ceil", np.ceil, floats="ceil({0})")
rint = Unary("rint", np.rint, floats="rint({0})")

# exponentials and logarithms

exp = Unary("exp", np.exp, floats=MATH, cost=SLOW)
expm1 = Unary("expm1", np.expm1, floats=MATH, cost=SLOW)
log = Unary("log", np.log, floats=MATH, cost=SLOW)
log1p = Unary("log1p", np.log1p, floats=MATH, cost=SLOW)
tanh = Unary("tanh", np.tanh, floats=MATH, cost=SLOW)
sigmoid = Unary("sigmoid", on_host.sigmoid, floats=MATH, cost=SLOW)
sinh = Unary("sinh", np.sinh, floats=MATH, cost=SLOW)
cosh = Unary("cosh", np.cosh, floats=MATH, cost=SLOW)
asinh = Unary("asinh", np.arcsinh, floats=MATH, cost=SLOW)
acosh = Unary("acosh", np.arccosh, floats=MATH, cost=SLOW)
atanh = Unary("atanh", np.arctanh, floats=MATH, cost=SLOW)

# angles

sin = Unary("sin", np.sin, floats=MATH, cost=SLOW)
cos = Unary("cos", np.cos, floats=MATH, cost=SLOW)
tan = Unary("tan", np.tan, floats=MATH, cost=SLOW)
asin = Unary("asin", np.arcsin, floats=MATH, cost=SLOW)
acos = Unary("acos", np.arccos, floats=MATH, cost=SLOW)
atan = Unary("atan", np.arctan, floats=MATH, cost=SLOW)
atan2 = Binary("atan2", np.arctan2, floats=MATH, cost=SLOW)

# special functions

erf = Unary("erf", on_host.special("erf"), floats=MATH, cost=SLOW)
erfc = Unary("erfc", on_host.special("erfc"), floats=MATH, cost=SLOW)
erfinv = Unary("erfinv", on_host.special("erfinv"), floats=MATH, doubles=SPECIAL, cost=SLOW)
lgamma = Unary("lgamma", on_host.lgamma, floats=MATH, cost=SLOW)
digamma = Unary("digamma", on_host.digamma, floats=MATH, doubles=SPECIAL, cost=SLOW)

# comparisons, and operations on bools

lt = Binary("lt", np.less, result=bool_, infix="<", python="{0} < {1}")
le = Binary("le", np.less_equal, result=bool_, infix="<=", python="{0} <= {1}")
gt = Binary("gt", np.greater, result=bool_, infix=">", python="{0} > {1}")
ge = Binary("ge", np.greater_equal, result=bool_, infix=">=", python="{0} >= {1}")
eq = Binary("eq", np.equal, result=bool_, infix="==", python="{0} == {1}")
ne = Binary("ne", np.not_equal, result=bool_, infix="!=", python="{0} != {1}")
and_ = Binary("and", np.logical_and, result=bool_, commutes=True, infix="&", python="{0} and {1}")
or_ = Binary("or", np.logical_or, result=bool_, commutes=True, infix="|", python="{0} or {1}")
not_ = Unary("not", np.logical_not, result=bool_, integers="(!{0})", vectors="(~{0})", python="not {0}")
isnan = Unary("isnan", np.isnan, result=bool_, floats="({0} != {0})")
isinf = Unary(
    "isinf", np.isinf, result=bool_, floats="(fabs({0}) == INFINITY)", doubles="(fabs({0}) == (double)INFINITY)"
)
isfinite = Unary(
    "isfinite", np.isfinite, result=bool_, floats="(fabs({0}) < INFINITY)", doubles="(fabs({0}) < (double)INFINITY)"
)

# bits of integers

bitand = Binary("bitand", np.bitwise_and, infix="&")
bitor = Binary("bitor", np.bitwise_or, infix="|")
bitxor = Binary("bitxor", np.bitwise_xor, infix="^")
bitnot = Unary("bitnot", np.invert, integers="(~{0})")
shl = Binary("shl", np.left_shift, integers=INTEGERS)
shr = Binary("shr", np.right_shift, integers=INTEGERS)

# complex numbers, which are computed by the host only

conjugate = Unary("conj", np.conjugate)


def conj(x: Expr) -> Expr:
    """Returns the complex conjugate; a real element is returned as it is."""
    return conjugate(x) if x.dtype.is_complex else x

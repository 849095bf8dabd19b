"""The catalogue against real TensorFlow (tf.compat.v1): values and gradients of every case, in float32 and
float64.
"""

from __future__ import annotations

import pytest
from cases import op_cases

pytest.importorskip("tensorflow", exc_type=ImportError)
against = pytest.importorskip("against")

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
BY_OP = {name: [c for c in cases if c.oracle] for name, cases in op_cases().items()}


@pytest.mark.parametrize("name", sorted(n for n, cases in BY_OP.items() if cases))
def test_equals_tensorflow(name):
    against.check([c for case in BY_OP[name] for c in case.both_floats()])

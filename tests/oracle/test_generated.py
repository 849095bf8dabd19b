"""Every op on generated cases, in this library and in TensorFlow: equal, both refused, or a listed difference."""

from __future__ import annotations

import pytest
from cases import op_cases

pytest.importorskip("tensorflow", exc_type=ImportError)
hypothesis = pytest.importorskip("hypothesis")
differences = pytest.importorskip("differences")
eagerly = pytest.importorskip("eagerly")
variants = pytest.importorskip("variants")

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
MANY = hypothesis.settings(
    max_examples=24,
    deadline=None,
    database=None,
    phases=[hypothesis.Phase.generate],  # the cases are small as they are
    suppress_health_check=list(hypothesis.HealthCheck),
)


@pytest.mark.parametrize("name", differences.generated_ops(op_cases()))
def test_equals_tensorflow(name):
    @hypothesis.seed(7)
    @MANY
    @hypothesis.given(variants.variants(name))
    def run(case):
        for found in eagerly.differences(case):
            if differences.listed(case, *found) is None:
                pytest.fail(f"{found[0]}: {found[1]}\n{case}")

    run()


def test_every_op_is_generated_or_says_where_it_is_tested():
    named = [n for names in differences.ELSEWHERE.values() for n in names.split()]
    assert len(named) == len(set(named))
    assert set(named) <= set(differences.CATALOG)
    assert {*differences.generated_ops(op_cases()), *named} == set(differences.CATALOG)

"""docs/ops.md says what the catalogue is now."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from tfnb.ops import CATALOG

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))  # as when they are run


def reference(name="op_reference"):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current():
    assert reference().page() == (ROOT / "docs" / "ops.md").read_text(encoding="utf-8"), (
        "run python scripts/op_reference.py"
    )


def test_the_differences_from_tensorflow_are_current():
    page = reference("difference_page").page()
    assert page == (ROOT / "docs" / "differences.md").read_text(encoding="utf-8"), (
        "run python scripts/difference_page.py"
    )


def test_the_data_of_the_check_is_current():
    script = reference("difference_page")
    assert script.data() == script.DATA.read_text(encoding="utf-8"), "run python scripts/difference_page.py"


def test_what_an_entry_says():
    made = reference()
    tanh = made.entry(CATALOG["Tanh"])
    assert "`(x: T) -> (y: T)`" in tanh and "`tf.tanh`" in tanh and "gradient: yes" in tanh
    assert "kernels: elementwise" in tanh
    assert "`transpose_a = False`" in made.entry(CATALOG["MatMul"])
    assert "library kernels" in made.kernels(CATALOG["MatMul"])
    assert made.kernels(CATALOG["PyFunc"]) == "host only"
    assert "`turns" not in made.entry(CATALOG["Print"])
    assert "switch" in made.kernels(CATALOG["Switch"])

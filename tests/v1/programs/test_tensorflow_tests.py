"""scripts/tensorflow_tests: how a file of TensorFlow's tests is run with tfnb, and how its results are counted."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
FOLDERS = [str(SCRIPTS / name) for name in ("tensorflow_tests", "old_programs")]
NAMES = ("reasons", "suites", "report", "run", "sources")
PUBLIC = {"zeros": ["zeros"], "lost": ["nn.lost"], "hidden": ["nn.impl.hidden"]}

# A file as TensorFlow's are: private names at its head, and tests that pass and fail in each way.
FILE = """
import unittest
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops, test_util
from tensorflow.python.ops import gen_array_ops, gen_secret_ops, secret_thing
from tensorflow.python.platform import googletest


@ops.RegisterShape("Nothing")
def _shape(op):
    return None


class Derived(secret_thing.Base):
    pass


class Case(test_util.TensorFlowTestCase):
    def test_passes(self):
        with self.test_session():
            self.assertAllEqual([0.0, 0.0], tf.zeros([2]).eval())
            self.assertProtoEquals("name: 'a' op: 'B'", tf.NodeDef(name="a", op="B"))

    def test_has_another_value(self):
        with self.test_session():
            self.assertAllEqual([1.0, 1.0], tf.zeros([2]).eval())

    def test_has_another_shape(self):
        self.assertEqual([3], tf.zeros([2]).get_shape().as_list())

    def test_uses_a_private_function(self):
        gen_secret_ops.run(1)

    def test_derives_from_a_private_class(self):
        Derived()

    def test_calculates_with_a_private_number(self):
        np.linspace(secret_thing.least, 1.0)

    def test_creates_a_private_operation(self):
        tf.get_default_graph().create_op("FloatOutput", [], [tf.float32])

    def test_imports_a_private_operation(self):
        tf.import_graph_def(tf.GraphDef(node=[tf.NodeDef(name="a", op="FloatOutput")]))

    def test_misses_a_public_name(self):
        tf.lost(1)

    def test_misses_a_name_of_another_module(self):
        tf.hidden(1)

    def test_misses_an_argument(self):
        tf.zeros([2], wrong=True)

    def test_expects_another_text(self):
        with self.assertRaisesRegexp(ValueError, "quite another"):
            tf.reshape(tf.zeros([2]), [3])
        self.assertTrue(True)

    def test_expects_another_class(self):
        with self.assertRaises(OSError):
            tf.reshape(tf.zeros([2]), [3])

    def test_expects_another_class_and_has_another_value(self):
        with self.assertRaises(OSError):
            tf.reshape(tf.zeros([2]), [3])
        self.assertEqual(1, 2)

    def test_expects_an_error(self):
        with self.assertRaises(ValueError):
            tf.zeros([2])

    def test_takes_too_long(self):
        while True:
            pass

    def test_squares_a_gradient_of_complex_numbers(self):
        with self.test_session():
            x = tf.constant([1 + 2j, 3 - 1j], tf.complex64)
            self.assertLess(tf.test.compute_gradient_error(x, [2], x * x, [2]), 1e-2)


class CaseWithCApi(Case):
    pass
"""
REASONS = {
    "test_passes": "pass",
    "test_squares_a_gradient_of_complex_numbers": "pass",
    "test_has_another_value": "value",
    "test_has_another_shape": "shape",
    "test_uses_a_private_function": "private",
    "test_derives_from_a_private_class": "private",
    "test_calculates_with_a_private_number": "private",
    "test_creates_a_private_operation": "private",
    "test_imports_a_private_operation": "private",
    "test_misses_a_public_name": "name",
    "test_misses_a_name_of_another_module": "private",
    "test_misses_an_argument": "argument",
    "test_expects_another_text": "text",
    "test_expects_another_class": "class",
    "test_expects_another_class_and_has_another_value": "value",
    "test_expects_an_error": "taken",
    "test_takes_too_long": "time",
}


@pytest.fixture(scope="module")
def scripts():
    sys.path[:0] = FOLDERS
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in NAMES})
    for folder in FOLDERS:
        sys.path.remove(folder)
    for name in NAMES:
        del sys.modules[name]


@pytest.fixture(scope="module")
def here(scripts, tmp_path_factory):
    """The results of the file with tfnb, and of a file that cannot be loaded."""
    folder = tmp_path_factory.mktemp("tensorflow_tests")
    rows = []
    for name, text in (("some_test.py", FILE), ("broken_test.py", "raise ValueError('at the head')\n")):
        (folder / name).write_text(text)
        out = folder / f"{name}.jsonl"
        child = SCRIPTS / "tensorflow_tests" / "child" / "one_file.py"
        command = [sys.executable, child, "here", "1.5", folder / name, out]
        subprocess.run(command, check=True, cwd=folder, env=environment(), capture_output=True, timeout=300)
        rows.append(scripts.run.read_rows(out))
    return rows


def environment():
    return os.environ | {"PYTHONPATH": str(SCRIPTS.parent), "TEST_SECONDS": "2"}


def there(*passed):
    return [{"id": f"Case.{name}", "status": "pass"} for name in passed] + [{"end": True}]


def test_each_test_has_its_reason(scripts, here):
    rows = {row["id"]: row for row in here[0] if row.get("id", "").startswith("Case.")}
    found = {name.removeprefix("Case."): scripts.reasons.reason(row, None, PUBLIC) for name, row in rows.items()}
    assert found == REASONS


def test_private_names_at_the_head_are_listed(here):
    [placeholders] = [row["placeholders"] for row in here[0] if "placeholders" in row]
    assert set(placeholders) == {"python.ops.gen_secret_ops", "python.ops.secret_thing"}


def test_a_file_that_cannot_be_loaded_counts_for_each_of_its_tests(scripts, here):
    [loading] = [row for row in here[1] if row.get("id") == "<import>"]
    assert loading["status"] == "import" and "at the head" in loading["message"]
    assert scripts.reasons.reason(None, loading, PUBLIC) == "refused"
    assert scripts.reasons.reason(None, None, PUBLIC) == "file"


def test_the_page_counts_what_the_results_say(scripts, here):
    report = scripts.report.Report(scripts.suites.SUITES[1])
    report.add("ops/some_test.py", there(*REASONS, "test_that_is_missing_here"), here[0], PUBLIC)
    report.add("ops/unfinished_test.py", there("test_passes"), [], PUBLIC)
    counts = report.counts()
    assert counts["pass"] == 2 and counts["private"] == 7 and counts.total() == len(REASONS) + 1
    page = scripts.report.page_of([report], "0123abcd", "2026-11-26")
    assert "| 1.5 | 1 | 18 | 7 | 11 | 2 | 18.2 |" in page and "is not reached" in page
    assert "Without a result in 1.5: ops/unfinished_test.py." in page
    assert "- **ops/some**: argument: Case.test_misses_an_argument; class: Case.test_expects_another_class; " in page
    assert "at commit 0123abcd" in page


def test_a_test_that_only_a_decorator_copies_does_not_count(scripts, here):
    report = scripts.report.Report(scripts.suites.SUITES[1])
    copies = [{"id": "OtherWithCApi.test_passes", "status": "pass"}, {"end": True}]
    report.add("ops/some_test.py", copies, here[0], PUBLIC)
    assert report.copies == 1 and not report.counts()


def test_a_line_that_a_killed_process_left_is_not_read(scripts, tmp_path):
    file = tmp_path / "results.jsonl"
    file.write_text(json.dumps({"start": "A.b"}) + '\n{"id": "A.b", "sta')
    assert scripts.run.read_rows(file) == [{"start": "A.b"}]
    assert scripts.run.read_rows(tmp_path / "none.jsonl") == []


def test_files_of_left_out_parts_are_not_chosen(scripts, tmp_path):
    for path in (
        "ops/a_test.py",
        "ops/a.py",
        "keras/b_test.py",
        "util/nest_test.py",
        "util/other_test.py",
        "ops/gcs_test.py",
    ):
        file = tmp_path / "tensorflow" / "python" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    assert scripts.suites.SUITES[0].files(tmp_path) == ["ops/a_test.py", "util/nest_test.py"]

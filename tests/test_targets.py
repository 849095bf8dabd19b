"""A step that gives on several devices what it does not give on one is found; what is left out is said."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest
import tfnb as tf

@pytest.fixture
def session(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        yield session

def test_the_same(session, tmp_path):
    x = tf.random_normal([3])
    assert session.run(tf.exp(x) + tf.sin(x)).shape == (3,)
    assert session.run(tf.constant(str(tmp_path))).decode() == str(tmp_path)

def test_another_value(session):
    assert session.run(tf.constant(len(session.list_devices()))) > 0

def test_more_steps(session):
    for device in session.list_devices():
        session.run(tf.constant(1))

@pytest.mark.not_compared("devices are counted")
def test_left_out(session):
    assert session.run(tf.constant(len(session.list_devices()))) > 0
"""


@pytest.mark.opencl
def test_differences_are_found(tmp_path):
    tests = Path(__file__).parent
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    not_compared: a reason\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), *sys.path]), "TFNB_OPTIMIZE": "0"}
    found = []
    for target in ([], ["--target=devices:2"]):
        command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "conftest", "-p", "no:cacheprovider", "-n0"]
        done = subprocess.run(
            [*command, *target, f"--results={tmp_path / 'results'}", "test_it.py"],
            cwd=tmp_path,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )
        found.append(done.stdout)
    one, several = found
    assert "4 passed" in one
    assert "2 failed, 2 passed" in several, several
    assert "1 of 1 steps differ from one device's; step 0" in several
    assert "2 steps ran, on one device 1" in several
    assert "COMPARED 1 tests by 2 steps, 1 of them on several devices; 0 have no step" in several
    assert "NOT COMPARED [1] devices are counted" in several

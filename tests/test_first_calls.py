"""Whatever a program calls first works: parts that other calls have loaded are not needed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Each is all that a process does: first lines of programs of the time, and functions that need a higher layer.
PROGRAMS = """
tf.get_default_graph().get_operations()
tf.reset_default_graph()
assert tf.TensorShape([1, None]).as_proto().dim[1].size == -1
assert not tf.distribute.has_strategy() and tf.distribute.get_strategy().num_replicas_in_sync == 1
assert tf.distribute.get_replica_context().replica_id_in_sync_group == 0
tf.distribute.experimental_set_strategy(tf.distribute.MirroredStrategy()); assert tf.distribute.has_strategy()
assert tf.get_collection("x") == [] and tf.global_variables() == [] and tf.summary.merge_all() is None
with tf.variable_scope("a"), tf.name_scope("b"), tf.device("/cpu:0"), tf.control_dependencies([]): pass
assert tf.train.get_global_step() is None
tf.import_graph_def(tf.GraphDef())
assert tf.Session().run(tf.Variable(1.0).initialized_value() * 2) == 2
assert tf.linalg.LinearOperatorDiag([1.0, 2.0]).adjoint().shape.as_list() == [2, 2]
tf.keras.backend.clear_session()
"""

FORKS = """
import os, sys, traceback
import tfnb as tf

for program in sys.stdin.read().splitlines():
    child = os.fork()
    if not child:
        try:
            exec(program)
            os._exit(0)
        except BaseException:
            print(program)
            traceback.print_exc(file=sys.stdout)
            sys.stdout.flush()
            os._exit(1)
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")
def test_first_calls():
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS], input=PROGRAMS.strip(), capture_output=True, text=True
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")

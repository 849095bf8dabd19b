"""A disk that is full, or a limit on the size of files: one error of this library's classes, and none after it."""

import subprocess
import sys

import pytest

# A limit on the size of files holds for a whole process, so this one runs in one of its own.
PROGRAM = """
import gc, resource, signal, sys
import tfnb as tf
from tfnb.errors import ResourceExhaustedError
v = tf.Variable(tf.zeros([100_000]))
with tf.Session() as sess:
    sess.run(v.initializer)
    def expect(action):
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
        try:
            action()
        except ResourceExhaustedError as e:
            assert "file" in str(e), e
        else:
            raise AssertionError("no error")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
{bodies}
"""
BODY = """
    path = sys.argv[1] + "/file_{name}"
    {body}
    gc.collect()
    print("{name}", flush=True)
"""
BODIES = {
    "records_close": """
    def action():
        w = tf.python_io.TFRecordWriter(path)
        for _ in range(100):
            w.write(bytes(2_000))
        w.close()
    expect(action)""",
    "records_block": """
    def action():
        with tf.python_io.TFRecordWriter(path, tf.python_io.TFRecordOptions(KIND)) as w:
            for n in range(400):
                w.write(bytes((n * k) % 251 for k in range(2_000)))
    for KIND in (0, 1, 2):
        expect(action)""",
    "records_dropped": """
    def action():
        w = tf.python_io.TFRecordWriter(path)
        w.write(bytes(200_000))
        w.flush()
    expect(action)""",
    "write_file": """
    write = tf.write_file(path, b"x" * 200_000)
    expect(lambda: sess.run(write))""",
    "gfile": """
    def action():
        with tf.gfile.GFile(path, 'wb') as f:
            f.write(b'x' * 200_000)
    expect(action)""",
    "save_async": """
    saver = tf.train.Saver()
    expect(lambda: saver.save_async(sess, path, 1).result())
    assert saver.save(sess, path, 2) == path + '-2'
    expect(lambda: saver.save_async(sess, path, 3).result())
    assert saver.save_async(sess, path, 4).result() == path + '-4'
    saver.close()
    saver.restore(sess, path + '-4')""",
}


@pytest.mark.opencl
def test_one_error_and_none_after_it(tmp_path):
    bodies = [BODY.replace("{name}", name).replace("{body}", body.strip()) for name, body in BODIES.items()]
    program = PROGRAM.replace("{bodies}", "".join(bodies))
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout.split() == list(BODIES), done.stderr
    assert "Error" not in done.stderr and "Exception" not in done.stderr, done.stderr

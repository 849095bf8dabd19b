"""The era 0.12 reads files as bytes, and their lines as text: what TensorFlow 0.12.1 does with Python 3."""

from tfnb.v1.programs.hook import tensorflow_of


def test_what_is_read_at_once_is_bytes(tmp_path):
    path = str(tmp_path / "words.txt")
    tf, later = tensorflow_of("0.12"), tensorflow_of("1.15")
    with tf.gfile.GFile(path, "w") as file:
        file.write("a ü\nb\n")
    with tf.gfile.FastGFile(path, "r") as file:
        assert file.read(2) == b"a " and file.readlines() == ["ü\n", "b\n"]
    assert tf.gfile.Open(path).read().decode("utf-8").split() == ["a", "ü", "b"]
    assert later.gfile.GFile(path).read() == "a ü\nb\n"
    assert tf.python.lib.io.file_io.read_file_to_string(path) == "a ü\nb\n".encode()
    assert later.python.lib.io.file_io.read_file_to_string(path) == "a ü\nb\n"

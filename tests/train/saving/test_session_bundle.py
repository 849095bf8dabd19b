"""`tf.contrib.session_bundle`: exports with signatures, assets and versions, and loading them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tfnb.contrib.session_bundle import exporter, gc, manifest_pb2, session_bundle

import tfnb as tf
from tfnb import errors
from tfnb.ir.protos import proto


def model(assets=()):
    """A graph y = w x whose w is 3; the step is 7."""
    x = tf.placeholder(tf.float32, [None], name="x")
    w = tf.Variable(1.0, name="w")
    step = tf.Variable(7, name="step", trainable=False)
    y = tf.multiply(x, w, name="y")
    export = exporter.Exporter(tf.train.Saver())
    export.init(
        default_graph_signature=exporter.classification_signature(x, scores_tensor=y),
        named_graph_signatures={
            "inputs": exporter.generic_signature({"x": x}),
            "r": exporter.regression_signature(x, y),
        },
        assets_collection=assets,
        init_op=tf.no_op(),
    )
    return w, step, export


def loaded(folder, fetches):
    """What a new process gets from an export; it replaces the default graph, which a test must not do."""
    code = (
        "import sys; from tfnb.contrib.session_bundle import session_bundle\n"
        f"session, message = session_bundle.load_session_bundle_from_path({folder!r})\n"
        f"print({fetches})\n"
        "sys.stdout.flush(); sys.stdout.buffer.write(message.SerializeToString())"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    printed, _, message = output.partition(b"\n")
    return printed.decode(), proto("meta_graph").MetaGraphDef.FromString(message)


def test_an_export_is_loaded_with_its_values_and_signatures(tmp_path):
    w, step, export = model()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(w.assign(3.0))
        folder = export.export(f"{tmp_path}/exports/", step, session)
        assert folder == f"{tmp_path}/exports/00000007".encode()
        with pytest.raises(errors.FailedPreconditionError, match="Overwriting exports"):
            export.export(f"{tmp_path}/exports", step, session)
    printed, message = loaded(folder, "session.run('y:0', {'x:0': [2.0]})")
    assert printed == "[6.]"
    (content,) = message.collection_def["serving_signatures"].any_list.value
    assert content.type_url == "type.googleapis.com/tensorflow.serving.Signatures"
    signatures = manifest_pb2.Signatures.FromString(content.value)
    assert signatures.default_signature.classification_signature.scores.tensor_name == "y:0"
    assert signatures.named_signatures["inputs"].generic_signature.map["x"].tensor_name == "x:0"
    assert signatures.named_signatures["r"].WhichOneof("type") == "regression_signature"


def test_assets_are_copied_and_fed_when_the_export_is_loaded(tmp_path):
    source = tmp_path / "words.txt"
    source.write_text("one two")
    path = tf.constant(str(source), name="path")
    text = tf.Variable("", name="text")
    export = exporter.Exporter(tf.train.Saver())
    export.init(init_op=text.assign(tf.read_file(path)).op, assets_collection=[path], clear_devices=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        folder = export.export(str(tmp_path / "out"), tf.constant(1), session).decode()
    source.unlink()
    assert loaded(folder, "session.run('text:0')")[0] == "b'one two'"


def test_old_versions_are_deleted(tmp_path):
    _, step, export = model()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number in (1, 2, 3):
            session.run(step.assign(number))
            export.export(str(tmp_path), step, session, exports_to_keep=gc.largest_export_versions(2))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["00000002", "00000003"]


def test_filters_of_versions():
    paths = [gc.Path(f"/e/{n}", n) for n in range(10)]

    def versions(chosen):
        return [p.export_version for p in chosen(paths)]

    assert versions(gc.mod_export_version(5)) == [0, 5]
    assert versions(gc.one_of_every_n_export_versions(3)) == [3, 6, 9]
    assert versions(gc.union(gc.mod_export_version(5), gc.largest_export_versions(3))) == [0, 5, 7, 8, 9]
    assert versions(gc.negation(gc.largest_export_versions(8))) == [0, 1]


def test_errors(tmp_path):
    export = exporter.Exporter(tf.train.Saver([tf.Variable(1.0)]))
    with tf.Session() as session, pytest.raises(errors.FailedPreconditionError, match="init must be called first"):
        export.export(str(tmp_path), tf.constant(1), session)
    with pytest.raises(errors.DTypeError, match="init_op needs to be an Operation"):
        export.init(init_op=tf.constant(1))
    with pytest.raises(errors.DTypeError, match="an asset needs a constant"):
        export.init(assets_collection=[tf.constant(1)])
    export.init()
    with pytest.raises(errors.FailedPreconditionError, match="only once"):
        export.init()
    with pytest.raises(errors.NotFoundError):
        session_bundle.load_session_bundle_from_path(str(tmp_path / "none"))

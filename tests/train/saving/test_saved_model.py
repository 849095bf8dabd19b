"""SavedModel: models saved with signatures, loaded into other graphs; TensorFlow's tags, names and files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import (
    AlreadyExistsError,
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
)
from tfnb.ir.protos import proto

pytestmark = pytest.mark.opencl
sm = tf.saved_model


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def model():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.Variable([[1.0], [2.0]], name="w")
    return x, tf.matmul(x, w, name="y")


def test_saved_and_loaded(sess, tmp_path):
    x, y = model()
    sess.run(tf.global_variables_initializer())
    names = tmp_path / "names.txt"
    names.write_text("a\nb\n")
    asset = tf.constant(str(names), name="asset")
    tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, asset)
    told = tf.Variable("", name="told", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    signature = sm.signature_def_utils.build_signature_def(
        {sm.signature_constants.CLASSIFY_INPUTS: sm.utils.build_tensor_info(x)},
        {"y": sm.utils.build_tensor_info(y)},
        sm.signature_constants.PREDICT_METHOD_NAME,
    )
    builder = sm.builder.SavedModelBuilder(str(tmp_path / "m"))
    builder.add_meta_graph_and_variables(
        sess,
        [sm.tag_constants.SERVING],
        {"serving_default": signature},
        assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
        main_op=told.assign(asset).op,
    )
    builder.add_meta_graph(["train"])
    assert not (tmp_path / "m").exists()
    path = builder.save()
    assert path == str(tmp_path / "m" / "saved_model.pb")
    assert sm.loader.maybe_saved_model_directory(tmp_path / "m")
    names.unlink()
    (tmp_path / "m").rename(tmp_path / "moved")
    for scope in (None, "loaded"):
        with tf.Graph().as_default() as graph, tf.Session() as other:
            meta = sm.loader.load(other, ["serve"], tmp_path / "moved", import_scope=scope)
            found = meta.signature_def["serving_default"]
            get = sm.utils.get_tensor_from_tensor_info
            a, b = get(found.inputs["inputs"], graph, scope), get(found.outputs["y"], None, scope)
            assert a.shape.as_list() == [None, 2]
            assert other.run(b, {a: [[3.0, 4.0]]}).tolist() == [[11.0]]
            prefix = f"{scope}/" if scope else ""
            file = other.run(f"{prefix}told:0").decode()
            with open(file) as lines:
                assert lines.read() == "a\nb\n"


def test_assets_of_one_file_name_are_kept_apart(sess, tmp_path):
    sources = [tmp_path / "a" / "names.txt", tmp_path / "b" / "names.txt"]
    for source in sources:
        source.parent.mkdir()
        source.write_text(str(source))
    assets = [tf.constant(str(s)) for s in (*sources, sources[0])]
    told = [tf.Variable("", collections=[tf.GraphKeys.LOCAL_VARIABLES]) for _ in assets]
    main_op = tf.group(*(v.assign(a) for v, a in zip(told, assets, strict=True)))
    builder = sm.builder.SavedModelBuilder(str(tmp_path / "m"))
    model()
    sess.run(tf.global_variables_initializer())
    builder.add_meta_graph_and_variables(sess, ["serve"], assets_collection=assets, main_op=main_op)
    builder.save()
    assert sorted(p.name for p in (tmp_path / "m" / "assets").iterdir()) == ["names.txt", "names.txt_1"]
    with tf.Graph().as_default(), tf.Session() as other:
        sm.loader.load(other, ["serve"], tmp_path / "m")
        found = [Path(other.run(f"{v.op.name}:0").decode()).read_text() for v in told]
    assert found == [str(sources[0]), str(sources[1]), str(sources[0])]


def test_an_asset_that_changes_between_two_graphs_is_kept_twice(tmp_path):
    path = tmp_path / "names.txt"
    builder = tf.saved_model.builder.SavedModelBuilder(str(tmp_path / "m"))
    for tag in ("old", "new"):
        path.write_text(tag)
        with tf.Graph().as_default(), tf.Session() as session:
            asset = tf.constant(str(path), name="asset")
            if tag == "old":
                builder.add_meta_graph_and_variables(session, [tag], assets_collection=[asset])
            else:
                builder.add_meta_graph([tag], assets_collection=[asset])
    builder.save()
    contents = {p.name: p.read_text() for p in (tmp_path / "m" / "assets").iterdir()}
    assert contents == {"names.txt": "old", "names.txt_1": "new"}


def test_assets_of_models_before_1_13_are_in_a_collection(sess, tmp_path):
    (tmp_path / "names.txt").write_text("a")
    asset = tf.constant(str(tmp_path / "names.txt"))
    told = tf.Variable("", name="told", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    model()
    sess.run(tf.global_variables_initializer())
    builder = sm.builder.SavedModelBuilder(str(tmp_path / "m"))
    builder.add_meta_graph_and_variables(sess, ["serve"], assets_collection=[asset], main_op=told.assign(asset).op)
    path = Path(builder.save())
    message = proto("saved_model").SavedModel.FromString(path.read_bytes())
    (meta,) = message.meta_graphs
    (packed,) = meta.collection_def[sm.constants.ASSETS_KEY].any_list.value
    assert packed.type_url.endswith("AssetFileDef") and len(meta.asset_file_def) == 1
    del meta.asset_file_def[:]
    path.write_bytes(message.SerializeToString())
    with tf.Graph().as_default(), tf.Session() as other:
        sm.loader.load(other, ["serve"], tmp_path / "m")
        assert Path(other.run("told:0").decode()) == tmp_path / "m" / "assets" / "names.txt"


def test_simple_save_and_text(sess, tmp_path):
    x, y = model()
    sess.run(tf.global_variables_initializer())
    sm.simple_save(sess, tmp_path / "m", {"x": x}, {"y": y})
    with tf.Graph().as_default(), tf.Session() as other:
        meta = sm.load(other, {"serve"}, tmp_path / "m")
        assert meta.signature_def["serving_default"].method_name == "tensorflow/serving/predict"
        assert other.run("y:0", {"x:0": [[1.0, 1.0]]}).tolist() == [[3.0]]
    builder = sm.Builder(tmp_path / "text")
    builder.add_meta_graph_and_variables(sess, ["serve"])
    assert builder.save(as_text=True).endswith("saved_model.pbtxt")
    with tf.Graph().as_default(), tf.Session() as other:
        sm.load(other, ["serve"], tmp_path / "text")
        assert other.run("w:0").tolist() == [[1.0], [2.0]]


def test_a_model_without_variables(sess, tmp_path):
    x = tf.placeholder(tf.float32, [], name="x")
    sm.simple_save(sess, tmp_path / "m", {"x": x}, {"y": tf.multiply(x, 2.0, name="y")})
    with tf.Graph().as_default(), tf.Session() as other:
        sm.load(other, ["serve"], tmp_path / "m")
        assert other.run("y:0", {"x:0": 4.0}) == 8.0


def test_what_is_refused(sess, tmp_path):
    x, y = model()
    sess.run(tf.global_variables_initializer())
    with pytest.raises(AlreadyExistsError, match="exists"):
        sm.Builder(tmp_path)
    builder = sm.Builder(tmp_path / "m")
    for call in (lambda: builder.save(), lambda: builder.add_meta_graph(["serve"])):
        with pytest.raises(FailedPreconditionError):
            call()
    builder.add_meta_graph_and_variables(sess, ["serve"])
    (tmp_path / "m").mkdir()  # somebody else's
    with pytest.raises(AlreadyExistsError, match="exists"):
        builder.save()
    (tmp_path / "m").rmdir()
    with pytest.raises(FailedPreconditionError, match="already"):
        builder.add_meta_graph_and_variables(sess, ["serve"])
    with pytest.raises(InvalidArgumentError, match="asset"):
        builder.add_meta_graph(["a"], assets_collection=[x])
    builder.save()
    with pytest.raises(NotFoundError, match=r"\['gpu'\]"):
        sm.load(sess, ["gpu"], tmp_path / "m")
    with pytest.raises(NotFoundError, match="SavedModel file does not exist"):
        sm.load(sess, ["serve"], tmp_path)
    (tmp_path / "m" / "saved_model.pb").write_bytes(b"\xff\xff")
    with pytest.raises(DataLossError, match="no SavedModel"):
        sm.load(sess, ["serve"], tmp_path / "m")
    with pytest.raises(InvalidArgumentError, match="inputs and outputs"):
        sm.predict_signature_def({}, {"y": y})


def test_other_signatures(sess):
    examples = tf.placeholder(tf.string, [None])
    scores = tf.placeholder(tf.float32, None)
    found = sm.classification_signature_def(examples, None, scores)
    assert found.method_name == "tensorflow/serving/classify" and set(found.outputs) == {"scores"}
    assert found.outputs["scores"].tensor_shape.unknown_rank
    assert sm.regression_signature_def(examples, scores).outputs["outputs"].name == scores.name
    for bad in (
        lambda: sm.classification_signature_def(scores, None, scores),
        lambda: sm.classification_signature_def(examples, None, None),
        lambda: sm.regression_signature_def(examples, examples),
        lambda: sm.regression_signature_def(None, scores),
    ):
        with pytest.raises(InvalidArgumentError):
            bad()


def test_names_are_tensorflows():
    assert sm.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY == "serving_default"
    assert np.all([sm.tag_constants.SERVING == "serve", sm.SERVING == "serve"])


def test_second_operation_after_loading_is_refused(sess, tmp_path):
    tf.add_to_collection(sm.constants.LEGACY_INIT_OP_KEY, tf.no_op())
    for error in (AssertionError, ValueError):
        builder = sm.builder.SavedModelBuilder(str(tmp_path / error.__name__))
        with pytest.raises(error, match="one too many"):
            builder.add_meta_graph_and_variables(sess, ["a"], legacy_init_op=tf.no_op())


def test_files_that_are_missing_or_damaged_are_os_errors(sess, tmp_path):
    with pytest.raises(OSError, match="SavedModel file does not exist at"):
        sm.load(sess, ["a"], str(tmp_path))
    for name in ("saved_model.pbtxt", "saved_model.pb"):
        (tmp_path / name).write_text("no model")
        with pytest.raises(OSError, match=f"Cannot parse file.*{name}"):
            sm.load(sess, ["a"], str(tmp_path))


def test_a_model_of_tensorflow_2_is_restored_by_its_saver_def():
    """Written by TensorFlow 2.1: a table filled from an asset, and a variable [10, 20] of which the first is added.

    The file has no collections: the SaverDef names a function that restores, a signature the operation that fills.
    """
    path = Path(__file__).parents[2] / "data" / "saved_models" / "tensorflow_2_1"
    for scope in (None, "inner"):
        with tf.Graph().as_default(), tf.Session() as sess:
            signature = sm.load(sess, ["serve"], path, import_scope=scope).signature_def["serving_default"]
            prefix = f"{scope}/" if scope else ""
            feeds = {prefix + signature.inputs["x"].name: ["y", "no", "x"]}
            # TensorFlow 1.15.5 gives these, too: lines 1 and 0, and -1 for a word that is no line.
            assert sess.run(prefix + signature.outputs["y"].name, feeds).tolist() == [11, 9, 10]


def saved_with_an_asset(sess, folder, **how):
    (folder / "names.txt").write_text("a")
    asset = tf.constant(str(folder / "names.txt"))
    told = tf.Variable("", name="told", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    builder = sm.builder.SavedModelBuilder(str(folder / "m"))
    builder.add_meta_graph_and_variables(
        sess, ["serve"], assets_collection=[asset], legacy_init_op=told.assign(asset).op
    )
    return Path(builder.save(**how))


@pytest.mark.parametrize("package", ["tensorflow", "tensorboard"])
def test_assets_in_a_collection_under_either_name_of_their_type(sess, tmp_path, package):
    """TensorFlow before 1.13 packs assets as tensorflow.AssetFileDef, tfnb did as tensorboard.AssetFileDef."""
    path = saved_with_an_asset(sess, tmp_path)
    message = proto("saved_model").SavedModel.FromString(path.read_bytes())
    (meta,) = message.meta_graphs
    (packed,) = meta.collection_def[sm.constants.ASSETS_KEY].any_list.value
    assert packed.type_url == "type.googleapis.com/tensorflow.AssetFileDef"
    assert not meta.HasField("saver_def")  # there is nothing to restore
    packed.type_url = f"type.googleapis.com/{package}.AssetFileDef"
    del meta.asset_file_def[:]
    meta.saver_def.SetInParent()  # an empty one means the same
    path.write_bytes(message.SerializeToString())
    with tf.Graph().as_default(), tf.Session() as other:
        sm.loader.load(other, ["serve"], tmp_path / "m")
        assert Path(other.run("told:0").decode()) == tmp_path / "m" / "assets" / "names.txt"
    packed.type_url = "type.googleapis.com/tensorflow.SaverDef"
    path.write_bytes(message.SerializeToString())
    with (
        tf.Graph().as_default(),
        tf.Session() as other,
        pytest.raises(DataLossError, match=r"type\.googleapis\.com/tensorflow\.SaverDef"),
    ):
        sm.loader.load(other, ["serve"], tmp_path / "m")


def test_messages_within_text_are_written_and_read_by_their_names_in_tensorflow(sess, tmp_path):
    path = saved_with_an_asset(sess, tmp_path, as_text=True)
    text = path.read_text()
    assert "[type.googleapis.com/tensorflow.AssetFileDef] {" in text and "tensorboard" not in text
    with tf.Graph().as_default(), tf.Session() as other:
        sm.loader.load(other, ["serve"], tmp_path / "m")
        assert Path(other.run("told:0").decode()) == tmp_path / "m" / "assets" / "names.txt"


def test_the_first_of_the_operations_after_loading_runs(sess, tmp_path):
    """A signature names it since 1.14, the collection of a main op before, that of a legacy init op in the beginning."""
    v = tf.Variable(0, name="v")
    ops = [v.assign_add(k).op for k in (1, 10, 100)]
    sess.run(v.initializer)
    builder = sm.builder.SavedModelBuilder(str(tmp_path / "m"))
    builder.add_meta_graph_and_variables(sess, ["serve"], main_op=ops[1], legacy_init_op=ops[2])
    path = Path(builder.save())
    message = proto("saved_model").SavedModel.FromString(path.read_bytes())
    for key in ("", "__saved_model_init_op"):
        if key:
            message.meta_graphs[0].signature_def[key].outputs[key].name = ops[0].name
            path.write_bytes(message.SerializeToString())
        with tf.Graph().as_default(), tf.Session() as other:
            sm.loader.load(other, ["serve"], tmp_path / "m")
            assert other.run("v:0") == (1 if key else 10)

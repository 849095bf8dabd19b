"""The known networks for images: sizes, names of layers, weights from files, and what goes in and comes out."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

nets = tf.keras.applications
# The number of layers and of parameters, as TensorFlow 1.15 counts them.
SIZES = {
    "VGG16": (23, 138357544),
    "ResNet50": (177, 25636712),
    "ResNet50V2": (192, 25613800),
    "InceptionV3": (313, 23851784),
    "Xception": (134, 22910480),
    "MobileNet": (93, 4253864),
    "MobileNetV2": (157, 3538984),
    "DenseNet121": (429, 8062504),
    "NASNetMobile": (771, 5326716),
}


@pytest.fixture(autouse=True)
def _graph():
    with tf.Graph().as_default():
        yield


@pytest.mark.parametrize("name", SIZES)
def test_a_network_has_the_layers_and_parameters_of_keras(name):
    model = getattr(nets, name)(weights=None)
    assert (len(model.layers), model.count_params()) == SIZES[name]
    assert model.output_shape == (None, 1000)


def test_without_top_images_have_any_size_and_features_are_pooled():
    model = nets.MobileNetV2(include_top=False, weights=None, alpha=0.35, pooling="max")
    assert model.input_shape == (None, None, None, 3)
    assert model.output_shape == (None, 1280)
    small = nets.MobileNet(input_shape=(32, 32, 3), alpha=0.25, weights=None, classes=7)
    x = np.random.RandomState(0).rand(2, 32, 32, 3).astype("float32")
    with tf.Session().as_default():
        np.testing.assert_allclose(small.predict(x).sum(1), 1, rtol=1e-4)


def test_names_of_layers_that_programs_ask_for():
    assert nets.VGG16(weights=None).get_layer("block5_conv3").output_shape == (None, 14, 14, 512)
    assert nets.ResNet50(weights=None).get_layer("avg_pool").output_shape == (None, 2048)
    assert nets.InceptionV3(weights=None).get_layer("mixed7").output_shape == (None, 17, 17, 768)


def test_weights_come_from_a_file_and_imagenet_is_not_downloaded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(errors.NotFoundError, match="downloads nothing"):
        nets.VGG16()
    with pytest.raises(errors.InvalidArgumentError, match="no file"):
        nets.VGG16(weights="elsewhere.h5")
    options = {"include_top": False, "alpha": 0.35, "input_shape": (32, 32, 3)}
    with tf.Session().as_default():
        model = nets.MobileNetV2(weights=None, **options)
        model.save_weights(str(tmp_path / "weights"))
        (tmp_path / "weights").write_text("")  # the path must exist; the checkpoint lies beside it
        again = nets.MobileNetV2(weights=str(tmp_path / "weights"), **options)
        for a, b in zip(model.get_weights(), again.get_weights(), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": 10}, "classes"),
        ({"weights": None, "input_shape": (16, 16, 3), "include_top": False}, "at least 32"),
        ({"weights": None, "pooling": "mean"}, "pooling"),
        ({"weights": None, "input_shape": (64, 64)}, "three integers"),
        ({"weights": None, "input_shape": (None, None, 3)}, "static"),
    ],
)
def test_arguments_that_do_not_fit(options, message):
    with pytest.raises(errors.InvalidArgumentError, match=message):
        nets.ResNet50(**options)


def test_pixels_are_scaled_as_each_network_needs_them():
    x = np.full((1, 2, 2, 3), 255.0)
    np.testing.assert_allclose(nets.mobilenet.preprocess_input(x.copy()), 1.0)
    np.testing.assert_allclose(
        nets.densenet.preprocess_input(x.copy())[0, 0, 0], (1 - np.array([0.485, 0.456, 0.406])) / [0.229, 0.224, 0.225]
    )
    x[..., 0] = 0
    blue_first = nets.vgg16.preprocess_input(x.copy())[0, 0, 0]
    np.testing.assert_allclose(blue_first, [255 - 103.939, 255 - 116.779, -123.68])
    channels_first = nets.resnet50.preprocess_input(x.transpose(0, 3, 1, 2).copy(), data_format="channels_first")
    np.testing.assert_allclose(channels_first[0, :, 0, 0], blue_first)
    tensor = nets.vgg19.preprocess_input(tf.constant(x, tf.float32))
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(tensor)[0, 0, 0], blue_first, rtol=1e-6)
    whole = np.full((1, 1, 1, 3), 255, "uint8")
    assert nets.imagenet_utils.preprocess_input(whole, mode="tf").dtype == np.float32
    assert whole[0, 0, 0, 0] == 255


def test_predictions_are_named_by_the_file_of_classes(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    p = np.zeros((1, 1000))
    p[0, 3], p[0, 7] = 0.7, 0.2
    with pytest.raises(errors.NotFoundError, match=r"imagenet_class_index\.json"):
        nets.nasnet.decode_predictions(p)
    folder = tmp_path / ".keras" / "models"
    folder.mkdir(parents=True)
    classes = {str(i): [f"n{i}", f"thing{i}"] for i in range(1000)}
    (folder / "imagenet_class_index.json").write_text(json.dumps(classes))
    assert nets.nasnet.decode_predictions(p, top=2) == [[("n3", "thing3", 0.7), ("n7", "thing7", 0.2)]]
    with pytest.raises(errors.InvalidArgumentError, match="1000"):
        nets.nasnet.decode_predictions(p[:, :9])

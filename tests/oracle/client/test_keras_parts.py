"""tf.keras.applications, further layers and preprocessing.image, compared with TensorFlow's Keras 2."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import tfnb

tensorflow = pytest.importorskip("tensorflow.compat.v1")
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(importlib.util.find_spec("tf_keras") is None, reason="TensorFlow's Keras 2 is tf_keras"),
]
RNG = np.random.RandomState(0)
PICTURES = (RNG.rand(6, 9, 9, 3) * 255).astype("float32")
FILMS = RNG.rand(4, 3, 6, 5, 2).astype("float32")

# Networks on small images; their last layer has other names in later versions of Keras.
NETWORKS = {
    "VGG16": {"input_shape": (32, 32, 3)},
    "ResNet50": {"input_shape": (32, 32, 3)},
    "ResNet50V2": {"input_shape": (32, 32, 3), "pooling": "avg"},
    "InceptionV3": {"input_shape": (75, 75, 3)},
    "Xception": {"input_shape": (71, 71, 3)},
    "DenseNet121": {"input_shape": (32, 32, 3)},
    "NASNetMobile": {"input_shape": (32, 32, 3)},
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_have_the_same_layers_and_weights(name):
    found = []
    for tf in (tfnb, tensorflow):
        with tf.Graph().as_default():
            model = getattr(tf.keras.applications, name)(include_top=False, weights=None, **NETWORKS[name])
            layers = [(type(layer).__name__, layer.name, layer.output_shape) for layer in model.layers[1:]]
            found.append((layers, [tuple(w.shape.as_list()) for w in model.weights]))
    assert [str(layer) for layer in found[0][0]] == [str(layer) for layer in found[1][0]]
    assert found[0][1] == found[1][1]


@pytest.mark.parametrize("name", ["MobileNetV2", "ResNet50V2"])
def test_networks_compute_the_same(name):
    x = RNG.rand(2, 32, 32, 3).astype("float32")
    options = {"alpha": 0.35} if name == "MobileNetV2" else {}
    results = []
    for tf in (tfnb, tensorflow):
        with tf.Graph().as_default(), tf.Session().as_default():
            make = getattr(tf.keras.applications, name)
            model = make(include_top=False, weights=None, input_shape=(32, 32, 3), pooling="avg", **options)
            r = np.random.RandomState(1)
            model.set_weights(
                [0.5 + 0.1 * r.rand(*w.shape) if w.shape.ndims == 1 else 0.1 * r.randn(*w.shape) for w in model.weights]
            )
            results.append(model.predict(x))
    np.testing.assert_allclose(*results, rtol=2e-3, atol=1e-4 * np.abs(results[1]).max())


LAYERS = {
    "local": lambda n: [n.LocallyConnected2D(2, (3, 2), strides=(3, 2), input_shape=(9, 9, 3)), n.Flatten()],
    "local by a mask": lambda n: [
        n.LocallyConnected2D(2, 3, strides=2, padding="same", implementation=2, input_shape=(9, 9, 3)),
        n.Flatten(),
    ],
    "local by a sparse matrix": lambda n: [
        n.Reshape((9, 27), input_shape=(9, 9, 3)),
        n.LocallyConnected1D(2, 4, strides=2, padding="same", implementation=3),
        n.Flatten(),
    ],
    "films": lambda n: [n.ConvLSTM2D(3, (3, 2), padding="same", input_shape=(3, 6, 5, 2)), n.Flatten()],
    "films backwards": lambda n: [
        n.ConvLSTM2D(2, 3, strides=2, return_sequences=True, go_backwards=True, input_shape=(None, 6, 5, 2)),
        n.GlobalAveragePooling3D(),
    ],
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_train_the_same(name):
    x = FILMS if "films" in name else PICTURES / 255
    results = []
    for tf in (tfnb, tensorflow):
        if tf is tensorflow:
            tf.experimental.output_all_intermediates(True)  # its gradients of loops need them
        with tf.Graph().as_default(), tf.Session().as_default():
            n = tf.keras.layers
            model = tf.keras.Sequential([*LAYERS[name](n), n.Dense(1)])
            model.compile(tf.keras.optimizers.SGD(0.01), "mse")
            r = np.random.RandomState(1)
            model.set_weights([0.2 * r.randn(*w.shape) for w in model.get_weights()])
            history = model.fit(x, np.ones(len(x)), epochs=2, shuffle=False, verbose=0).history["loss"]
            results.append([np.array(history), model.predict(x), *model.get_weights()])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=1e-5)


GENERATORS = {
    "drawn": {"channel_shift_range": 20, "horizontal_flip": True, "vertical_flip": True, "rescale": 1 / 255},
    "by the data": {"featurewise_std_normalization": True},
    "by each image": {"samplewise_std_normalization": True},
    "whitened": {"zca_whitening": True},
}


@pytest.mark.parametrize("name", GENERATORS)
def test_generators_draw_the_same(name):
    found = []
    for tf in (tfnb, tensorflow):
        generator = tf.keras.preprocessing.image.ImageDataGenerator(**GENERATORS[name])
        generator.fit(PICTURES)
        flow = generator.flow(PICTURES, np.arange(6), 4, seed=3)
        found.append([*next(flow), *next(flow)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_images_are_moved_the_same():
    """Later versions count the axes the other way around, which square images show by exchanged arguments."""
    x = PICTURES[0]
    for options in ({"theta": 30}, {"tx": 2.5, "ty": -1}, {"shear": 20}, {"zx": 0.7, "zy": 1.4}):
        ours = tfnb.keras.preprocessing.image.apply_affine_transform(x, **options, fill_mode="reflect")
        theirs = tensorflow.keras.preprocessing.image.apply_affine_transform(
            x, **options, row_axis=1, col_axis=0, channel_axis=2, fill_mode="reflect"
        )
        np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_files_of_images_are_read_the_same(tmp_path):
    ours, theirs = tfnb.keras.preprocessing.image, tensorflow.keras.preprocessing.image
    path = str(tmp_path / "a.png")
    ours.save_img(path, PICTURES[0])
    for options in ({}, {"color_mode": "grayscale"}, {"target_size": (5, 12), "interpolation": "bicubic"}):
        a, b = (m.img_to_array(m.load_img(path, **options)) for m in (ours, theirs))
        np.testing.assert_array_equal(a, b)
    np.random.seed(1)
    mine = ours.random_brightness(PICTURES[0], (0.5, 1.5))
    np.random.seed(1)
    np.testing.assert_array_equal(mine, theirs.random_brightness(PICTURES[0], (0.5, 1.5)))

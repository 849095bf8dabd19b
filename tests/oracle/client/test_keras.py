"""tf.keras: predictions, histories, metrics and weights after training as TensorFlow's Keras 2, from equal weights."""

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
ROWS, STEPS, IMAGES = (RNG.rand(*s).astype("float32") for s in ((12, 5), (12, 6, 4), (12, 8, 8, 3)))
LABELS = RNG.rand(12, 3).astype("float32")
CLASSES = np.eye(3, dtype="float32")[RNG.randint(0, 3, 12)]

OPTIMIZERS = {
    name: (lambda k, name=name: getattr(k.optimizers, name)(0.05))
    for name in ("RMSprop", "Adagrad", "Adadelta", "Adam", "Adamax", "Nadam", "Ftrl")
}
OPTIMIZERS["momentum"] = lambda k: k.optimizers.SGD(0.05, momentum=0.9, nesterov=True, decay=0.1)
OPTIMIZERS["amsgrad"] = lambda k: k.optimizers.Adam(0.05, amsgrad=True, clipnorm=0.1)

MODELS = {
    "lstm": lambda n: [n.LSTM(3, input_shape=(6, 4))],
    "masked gru": lambda n: [n.Masking(0.5, input_shape=(6, 4)), n.GRU(3)],
    "bidirectional": lambda n: [n.Bidirectional(n.SimpleRNN(2), input_shape=(6, 4)), n.Dense(3)],
    "normalised images": lambda n: [
        n.Conv2D(3, 3, input_shape=(8, 8, 3)),
        n.BatchNormalization(momentum=0.8),
        n.SeparableConv2D(3, 3),
        n.Conv2DTranspose(3, 3, strides=2, padding="same"),
        n.UpSampling2D(2, interpolation="bilinear"),
        n.AveragePooling2D(3, padding="same"),
        n.GlobalAveragePooling2D(),
    ],
    "causal": lambda n: [n.Conv1D(3, 3, padding="causal", dilation_rate=2, input_shape=(6, 4)), n.GlobalMaxPooling1D()],
    "activations": lambda n: [n.Flatten(input_shape=(6, 4)), n.Dense(3), n.PReLU(), n.ELU(0.5), n.LayerNormalization()],
}


def trained(tf, layers, x, y, optimizer, loss, metrics):
    """(predictions, history, evaluation, weights) of a model from fixed weights."""
    keras = tf.keras
    if tf is tensorflow:
        tf.experimental.output_all_intermediates(True)  # its gradients of loops need them
    with tf.Graph().as_default(), tf.Session().as_default():
        model = keras.Sequential(layers(keras.layers))
        r = np.random.RandomState(1)
        model.compile(optimizer(keras), loss, metrics=metrics(keras))
        model.set_weights([np.abs(r.randn(*w.shape)) * 0.3 + 0.1 for w in model.get_weights()])
        first = model.predict(x)
        history = model.fit(x, y, epochs=3, batch_size=4, shuffle=False, verbose=0, validation_data=(x, y)).history
        return first, history, model.evaluate(x, y, verbose=0), model.get_weights()


def compared(layers, x, y, optimizer, loss="mse", metrics=lambda keras: ["mae"]):
    ours, theirs = (trained(tf, layers, x, y, optimizer, loss, metrics) for tf in (tfnb, tensorflow))
    for a, b in zip((ours[0], *ours[1].values(), *ours[3]), (theirs[0], *theirs[1].values(), *theirs[3]), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=1e-4)
    np.testing.assert_allclose(ours[2], theirs[2], rtol=2e-3, atol=1e-4)


def dense(layers):
    return [layers.Dense(4, activation="tanh", input_shape=(5,)), layers.Dense(3, activation="softmax")]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    compared(dense, ROWS, LABELS, OPTIMIZERS[name])


@pytest.mark.parametrize("name", MODELS)
def test_layers(name):
    x = IMAGES if "images" in name else STEPS
    compared(MODELS[name], x, LABELS, lambda k: k.optimizers.SGD(0.1))


@pytest.mark.parametrize("loss", ["mae", "msle", "logcosh", "kld", "poisson", "categorical_crossentropy", "hinge"])
def test_losses_and_metrics(loss):
    def metrics(keras):
        m = keras.metrics
        return ["accuracy", m.AUC(name="auc"), m.Precision(name="p")]

    compared(dense, ROWS, CLASSES, lambda k: k.optimizers.SGD(0.1), loss, metrics)

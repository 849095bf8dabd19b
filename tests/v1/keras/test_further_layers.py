"""Locally connected layers, ConvLSTM2D, and layers over feature columns."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

keras = tf.keras
column = tf.feature_column


@pytest.fixture(autouse=True)
def _session():
    with tf.Graph().as_default(), tf.Session().as_default():
        yield


def test_a_locally_connected_layer_has_a_kernel_for_each_place():
    x = np.random.RandomState(0).rand(2, 5, 3).astype("float32")
    model = keras.Sequential([keras.layers.LocallyConnected1D(4, 3, strides=2, input_shape=(5, 3))])
    kernel = np.random.RandomState(1).rand(2, 9, 4)
    bias = np.random.RandomState(2).rand(2, 4)
    model.set_weights([kernel, bias])
    expected = np.stack([x[:, i : i + 3].reshape(2, -1) @ kernel[n] + bias[n] for n, i in enumerate((0, 2))], 1)
    np.testing.assert_allclose(model.predict(x), expected, rtol=1e-5)


def test_the_three_forms_of_weights_agree():
    x = np.random.RandomState(0).rand(2, 3, 2, 2).astype("float32")
    results = []
    for form in (1, 2, 3):
        layer = keras.layers.LocallyConnected2D(2, 2, implementation=form, use_bias=False, input_shape=(3, 2, 2))
        model = keras.Sequential([layer])
        model.set_weights([np.ones(w.shape) for w in model.get_weights()])
        results.append(model.predict(x))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5)
    np.testing.assert_allclose(results[2], results[0], rtol=1e-5)
    with pytest.raises(errors.InvalidArgumentError, match="valid is supported"):
        keras.layers.LocallyConnected2D(2, 2, padding="same")


@pytest.mark.parametrize("name", ["LocallyConnected2D", "ConvLSTM2D"])
def test_a_layer_comes_back_from_its_configuration(name):
    shape = (4, 4, 2) if name == "LocallyConnected2D" else (3, 4, 4, 2)
    model = keras.Sequential([getattr(keras.layers, name)(2, 3, input_shape=shape)])
    copy = keras.models.model_from_json(model.to_json())
    copy.set_weights(model.get_weights())
    x = np.random.RandomState(0).rand(2, *shape).astype("float32")
    np.testing.assert_allclose(copy.predict(x), model.predict(x), rtol=1e-5)


def test_a_convolutional_lstm_of_one_pixel_is_an_lstm():
    x = np.random.RandomState(0).rand(3, 4, 1, 1, 2).astype("float32")
    images = keras.Sequential([keras.layers.ConvLSTM2D(3, 1, return_sequences=True, input_shape=(4, 1, 1, 2))])
    rows = keras.Sequential([keras.layers.LSTM(3, return_sequences=True, input_shape=(4, 2))])
    weights = images.get_weights()
    rows.set_weights([weights[0][0, 0], weights[1][0, 0], weights[2]])
    np.testing.assert_allclose(images.predict(x)[:, :, 0, 0], rows.predict(x[:, :, 0, 0]), rtol=1e-4, atol=1e-6)


def test_a_stateful_convolutional_lstm_goes_on():
    x = np.random.RandomState(0).rand(2, 4, 3, 3, 1).astype("float32")
    options = {"padding": "same", "batch_input_shape": (2, None, 3, 3, 1)}
    whole = keras.Sequential([keras.layers.ConvLSTM2D(2, 3, **options)])
    parts = keras.Sequential([keras.layers.ConvLSTM2D(2, 3, stateful=True, **options)])
    parts.set_weights(whole.get_weights())
    parts.predict(x[:, :2])
    np.testing.assert_allclose(parts.predict(x[:, 2:]), whole.predict(x), rtol=1e-4, atol=1e-6)


def test_features_by_name_become_columns():
    columns = [
        column.numeric_column("size"),
        column.indicator_column(column.categorical_column_with_vocabulary_list("word", ["x", "y"])),
        column.embedding_column(column.categorical_column_with_identity("number", 3), 2),
    ]
    data = {"size": np.arange(4.0), "word": np.array(list("xyxy")), "number": np.arange(4) % 3}
    model = keras.Sequential([keras.layers.DenseFeatures(columns), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit(data, np.arange(4.0), epochs=20, verbose=0).history["loss"]
    assert history[-1] < history[0]
    assert model.layers[0].weights[0].shape.as_list() == [3, 2]
    w = model.get_weights()
    encoded = np.concatenate([w[0][data["number"]], data["size"][:, None], np.eye(2)[[0, 1, 0, 1]]], 1)
    np.testing.assert_allclose(model.predict(data), encoded @ w[1] + w[2], rtol=1e-4, atol=1e-6)
    with pytest.raises(errors.InvalidArgumentError, match="dictionary"):
        keras.layers.DenseFeatures(columns)(tf.zeros([2, 1]))


def test_features_of_sequences():
    ids = column.sequence_categorical_column_with_identity("ids", 4)
    layer = keras.experimental.SequenceFeatures([column.indicator_column(ids)])
    sparse = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([1, 3, 2], tf.int64), [2, 2])
    values, lengths = layer({"ids": sparse})
    values, lengths = tf.get_default_session().run([values, lengths])
    np.testing.assert_array_equal(lengths, [2, 1])
    np.testing.assert_array_equal(values[0], np.eye(4)[[1, 3]])
    np.testing.assert_array_equal(values[1, 0], np.eye(4)[2])

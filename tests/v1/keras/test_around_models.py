"""What stands around models: estimators, scikit-learn, made models, pictures, several devices, a remote monitor."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors
from tfnb.v1.keras.parallel_model import parallel_model

keras = tf.keras
RNG = np.random.RandomState(0)
X = RNG.rand(16, 3).astype("float32")
Y = X.sum(1, keepdims=True)


@pytest.fixture(autouse=True)
def _session():
    with tf.Graph().as_default(), tf.Session().as_default():
        yield


def compiled(optimizer="sgd"):
    model = keras.Sequential([keras.layers.Dense(4, activation="tanh", input_shape=(3,)), keras.layers.Dense(1)])
    model.compile(optimizer, "mse", metrics=["mae"])
    return model


def data():
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(8)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_an_estimator_goes_on_as_the_model_would(tmp_path, optimizer):
    model = compiled(optimizer)
    estimator = keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))
    estimator.train(data)
    model.fit(X, Y, batch_size=8, shuffle=False, verbose=0)
    for variable, value in zip(model.weights, model.get_weights(), strict=True):
        np.testing.assert_allclose(estimator.get_variable_value(variable.op.name), value, rtol=1e-4, atol=1e-6)
    found = estimator.evaluate(data)
    loss, mae = model.evaluate(X, Y, batch_size=8, verbose=0)
    np.testing.assert_allclose([found["loss"], found["mean_absolute_error"]], [loss, mae], rtol=1e-4)
    assert found["global_step"] == 2
    rows = [row["dense_1"] for row in estimator.predict(lambda: data().map(lambda x, y: x))]
    np.testing.assert_allclose(rows, model.predict(X), rtol=1e-4, atol=1e-6)


def test_an_estimator_of_a_model_with_moving_averages_and_several_inputs(tmp_path):
    a, b = keras.Input((3,), name="a"), keras.Input((1,), name="b")
    x = keras.layers.Dropout(0.2)(keras.layers.BatchNormalization()(a))
    model = keras.Model([a, b], keras.layers.Dense(1, name="out")(keras.layers.concatenate([x, b])))
    model.compile(keras.optimizers.SGD(0.1), "mse")
    estimator = keras.estimator.model_to_estimator(model, model_dir=str(tmp_path))

    def features():
        return tf.data.Dataset.from_tensor_slices(({"a": X, "b": Y[:, 0]}, Y)).batch(8)

    estimator.train(features, steps=2)
    assert abs(estimator.get_variable_value("batch_normalization/moving_mean")).max() > 0
    assert estimator.evaluate(features)["loss"] > 0


def test_what_no_estimator_can_be_made_of():
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(3,))])
    with pytest.raises(errors.InvalidArgumentError, match="compiled"):
        keras.estimator.model_to_estimator(model)
    with pytest.raises(errors.InvalidArgumentError, match="either"):
        keras.estimator.model_to_estimator()
    with pytest.raises(errors.InvalidArgumentError, match="saver"):
        keras.estimator.model_to_estimator(compiled(), checkpoint_format="checkpoint")


def classifier(width=4, rate=0.5):
    model = keras.Sequential([keras.layers.Dense(width, activation="tanh", input_shape=(3,))])
    model.add(keras.layers.Dense(2, activation="softmax"))
    model.compile(keras.optimizers.SGD(rate), "categorical_crossentropy", metrics=["accuracy"])
    return model


def test_a_classifier_of_scikit_learn():
    wrapped = keras.wrappers.scikit_learn.KerasClassifier(classifier, width=8, epochs=60, verbose=0)
    labels = np.where(X[:, 0] > 0.5, "large", "small")
    wrapped.fit(X, labels)
    assert wrapped.score(X, labels) > 0.8
    assert set(wrapped.predict(X)) <= {"large", "small"}
    assert wrapped.predict_proba(X).shape == (16, 2)
    assert wrapped.model.layers[0].units == 8
    assert wrapped.get_params()["width"] == 8
    assert wrapped.set_params(width=2) is wrapped
    with pytest.raises(errors.InvalidArgumentError, match="colour"):
        wrapped.set_params(colour="red")


def test_a_regressor_of_scikit_learn():
    wrapped = keras.wrappers.scikit_learn.KerasRegressor(build_fn=compiled, epochs=3, verbose=0)
    wrapped.fit(X, Y[:, 0])
    np.testing.assert_allclose(wrapped.score(X, Y[:, 0]), -wrapped.model.evaluate(X, Y, verbose=0)[0], rtol=1e-5)
    assert wrapped.predict(X).shape == (16,)


def test_a_linear_model_of_several_inputs():
    model = keras.experimental.LinearModel(units=2, activation="relu")
    model.compile("sgd", "mse")
    model.fit([X, Y], np.ones((16, 2)), verbose=0)
    first, second, bias = (v.copy() for v in sorted(model.get_weights(), key=lambda w: -w.size))
    assert (first.shape, second.shape, bias.shape) in [((3, 2), (1, 2), (2,)), ((3, 2), (2,), (1, 2))]
    bias, second = (bias, second) if bias.ndim == 1 else (second, bias)
    np.testing.assert_allclose(
        model.predict([X, Y]), np.maximum(X @ first + Y @ second + bias, 0), rtol=1e-4, atol=1e-6
    )


def test_the_parts_of_a_wide_and_deep_model_have_optimizers_of_their_own():
    wide = keras.experimental.LinearModel()
    deep = keras.Sequential([keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)])
    model = keras.experimental.WideDeepModel(wide, deep)
    model.compile([keras.optimizers.SGD(0.0), keras.optimizers.SGD(0.1)], "mse")
    model.predict(X)
    before = wide.get_weights(), deep.get_weights()
    model.fit(X, Y, verbose=0)
    np.testing.assert_array_equal(wide.get_weights()[0], before[0][0])
    assert abs(deep.get_weights()[0] - before[1][0]).max() > 0
    np.testing.assert_allclose(model.predict(X), wide.predict(X) + deep.predict(X), rtol=1e-4, atol=1e-6)


def test_a_saved_model_comes_back(tmp_path):
    model = compiled()
    keras.experimental.export_saved_model(model, str(tmp_path / "m"))
    again = keras.experimental.load_from_saved_model(str(tmp_path / "m"))
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-6)
    with pytest.raises(errors.InvalidArgumentError, match="as_text"):
        keras.experimental.export_saved_model(model, str(tmp_path / "t"), as_text=True)


def test_a_model_is_drawn(tmp_path):
    pytest.importorskip("pydot")
    model = compiled()
    outer_input = keras.Input((3,), name="begin")
    outer = keras.Model(outer_input, keras.layers.Activation("relu", name="end")(model(outer_input)))
    path = tmp_path / "m.dot"
    keras.utils.plot_model(outer, str(path), show_shapes=True, rankdir="LR")
    text = path.read_text()
    assert "rankdir=LR" in text
    assert "sequential: Sequential" in text
    assert "(None, 3)" in text
    nested = keras.utils.model_to_dot(outer, expand_nested=True, show_layer_names=False).to_string()
    assert nested.count("Dense") == 2
    assert nested.count("->") == 4


def test_a_batch_is_divided_over_devices():
    model = compiled()
    several = parallel_model(model, ["/cpu:0"] * 3, "/cpu:0")
    np.testing.assert_allclose(several.predict(X), model.predict(X), rtol=1e-5)
    several.compile(keras.optimizers.SGD(0.1), "mse")
    twin = compiled(keras.optimizers.SGD(0.1))
    twin.set_weights(model.get_weights())
    several.fit(X, Y, shuffle=False, verbose=0)
    twin.fit(X, Y, shuffle=False, verbose=0)
    for a, b in zip(model.get_weights(), twin.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    with pytest.raises(errors.InvalidArgumentError, match="gpus >= 2"):
        keras.utils.multi_gpu_model(model, 1)
    with pytest.raises(errors.InvalidArgumentError, match="are needed"):
        keras.utils.multi_gpu_model(model, [97, 98])


def test_kernels_are_turned_around():
    model = keras.Sequential(
        [keras.layers.Conv2D(2, 3, input_shape=(5, 5, 1)), keras.layers.Flatten(), keras.layers.Dense(1)]
    )
    before = model.get_weights()
    keras.utils.convert_all_kernels_in_model(model)
    after = model.get_weights()
    np.testing.assert_array_equal(after[0], before[0][::-1, ::-1])
    np.testing.assert_array_equal(after[2], before[2])


def test_a_server_gets_the_values_of_each_epoch():
    bodies = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            bodies.append((self.path, self.rfile.read(int(self.headers["Content-Length"])).decode()))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            """Prints nothing."""

    # One thread for each connection: whoever still looks for a server that had this port before does not block it.
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        root = f"http://127.0.0.1:{server.server_port}"
        for as_json in (False, True):
            monitor = keras.callbacks.RemoteMonitor(root, path="/here", send_as_json=as_json)
            compiled().fit(X, Y, verbose=0, callbacks=[monitor])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    form, plain = bodies
    assert form[0] == "/here"
    assert set(json.loads(parse_qs(form[1])["data"][0])) == {"epoch", "loss", "mean_absolute_error"}
    assert json.loads(plain[1])["epoch"] == 0
    with pytest.raises(errors.InvalidArgumentError, match="http"):
        keras.callbacks.RemoteMonitor("file:///tmp")

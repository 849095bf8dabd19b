"""Models of tf.keras: names, training, saving, configurations."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

keras = tf.keras


@pytest.fixture(autouse=True)
def _clean():
    keras.backend.clear_session()
    yield
    keras.backend.clear_session()


def small():
    layers = keras.layers
    return keras.Sequential([layers.Dense(4, activation="tanh", input_shape=(3,)), layers.Dense(1)])


def data(n=16):
    x = np.random.RandomState(0).rand(n, 3).astype("float32")
    return x, x.sum(1)


def test_names_are_those_of_1_15():
    model = small()
    model.compile("adam", "mse", metrics=["mae", "acc"])
    history = model.fit(*data(), epochs=1, verbose=0)
    assert [v.name for v in model.weights] == ["dense/kernel:0", "dense/bias:0", "dense_1/kernel:0", "dense_1/bias:0"]
    assert [v.name for v in model.optimizer.weights][:2] == ["training/Adam/iter:0", "training/Adam/dense/kernel/m:0"]
    assert list(history.history) == ["loss", "mean_absolute_error", "acc"]
    lstm = keras.layers.LSTM(2)
    lstm(keras.Input((4, 3)))
    assert [v.name for v in lstm.weights] == ["lstm/kernel:0", "lstm/recurrent_kernel:0", "lstm/bias:0"]


def test_sgd_is_the_formula():
    x, y = data(8)
    layer = keras.layers.Dense(1, use_bias=False, input_shape=(3,))
    model = keras.Sequential([layer])
    w = model.get_weights()[0].astype("float64")
    model.compile(keras.optimizers.SGD(0.1), "mse")
    model.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0)
    for _ in range(2):
        for part in (slice(0, 4), slice(4, 8)):
            error = x[part] @ w[:, 0] - y[part]
            w -= 0.1 * (2 * x[part].T @ error / 4)[:, None]
    np.testing.assert_allclose(model.get_weights()[0], w, rtol=1e-4)


def test_fit_by_arrays_sequence_generator_and_data_set_agree():
    x, y = data()

    class Parts(keras.utils.Sequence):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return x[4 * i : 4 * i + 4], y[4 * i : 4 * i + 4]

    model = small()
    start = model.get_weights()
    found = []
    dataset = tf.data.Dataset.from_tensor_slices((x, y[:, None])).batch(4)
    generator = (Parts()[i % 4] for i in range(8))
    for source, options in (
        (x, {"y": y, "batch_size": 4}),
        (Parts(), {}),
        (generator, {"steps_per_epoch": 4}),
        (dataset, {}),
    ):
        model.set_weights(start)
        model.compile(keras.optimizers.SGD(0.1), "mse")
        found.append(model.fit(source, shuffle=False, verbose=0, epochs=2, **options).history["loss"])
    np.testing.assert_allclose(found[1:], [found[0]] * 3, rtol=1e-5)


def test_a_saved_model_predicts_and_trains_on(tmp_path):
    x, y = data()
    model = small()
    model.compile("adam", "mse")
    model.fit(x, y, verbose=0)
    model.save(str(tmp_path / "model"))
    model.save_weights(str(tmp_path / "weights"))
    loaded = keras.models.load_model(str(tmp_path / "model"))
    np.testing.assert_allclose(loaded.predict(x), model.predict(x), rtol=1e-6)
    first, second = (m.fit(x, y, verbose=0, shuffle=False, epochs=2).history["loss"] for m in (model, loaded))
    np.testing.assert_allclose(first, second, rtol=1e-5)
    fresh = small()
    fresh.load_weights(str(tmp_path / "weights"))
    model.load_weights(str(tmp_path / "weights"))
    np.testing.assert_allclose(fresh.predict(x), model.predict(x), rtol=1e-6)
    with pytest.raises(errors.NotFoundError, match="no file"):
        fresh.load_weights(str(tmp_path / "nothing"))


def test_operations_between_layers_belong_to_the_model():
    x, _ = data(4)
    a = keras.Input((3,))
    y = keras.layers.Dense(2)(tf.tanh(keras.layers.Dense(4)(a)) * 2.0)
    model = keras.Model(a, y)
    w = model.get_weights()
    expected = np.tanh(x @ w[0] + w[1]) * 2 @ w[2] + w[3]
    np.testing.assert_allclose(model.predict(x), expected, rtol=1e-4, atol=1e-5)
    again = keras.Model(b := keras.Input((3,)), model(b))
    np.testing.assert_allclose(again.predict(x), expected, rtol=1e-4, atol=1e-5)


def test_a_functional_model_of_its_configuration():
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    shared = keras.layers.Dense(2)
    model = keras.Model([a, b], keras.layers.concatenate([shared(a), shared(b)]))
    copy = keras.models.model_from_json(model.to_json())
    copy.set_weights(model.get_weights())
    x, _ = data(4)
    np.testing.assert_allclose(copy.predict([x, x[::-1]]), model.predict([x, x[::-1]]), rtol=1e-6)
    assert len(copy.weights) == 2


def test_a_discriminator_that_is_not_trainable_stays():
    x, y = data()
    inner = small()
    inner.compile("sgd", "mse")
    inner.trainable = False
    z = keras.Input((3,))
    outer = keras.Model(z, inner(keras.layers.Dense(3)(z)))
    outer.compile("sgd", "mse")
    before = inner.get_weights()
    first = outer.get_weights()[0]
    outer.train_on_batch(x, y)
    for old, new in zip(before, inner.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    assert np.abs(outer.get_weights()[0] - first).max() > 0
    inner.train_on_batch(x, y)
    assert np.abs(inner.get_weights()[0] - before[0]).max() > 0


def test_dropout_only_in_training():
    model = keras.Sequential([keras.layers.Dropout(0.5, input_shape=(100,))])
    ones = np.ones((2, 100))
    np.testing.assert_array_equal(model.predict(ones), ones)
    train = keras.backend.function([model.input, keras.backend.learning_phase()], [model.output])
    assert set(np.unique(train([ones, 1])[0])) == {0.0, 2.0}


def test_wrong_data_is_refused():
    model = small()
    model.compile("sgd", "mse")
    with pytest.raises(errors.InvalidArgumentError, match="to have shape"):
        model.fit(np.ones((4, 2)), np.ones(4), verbose=0)
    with pytest.raises(errors.InvalidArgumentError, match="same number of samples"):
        model.fit(np.ones((4, 3)), np.ones(3), verbose=0)
    with pytest.raises(RuntimeError, match="compile"):
        small().fit(*data(), verbose=0)


@pytest.mark.parametrize("name", ["SGD", "Momentum", "Adagrad", "Adadelta", "Adamax", "Ftrl"])
def test_an_embedding_is_changed_by_rows(name):
    """Rows that a batch does not read keep their values and slots, as with TensorFlow's sparse updates."""
    make = getattr(keras.optimizers, name, lambda rate: keras.optimizers.SGD(rate, momentum=0.9))
    model = keras.Sequential(
        [keras.layers.Embedding(5, 2, input_length=3), keras.layers.Flatten(), keras.layers.Dense(1)]
    )
    optimizer = make(0.5)
    model.compile(optimizer, "mse")
    model.train_on_batch(np.array([[0, 1, 1]]), np.ones((1, 1)))
    first, slots = model.get_weights()[0], optimizer.get_weights()
    model.train_on_batch(np.array([[2, 1, 2]]), np.ones((1, 1)))
    second, later = model.get_weights()[0], optimizer.get_weights()
    np.testing.assert_array_equal(second[[0, 3, 4]], first[[0, 3, 4]])
    assert (second[[1, 2]] != first[[1, 2]]).all()
    for a, b in zip(slots, later, strict=True):
        if a.shape == (5, 2):
            np.testing.assert_array_equal(a[[0, 3, 4]], b[[0, 3, 4]])
    nodes = tf.get_default_graph().get_operations()
    dense = [op for op in nodes if op.type.startswith("Assign") and op.inputs[0].op.name == "embedding/embeddings"]
    assert [op.type for op in dense] == ["Assign"]  # its initial value


class Blocks(tf.keras.layers.Layer):
    """A layer that fills its lists after they became attributes, as DeepCTR's do."""

    def build(self, input_shape):
        self.blocks, self.scales = [], {}
        self.last = tf.keras.layers.Dense(1)
        for size in (3, 2):
            self.blocks.append(tf.keras.layers.Dense(size, use_bias=False))
        self.scales["out"] = tf.Variable(2.0, name="scale")
        super().build(input_shape)

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return self.scales["out"] * self.last(x)


def test_layers_and_variables_that_a_list_gets_later():
    x = tf.keras.layers.Input((4,))
    model = tf.keras.Model(x, Blocks(name="b")(x))
    shapes = [tuple(w.shape.as_list()) for w in model.weights]
    assert sorted(shapes) == [(), (1,), (2, 1), (3, 2), (4, 3)]
    assert shapes.index((4, 3)) < shapes.index((3, 2)) < shapes.index((2, 1))  # in the order of the attributes
    model.set_weights(model.get_weights())
    model.layers[-1].trainable = False
    assert not model.trainable_weights and len(model.non_trainable_weights) == 5


class OwnPhase(tf.keras.layers.BatchNormalization):
    def __init__(self, phase=None, **kwargs):
        super().__init__(**kwargs)
        self.phase = phase

    def call(self, inputs, training=None):
        return super().call(inputs, training=self.phase if training is None else training)


def test_a_layer_that_nobody_tells_the_phase_takes_its_own_default():
    x = np.random.default_rng(0).normal(5.0, 2.0, (100, 3)).astype(np.float32)
    model = tf.keras.Sequential([OwnPhase(True, input_shape=(3,))])
    np.testing.assert_allclose(model.predict(x).mean(), 0.0, atol=1e-2)
    told = OwnPhase(True)(tf.constant(x), training=False)
    plain = OwnPhase()(tf.constant(x))
    tf.keras.backend.get_session().run(tf.global_variables_initializer())
    np.testing.assert_allclose(tf.keras.backend.eval(told), x, rtol=1e-2)
    np.testing.assert_allclose(tf.keras.backend.eval(plain), x, rtol=1e-2)
    tf.keras.backend.set_learning_phase(1)
    fixed = OwnPhase(False)(tf.constant(x))
    tf.keras.backend.get_session().run(tf.global_variables_initializer())
    np.testing.assert_allclose(tf.keras.backend.eval(fixed).mean(), 0.0, atol=1e-2)


def test_a_layer_is_called_by_its_older_name():
    layer = keras.layers.Dense(2, kernel_initializer="ones")
    assert keras.backend.eval(layer.apply(tf.ones([1, 3]))).tolist() == [[3, 3]]


def test_the_cosine_has_the_sign_of_1_15():
    truth, found = np.float32([[3, 4], [0, 2]]), np.float32([[3, 4], [0, -1]])
    with tf.Session() as session:
        for package in (keras.losses, keras.metrics):
            for name in ("cosine", "cosine_proximity"):
                np.testing.assert_allclose(session.run(getattr(package, name)(truth, found)), [1, -1], rtol=1e-6)
        # Classes of losses take arrays too. Values of TensorFlow 1.15.5.
        assert session.run(keras.losses.CosineSimilarity()(truth[:1], found[:1])) == pytest.approx(1.0)
        assert session.run(keras.losses.MeanSquaredError()(truth, found)) == pytest.approx(2.25)
        assert session.run(keras.losses.Huber()(truth, found)) == pytest.approx(0.625)


@pytest.mark.opencl
@pytest.mark.parametrize("optimizer", ["sgd", "adam", tf.train.GradientDescentOptimizer(0.1)])
def test_a_model_without_trainable_weights_is_fitted(optimizer):
    """The values are those of TensorFlow 1.15.5."""
    keras = tf.keras
    x = np.ones((4, 3), np.float32)
    model = keras.Sequential([keras.layers.Dense(2, input_shape=(3,), kernel_initializer="ones")])
    model.layers[0].trainable = False
    model.compile(optimizer, "mse")
    assert model.fit(x, np.ones((4, 2)), epochs=1, verbose=0).history == {"loss": [4.0]}
    assert model.train_on_batch(x, np.ones((4, 2))) == 4.0
    np.testing.assert_array_equal(model.get_weights()[0], np.ones((3, 2)))
    without = keras.Sequential([keras.layers.Flatten(input_shape=(3,))])
    without.compile("sgd", "mse")
    assert without.fit(x, np.ones((4, 3)), epochs=2, verbose=0).history == {"loss": [0.0, 0.0]}

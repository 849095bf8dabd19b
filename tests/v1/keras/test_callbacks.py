"""Callbacks of tf.keras: what they stop, change and write."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import tfnb as tf

keras = tf.keras


@pytest.fixture
def model():
    keras.backend.clear_session()
    model = keras.Sequential([keras.layers.Dense(1, input_shape=(2,))])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    yield model
    keras.backend.clear_session()


def fit(model, *callbacks, epochs=4):
    x = np.random.RandomState(1).rand(8, 2)
    return model.fit(x, x.sum(1), epochs=epochs, verbose=0, callbacks=list(callbacks), validation_data=(x, x.sum(1)))


def test_early_stopping(model):
    history = fit(model, keras.callbacks.EarlyStopping("val_loss", min_delta=1e9, patience=2), epochs=9)
    assert history.epoch == [0, 1, 2]


def test_learning_rates(model):
    history = fit(model, keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1)))
    np.testing.assert_allclose(history.history["lr"], [0.1, 0.05, 0.1 / 3, 0.025], rtol=1e-6)
    fit(model, keras.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_delta=1e9))
    assert keras.backend.get_value(model.optimizer.lr) < 0.025


def test_files(model, tmp_path):
    table, events = tmp_path / "log.csv", tmp_path / "events"
    checkpoint = keras.callbacks.ModelCheckpoint(str(tmp_path / "w-{epoch}"), save_weights_only=True)
    fit(model, keras.callbacks.CSVLogger(str(table)), checkpoint, keras.callbacks.TensorBoard(str(events)), epochs=2)
    with table.open() as file:
        assert [row["epoch"] for row in csv.DictReader(file)] == ["0", "1"]
    assert (tmp_path / "w-2.index").exists()
    (file,) = events.iterdir()
    tags = [v.tag for e in tf.train.summary_iterator(str(file)) for v in e.summary.value]
    assert tags.count("epoch_loss") == 2 and tags.count("epoch_val_loss") == 2


def test_terminate_on_nan(model):
    x = np.full((8, 2), np.nan)
    model.fit(x, np.ones(8), epochs=3, verbose=0, callbacks=[stop := keras.callbacks.TerminateOnNaN()])
    assert stop.model.stop_training

"""tf.contrib.tpu.TPUEstimator without a TPU."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tfnb as tf
from tfnb.errors import InvalidArgumentError

tpu = tf.contrib.tpu
RNG = np.random.default_rng(0)
X = RNG.normal(size=(96, 3)).astype("f")
Y = (X @ [1.0, -2.0, 0.5] > 0).astype(np.int64)


def input_fn(params, mode):
    assert mode in ("train", "eval", "infer")
    data = tf.data.Dataset.from_tensor_slices(({"x": X}, Y))
    data = data.repeat() if mode == "train" else data
    return data.batch(params["batch_size"])


def config(folder, **more):
    return tpu.RunConfig(
        master=None,
        model_dir=str(folder),
        save_checkpoints_steps=10,
        tpu_config=tpu.TPUConfig(10, num_shards=8, per_host_input_for_training=tpu.InputPipelineConfig.PER_HOST_V2),
        **more,
    )


@pytest.mark.not_compared("an export has the time in its name")
def test_a_model_gets_the_size_of_a_batch_of_each_mode(tmp_path):
    seen, each = [], []

    def model_fn(features, labels, mode, params):
        seen.append((mode, params.get("batch_size"), params["use_tpu"], params["rate"]))
        logits = tf.layers.dense(features["x"], 2)
        if mode == tf.estimator.ModeKeys.PREDICT:
            export = {"serving_default": tf.estimator.export.PredictOutput({"logits": logits})}
            return tpu.TPUEstimatorSpec(mode, predictions={"logits": logits}, export_outputs=export)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        train = tf.train.GradientDescentOptimizer(params["rate"]).minimize(loss, tf.train.get_global_step())

        def metrics(labels, logits):
            return {"accuracy": tf.metrics.accuracy(labels, tf.argmax(logits, 1))}

        return tpu.TPUEstimatorSpec(
            mode=mode,
            loss=loss,
            train_op=train,
            eval_metrics=(metrics, [labels, logits]),
            host_call=(
                lambda step: tf.py_func(lambda n: each.append(int(n)) or n, [step], tf.int64),
                {"step": tf.shape(logits, out_type=tf.int64)[0]},
            ),
            scaffold_fn=tf.train.Scaffold,
        )

    params = {"rate": 0.5}
    model = tpu.TPUEstimator(model_fn, None, config(tmp_path), params, False, 32, 48, 24)
    assert model.train(input_fn, max_steps=30) is model and set(each) == {32}
    found = model.evaluate(input_fn)
    assert found["global_step"] == 30 and 0.5 < found["accuracy"] <= 1 and set(each) == {32, 48}
    rows = list(model.predict(input_fn))
    assert len(rows) == 96 and rows[0]["logits"].shape == (2,)
    receiver = tf.estimator.export.build_raw_serving_input_receiver_fn({"x": tf.placeholder(tf.float32, [None, 3])})
    assert model.export_saved_model(str(tmp_path / "export"), receiver)
    assert seen == [
        ("train", 32, False, 0.5),
        ("eval", 48, False, 0.5),
        ("infer", 24, False, 0.5),
        ("infer", None, False, 0.5),
    ]
    assert params == {"rate": 0.5} and isinstance(model.config, tpu.RunConfig)


def test_the_configuration(tmp_path):
    made = config(tmp_path, keep_checkpoint_max=7)
    assert (made.keep_checkpoint_max, made.save_checkpoints_steps, made.master, made.cluster) == (7, 10, "", None)
    again = made.replace(save_summary_steps=3)
    assert again.save_summary_steps == 3 and again.tpu_config is made.tpu_config
    assert made.replace(tpu_config=tpu.TPUConfig()).tpu_config.iterations_per_loop == 2
    assert tpu.TPUConfig(per_host_input_for_training=False).per_host_input_for_training == 1
    with pytest.raises(InvalidArgumentError, match="iterations_per_loop must be above 0"):
        tpu.TPUConfig(0)
    with pytest.raises(InvalidArgumentError, match="master='grpc://tpu:8470' is not supported"):
        tpu.RunConfig(master="grpc://tpu:8470")
    assert tf.estimator.tpu.TPUEstimator is tpu.TPUEstimator


def test_what_an_estimator_refuses(tmp_path):
    def model_fn(features, labels, mode, params):
        raise AssertionError("it is not called")

    with pytest.raises(InvalidArgumentError, match=r"use_tpu=True is not supported: .*use_tpu=False"):
        tpu.TPUEstimator(model_fn, config=config(tmp_path), train_batch_size=8)
    with pytest.raises(InvalidArgumentError, match=r"config must be a tf\.contrib\.tpu\.RunConfig"):
        tpu.TPUEstimator(model_fn, config=tf.estimator.RunConfig(), use_tpu=False)
    with pytest.raises(InvalidArgumentError, match="are reserved"):
        tpu.TPUEstimator(model_fn, config=config(tmp_path), params={"batch_size": 3}, use_tpu=False)
    with pytest.raises(InvalidArgumentError, match=r"model_fn .* must take `params`"):
        tpu.TPUEstimator(lambda features, labels: None, config=config(tmp_path), use_tpu=False)
    model = tpu.TPUEstimator(model_fn, config=config(tmp_path), use_tpu=False)
    with pytest.raises(InvalidArgumentError, match=r"input_fn .* must take `params`"):
        model.train(lambda: tf.data.Dataset.range(3))
    with pytest.raises(InvalidArgumentError, match="host_call must be a function and its arguments"):
        tpu.TPUEstimatorSpec("train", host_call=[1, 2])
    with pytest.raises(InvalidArgumentError, match="eval_metrics has 1 arguments, and its function takes 2"):
        tpu.TPUEstimatorSpec("eval", eval_metrics=(lambda a, b: {}, [1]))
    metrics = functools.partial(lambda a, mode="train", **more: {}, mode="eval")  # what is bound counts for nothing
    tpu.TPUEstimatorSpec("eval", eval_metrics=(metrics, [1]))

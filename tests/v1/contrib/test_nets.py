"""slim's networks: variables, end points and shapes as those that TensorFlow 1.15 makes, by the same calls."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

slim = tf.contrib.slim
nets = slim.nets


def built(network, scope, size, **options):
    images = tf.placeholder(tf.float32, [2, size, size, 3])
    with slim.arg_scope(scope):
        net, points = network(images, num_classes=7, **options)
    elements = sum(math.prod(v.shape.as_list()) for v in tf.global_variables())
    model, losses = slim.get_model_variables(), tf.losses.get_regularization_losses()
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    return net.shape.as_list(), len(tf.global_variables()), elements, len(points), len(model), len(losses), len(updates)


# network, its scope, side of the images, options, and what TensorFlow 1.15 makes of them: shape, variables, elements,
# end points, model variables, regularisation losses, updates
CASES = [
    ("alexnet.alexnet_v2", nets.alexnet.alexnet_v2_arg_scope, 224, {}, ([2, 7], 16, 46235591, 11, 16, 8, 0)),
    ("vgg.vgg_a", nets.vgg.vgg_arg_scope, 224, {}, ([2, 7], 22, 128795015, 16, 22, 11, 0)),
    (
        "vgg.vgg_19",
        nets.vgg.vgg_arg_scope,
        256,
        {"spatial_squeeze": False},
        ([2, 2, 2, 7], 38, 139598919, 24, 38, 19, 0),
    ),
    ("overfeat.overfeat", nets.overfeat.overfeat_arg_scope, 231, {}, ([2, 7], 16, 141636103, 11, 16, 8, 0)),
    (
        "inception.inception_v1",
        nets.inception.inception_v1_arg_scope,
        224,
        {},
        ([2, 7], 230, 5614359, 18, 230, 58, 114),
    ),
    (
        "inception.inception_v2",
        nets.inception.inception_v2_arg_scope,
        112,
        {"depth_multiplier": 0.5},
        ([2, 7], 277, 2555567, 17, 277, 69, 136),
    ),
    (
        "inception.inception_v3",
        nets.inception.inception_v3_arg_scope,
        299,
        {},
        ([2, 7], 388, 24381102, 22, 388, 98, 192),
    ),
    (
        "resnet_v1.resnet_v1_50",
        nets.resnet_utils.resnet_arg_scope,
        129,
        {"global_pool": False, "output_stride": 8},
        ([2, 17, 17, 7], 267, 23575495, 75, 267, 54, 106),
    ),
    (
        "resnet_v2.resnet_v2_50",
        nets.resnet_utils.resnet_arg_scope,
        224,
        {},
        ([2, 1, 1, 7], 272, 23579143, 75, 272, 54, 98),
    ),
]


@pytest.mark.parametrize(("name", "scope", "size", "options", "expected"), CASES, ids=[c[0] for c in CASES])
def test_a_network_is_tensorflows(name, scope, size, options, expected):
    module, _, function = name.partition(".")
    assert built(getattr(getattr(nets, module), function), scope(), size, **options) == expected


def test_names_are_those_of_checkpoints():
    images = tf.placeholder(tf.float32, [2, 150, 150, 3])
    with slim.arg_scope(nets.inception.inception_v3_arg_scope()):
        _, points = nets.inception.inception_v3_base(images, "Mixed_5c", depth_multiplier=0.25)
        _, more = nets.inception.inception_v3_base(images, depth_multiplier=0.25)
    names = {v.op.name for v in tf.global_variables()}
    assert list(points)[-1] == "Mixed_5c" and list(more)[-1] == "Mixed_7c"
    assert {
        "InceptionV3/Mixed_5c/Branch_1/Conv_1_0c_5x5/weights",
        "InceptionV3_1/Mixed_7b/Branch_1/Conv2d_0b_3x1/BatchNorm/moving_variance",
        "InceptionV3_1/Mixed_6a/Branch_0/Conv2d_1a_1x1/weights",
    } <= names
    with pytest.raises(errors.InvalidArgumentError, match="no end point Mixed_9"):
        nets.inception.inception_v1_base(images, "Mixed_9")
    with pytest.raises(errors.InvalidArgumentError, match="positive"):
        nets.inception.inception_v2(images, depth_multiplier=0)


def test_the_end_points_of_a_second_network_are_its_own():
    images = tf.placeholder(tf.float32, [2, 224, 224, 3])
    _, first = nets.vgg.vgg_16(images)
    _, second = nets.vgg.vgg_16(images, scope="other")
    assert list(first)[:2] == ["vgg_16/conv1/conv1_1", "vgg_16/conv1/conv1_2"]
    assert list(second)[-1] == "other/fc8"


def test_a_small_residual_network_learns_where_things_are():
    blocks = [nets.resnet_v2.resnet_v2_block("block1", 2, 2, 2), nets.resnet_v2.resnet_v2_block("block2", 2, 1, 1)]
    images = tf.constant(np.random.RandomState(0).rand(4, 16, 16, 3).astype("f"))
    with slim.arg_scope(nets.resnet_utils.resnet_arg_scope()):
        features, points = nets.resnet_v2.resnet_v2(images, blocks, global_pool=False, scope="small")
        dense, _ = nets.resnet_v2.resnet_v2(
            images, blocks, is_training=False, global_pool=False, output_stride=4, reuse=True, scope="small"
        )
        with pytest.raises(errors.InvalidArgumentError, match="multiple of 4"):
            nets.resnet_v2.resnet_v2(images, blocks, output_stride=6)
        with pytest.raises(errors.InvalidArgumentError, match="reached"):
            nets.resnet_v2.resnet_v2(images, blocks, output_stride=32)
    assert "small/block1/unit_2/bottleneck_v2" in points
    assert (features.shape.as_list(), dense.shape.as_list()) == ([4, 2, 2, 8], [4, 4, 4, 8])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        small, large = sess.run([features, dense])
        assert np.isfinite(small).all() and small.std() > 0 and large.std() > 0

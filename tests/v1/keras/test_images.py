"""Images as arrays and files, and the batches of an ImageDataGenerator."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tfnb as tf
from tfnb import errors

image = tf.keras.preprocessing.image
RNG = np.random.RandomState(0)
IMAGES = (RNG.rand(10, 6, 5, 3) * 255).astype("float32")


def test_a_written_image_is_read_again(tmp_path):
    whole = IMAGES[0].astype("uint8").astype("float32")
    for name in ("a.png", "a.bmp"):
        image.save_img(str(tmp_path / name), whole, scale=False)
        np.testing.assert_array_equal(image.img_to_array(image.load_img(str(tmp_path / name))), whole)
    grey = image.load_img(str(tmp_path / "a.png"), color_mode="grayscale", target_size=(3, 4))
    assert image.img_to_array(grey).shape == (3, 4, 1)
    assert image.img_to_array(grey, data_format="channels_first").shape == (1, 3, 4)
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    with pytest.raises(errors.InvalidArgumentError, match="PNG"):
        image.load_img(str(tmp_path / "broken.png"))
    with pytest.raises(errors.InvalidArgumentError, match="interpolation"):
        image.load_img(str(tmp_path / "a.png"), target_size=(2, 2), interpolation="best")


def test_an_image_is_turned_about_its_middle():
    square = np.arange(25.0).reshape(5, 5, 1)
    np.testing.assert_allclose(
        image.apply_affine_transform(square, theta=90)[..., 0], np.rot90(square[..., 0], -1), atol=1e-9
    )
    np.testing.assert_allclose(image.apply_affine_transform(square, tx=1)[..., 0][:-1], square[1:, :, 0])
    np.testing.assert_allclose(image.apply_affine_transform(square, ty=1)[:, :-1], square[:, 1:])
    np.testing.assert_allclose(image.apply_affine_transform(square, zx=1, zy=1), square)
    first = image.apply_affine_transform(square.transpose(2, 0, 1), 90, row_axis=1, col_axis=2, channel_axis=0)
    np.testing.assert_allclose(first[0], np.rot90(square[..., 0], -1), atol=1e-9)
    with pytest.raises(errors.InvalidArgumentError, match="3 axes"):
        image.apply_affine_transform(square[..., 0], 10)


def test_batches_of_an_array_hold_every_image_once():
    flow = image.ImageDataGenerator().flow(IMAGES, np.arange(10), batch_size=4, seed=1)
    assert len(flow) == 3
    seen = np.concatenate([next(flow)[1] for _ in range(3)])
    assert sorted(seen) == list(range(10))
    x, y = flow[0]
    np.testing.assert_array_equal(x, IMAGES[y])
    again = image.ImageDataGenerator().flow(IMAGES, np.arange(10), batch_size=4, seed=1)
    np.testing.assert_array_equal(np.concatenate([next(again)[1] for _ in range(3)]), seen)


def test_a_split_and_weights():
    generator = image.ImageDataGenerator(validation_split=0.3)
    held_out = generator.flow(
        IMAGES, np.arange(10), shuffle=False, sample_weight=np.arange(10) / 10, subset="validation"
    )
    _, y, weights = next(held_out)
    assert list(y) == [0, 1, 2]
    np.testing.assert_allclose(weights, [0, 0.1, 0.2])
    with pytest.raises(errors.InvalidArgumentError, match="subset"):
        generator.flow(IMAGES, subset="rest")


def test_standardised_by_the_data():
    generator = image.ImageDataGenerator(featurewise_std_normalization=True)
    with pytest.warns(UserWarning, match="fit"):
        generator.standardize(IMAGES[0].copy())
    generator.fit(IMAGES)
    x = next(generator.flow(IMAGES, batch_size=10, shuffle=False))
    np.testing.assert_allclose(x.mean((0, 1, 2)), 0, atol=1e-4)
    np.testing.assert_allclose(x.std((0, 1, 2)), 1, rtol=1e-4)
    white = image.ImageDataGenerator(zca_whitening=True)
    white.fit(IMAGES)
    flat = next(white.flow(IMAGES, batch_size=10, shuffle=False)).reshape(10, -1)
    np.testing.assert_allclose(flat @ flat.T, np.eye(10) * 10, atol=0.05)


def test_folders_are_classes(tmp_path):
    for name, images in (("cat", IMAGES[:3]), ("dog", IMAGES[3:5])):
        (tmp_path / name).mkdir()
        for i, x in enumerate(images):
            image.save_img(str(tmp_path / name / f"{i}.png"), x, scale=False)
    (tmp_path / "cat" / "notes.txt").write_text("no image")
    generator = image.ImageDataGenerator(rescale=1 / 255)
    flow = generator.flow_from_directory(str(tmp_path), target_size=(6, 5), batch_size=5, shuffle=False)
    x, y = next(flow)
    assert flow.class_indices == {"cat": 0, "dog": 1}
    np.testing.assert_array_equal(y.argmax(1), [0, 0, 0, 1, 1])
    np.testing.assert_allclose(x[4], IMAGES[4].astype("uint8") / 255, rtol=1e-5)
    out = tmp_path / "out"
    out.mkdir()
    binary = generator.flow_from_directory(
        str(tmp_path), classes=["dog", "cat"], class_mode="binary", save_to_dir=str(out)
    )
    assert sorted(next(binary)[1]) == [0, 0, 1, 1, 1]
    assert len(list(out.iterdir())) == 5


def test_a_table_names_files(tmp_path):
    pandas = pytest.importorskip("pandas")
    for i in range(3):
        image.save_img(str(tmp_path / f"{i}.png"), IMAGES[i])
    table = pandas.DataFrame(
        {"filename": ["0.png", "gone.png", "2.png"], "class": ["b", "a", "c"], "w": [1.0, 2.0, 3.0]}
    )
    generator = image.ImageDataGenerator()
    options = {"target_size": (6, 5), "shuffle": False}
    flow = generator.flow_from_dataframe(table, str(tmp_path), weight_col="w", **options)
    _, y, weights = next(flow)
    assert flow.filenames == ["0.png", "2.png"]
    np.testing.assert_array_equal(y.argmax(1), [1, 2])
    np.testing.assert_array_equal(weights, [1, 3])
    raw = generator.flow_from_dataframe(table, str(tmp_path), y_col="w", class_mode="raw", **options)
    np.testing.assert_array_equal(next(raw)[1], [1, 3])


def test_a_model_trains_with_changed_images():
    with tf.Graph().as_default(), tf.Session().as_default(), warnings.catch_warnings():
        layers = tf.keras.layers
        model = tf.keras.Sequential([layers.Flatten(input_shape=(6, 5, 3)), layers.Dense(1)])
        model.compile("sgd", "mse")
        generator = image.ImageDataGenerator(rescale=1 / 255, horizontal_flip=True, rotation_range=10)
        flow = generator.flow(IMAGES, np.arange(10) / 10, batch_size=5)
        assert len(model.fit_generator(flow, epochs=2, verbose=0).history["loss"]) == 2

"""The shipped digits and the epoch semantics of `next_batch`."""

import gzip
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tfnb as tf
from tfnb.datasets import DataSet, mnist
from tfnb.datasets.idx import read_idx
from tfnb.errors import DataLossError, DTypeError, InvalidArgumentError, NotFoundError

SHIPPED = Path(mnist.__file__).parent


@pytest.fixture(scope="module")
def digits():
    return mnist.read_data_sets(one_hot=True, seed=1)


def test_shipped_digits(digits):
    assert digits.train.num_examples == 8000
    assert digits.validation.num_examples == 500
    assert digits.test.num_examples == 1500
    assert digits.train.images.shape == (8000, 784)
    assert digits.train.images.dtype == np.float32
    assert digits.train.images.min() == 0.0
    assert digits.train.images.max() == 1.0
    assert digits.train.labels.shape == (8000, 10)
    np.testing.assert_array_equal(digits.test.labels.sum(axis=1), 1)


def test_bytes_kept_as_images():
    raw = mnist.read_data_sets(dtype=np.uint8, reshape=False, validation_size=0)
    assert raw.train.images.shape == (8500, 28, 28, 1)
    assert raw.train.images.dtype == np.uint8
    assert raw.train.images.max() == 255
    assert raw.validation.num_examples == 0
    assert set(raw.train.labels.tolist()) == set(range(10))


def test_fake_data():
    fake = mnist.read_data_sets(fake_data=True, one_hot=True)
    images, labels = fake.train.next_batch(3)
    assert fake.train.num_examples == 10_000
    assert images == [[1] * 784] * 3
    assert labels == [[1] + [0] * 9] * 3


def test_seed_fixes_the_order():
    one, two = (mnist.read_data_sets(seed=5).train.next_batch(20)[1] for _ in range(2))
    other = mnist.read_data_sets(seed=6).train.next_batch(20)[1]
    np.testing.assert_array_equal(one, two)
    assert one.tolist() != other.tolist()


def test_batches_are_those_of_tensorflow():
    np.random.seed(5)
    data = DataSet(np.arange(10).reshape(10, 1, 1, 1), np.arange(10), dtype=np.uint8)
    batches = [data.next_batch(4)[1].tolist() for _ in range(6)]
    # what TensorFlow 1.15 returns for this state of NumPy
    assert batches == [[9, 5, 2, 4], [7, 1, 0, 8], [6, 3, 2, 1], [0, 4, 6, 5], [7, 8, 3, 9], [2, 4, 8, 3]]
    assert data.labels.tolist() == [2, 4, 8, 3, 9, 0, 5, 7, 6, 1]
    assert data.images[:, 0].tolist() == data.labels.tolist()


def numbered(n):
    return DataSet(np.arange(n).reshape(n, 1, 1, 1), np.arange(n), dtype=np.uint8, seed=3)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.lists(st.integers(1, 40), max_size=12), st.booleans())
def test_each_epoch_serves_each_example_once(n, batches, shuffle):
    data, served = numbered(n), []
    for size in batches:
        images, labels = data.next_batch(size, shuffle=shuffle)
        assert images.shape == (size, 1)
        np.testing.assert_array_equal(images[:, 0], labels)
        served += labels.tolist()
        # The epoch counts as completed only by the batch that needs examples of the next one.
        assert data.epochs_completed == max(len(served) - 1, 0) // n
    for k in range(0, len(served) - n + 1, n):
        assert sorted(served[k : k + n]) == list(range(n))
    if not shuffle:
        assert served == [i % n for i in range(len(served))]


def test_epochs_are_shuffled_anew():
    data = numbered(50)
    first, second = (data.next_batch(50)[1].tolist() for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second
    assert first != list(range(50))


def test_a_batch_is_the_callers_own():
    data = numbered(4)
    data.next_batch(4, shuffle=False)[0][:] = 99
    np.testing.assert_array_equal(data.images[:, 0], range(4))


@pytest.mark.parametrize("n, size", [(8, 0), (8, -1), (0, 9)])
def test_impossible_batches(n, size):
    with pytest.raises(InvalidArgumentError, match=str(size)):
        numbered(n).next_batch(size)


def test_nothing_kept_aside():
    parts = mnist.read_data_sets(validation_size=0)
    assert parts.validation.images.shape == (0, 784)
    assert parts.train.images.shape == (8500, 784)


def test_impossible_arguments():
    with pytest.raises(InvalidArgumentError, match="8501"):
        mnist.read_data_sets(validation_size=8501)
    with pytest.raises(DTypeError, match="float16"):
        mnist.read_data_sets(dtype=np.float16)
    with pytest.raises(InvalidArgumentError, match="2 labels for 3 images"):
        DataSet(np.zeros((3, 1, 1, 1)), np.zeros(2))


def test_own_folder(tmp_path):
    assert mnist.read_data_sets(tmp_path).train.num_examples == 8000  # empty: the shipped ones
    shutil.copy(SHIPPED / mnist.FILES[0], tmp_path)
    with pytest.raises(NotFoundError, match="train-labels"):
        mnist.read_data_sets(tmp_path)
    for name, header, count in zip(mnist.FILES, (">4B3I", ">4BI") * 2, (6, 6, 2, 2), strict=True):
        images = "images" in name
        sizes = (count, 2, 2) if images else (count,)
        body = bytes(range(count * (4 if images else 1)))
        (tmp_path / name).write_bytes(gzip.compress(struct.pack(header, 0, 0, 8, len(sizes), *sizes) + body))
    own = mnist.read_data_sets(tmp_path, validation_size=2)
    assert (own.train.num_examples, own.validation.num_examples, own.test.num_examples) == (4, 2, 2)
    np.testing.assert_array_equal(own.train.labels, [2, 3, 4, 5])


def test_a_full_folder_is_divided_as_tensorflow_does(tmp_path):
    for name in mnist.FILES:
        shutil.copy(SHIPPED / name, tmp_path)
    parts = mnist.read_data_sets(tmp_path)
    assert (parts.train.num_examples, parts.validation.num_examples) == (3500, 5000)


def idx(*sizes, body, magic=(0, 0, 8)):
    return struct.pack(f">4B{len(sizes)}I", *magic, len(sizes), *sizes) + body


GOOD = idx(2, 3, body=bytes(6))
# Without a time: the bytes name their test cases, which must be called alike in every process.
ZIPPED = gzip.compress(GOOD, mtime=0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "truncated at offset 0"),
        (GOOD[:3], "truncated at offset 3"),
        (GOOD[:9], "truncated at offset 9"),
        (GOOD[:-1], "truncated at offset 17"),
        (GOOD + b"x", "goes on at offset 18"),
        (idx(6, body=bytes(6)), "needed 00 00 08 02"),
        (idx(2, 3, body=bytes(24), magic=(0, 0, 13)), "begins with 00 00 0d 02"),
        (idx(2**32 - 1, 2**32 - 1, body=b""), "needs 18446744065119617025 bytes"),
        (ZIPPED[:-9], "gzip stream is damaged"),
        (ZIPPED[:-8] + bytes(8), "gzip stream is damaged"),
        (b"\x1f\x8bno gzip at all", "gzip stream is damaged"),
    ],
)
def test_damaged_files(tmp_path, content, message):
    path = tmp_path / "some.idx"
    path.write_bytes(content)
    with pytest.raises(DataLossError, match=message) as caught:
        read_idx(path, 2)
    assert str(path) in str(caught.value)


def test_plain_and_zipped_files(tmp_path):
    for name, content in (("plain", GOOD), ("zipped", gzip.compress(GOOD))):
        (tmp_path / name).write_bytes(content)
        np.testing.assert_array_equal(read_idx(tmp_path / name, 2), np.zeros((2, 3)))
    with pytest.raises(NotFoundError, match="nothing"):
        read_idx(tmp_path / "nothing", 2)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, len(gzip.compress(GOOD, mtime=0)) - 1), st.integers(1, 255))
def test_a_flipped_byte_never_passes_unseen(tmp_path_factory, at, flip):
    zipped = bytearray(gzip.compress(GOOD, mtime=0))
    zipped[at] ^= flip
    path = tmp_path_factory.mktemp("idx") / "flipped"
    path.write_bytes(zipped)
    try:
        array = read_idx(path, 2)
    except DataLossError:
        return
    np.testing.assert_array_equal(array, np.zeros((2, 3)))  # only in the gzip header's free fields


def test_labels_beyond_nine_and_unequal_numbers(tmp_path):
    for name in mnist.FILES:
        shutil.copy(SHIPPED / name, tmp_path)
    (tmp_path / mnist.FILES[3]).write_bytes(idx(1500, body=bytes([11]) * 1500))
    with pytest.raises(DataLossError, match="label 0 is 11"):
        mnist.read_data_sets(tmp_path)
    (tmp_path / mnist.FILES[3]).write_bytes(idx(2, body=bytes(2)))
    with pytest.raises(DataLossError, match=r"1500 images.* 2 labels"):
        mnist.read_data_sets(tmp_path)


def test_the_import_of_the_tutorials():
    from tfnb.examples.tutorials.mnist import input_data

    found = input_data.read_data_sets("/nowhere", one_hot=True, validation_size=100)
    assert found.validation.num_examples == 100
    assert found.train.labels.shape[1] == 10
    assert tf.contrib.learn.datasets.mnist.read_data_sets().train.images.shape[1] == 784


def test_single_files_as_old_programs_read_them(tmp_path):
    from tfnb.examples.tutorials.mnist import input_data

    path = input_data.maybe_download("t10k-images-idx3-ubyte.gz", tmp_path)
    images = input_data.extract_images(path)
    with open(input_data.maybe_download("t10k-labels-idx1-ubyte.gz"), "rb") as file:
        labels, rows = input_data.extract_labels(file), input_data.extract_labels(file.name, one_hot=True)
    assert images.shape == (1500, 28, 28, 1) and images.dtype == np.uint8
    assert rows.shape == (1500, 10) and np.array_equal(rows.argmax(1), labels)
    shutil.copy(path, tmp_path)
    assert input_data.maybe_download("t10k-images-idx3-ubyte.gz", tmp_path) == str(tmp_path / Path(path).name)
    with pytest.raises(NotFoundError):
        input_data.maybe_download("other.gz", tmp_path)


def test_the_class_of_the_digits_by_its_old_name():
    assert tf.contrib.learn.datasets.mnist.DataSet is DataSet

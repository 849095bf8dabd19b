"""Makes the data that the programs read or download: real digits and irises, and random tables, texts and pictures.

Invariant: the same folder is made each time, from fixed seeds; it stays small enough that an epoch takes seconds.
"""

from __future__ import annotations

import gzip
import io
import pickle
import shutil
import tarfile
import zipfile
from pathlib import Path

import numpy as np

__all__ = ["make_data"]

ROOT = Path(__file__).resolve().parents[2]
WORDS = "the a of to and in that it was he for on with as his her is at by had not but from they she this movie good bad".split()
MNIST = ROOT / "tfnb" / "datasets" / "mnist"


def text(words: int, seed: int, line: int = 12) -> str:
    """Returns random words in lines."""
    random = np.random.RandomState(seed)
    vocabulary = WORDS + [f"word{i}" for i in range(170)]
    chosen = random.zipf(1.3, words) % len(vocabulary)
    picked = [vocabulary[i] for i in chosen]
    return "\n".join(" ".join(picked[i : i + line]) for i in range(0, words, line)) + "\n"


def add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    """Adds a file to an archive."""
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def pictures(count: int, seed: int) -> dict[bytes, object]:
    """Returns pictures of random noise in the form of a file of CIFAR-10."""
    random = np.random.RandomState(seed)
    labels = [int(label) for label in random.randint(0, 10, count)]
    return {b"data": random.randint(0, 256, (count, 3072)).astype(np.uint8), b"labels": labels, b"batch_label": b"made"}


def make_cifar(folder: Path) -> None:
    """Makes the archive of CIFAR-10 with 500 pictures in each file."""
    with tarfile.open(folder / "cifar-10-python.tar.gz", "w:gz", compresslevel=1) as archive:
        for i, name in enumerate([f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]):
            add(archive, f"cifar-10-batches-py/{name}", pickle.dumps(pictures(500, i), protocol=2))
        names = {"label_names": "airplane automobile bird cat deer dog frog horse ship truck".split()}
        add(archive, "cifar-10-batches-py/batches.meta", pickle.dumps(names, protocol=2))
    with tarfile.open(folder / "cifar-10-binary.tar.gz", "w:gz", compresslevel=1) as archive:
        for i, name in enumerate([f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]):
            made = pictures(500, i)
            rows = [bytes([label]) + row.tobytes() for label, row in zip(made[b"labels"], made[b"data"], strict=True)]
            add(archive, f"cifar-10-batches-bin/{name}.bin", b"".join(rows))


def table(rows: int, columns: int, seed: int) -> np.ndarray:
    """Returns random numbers."""
    return np.random.RandomState(seed).uniform(0, 10, (rows, columns))


def make_tables(folder: Path) -> None:
    """Makes tables with the columns of much used ones."""
    housing = table(506, 14, 1).round(3)
    (folder / "housing.data").write_text("\n".join(" ".join(map(str, row)) for row in housing) + "\n")
    header = "LOW\tAGE\tLWT\tRACE\tSMOKE\tPTL\tHT\tUI\tBWT"
    birth = np.column_stack([table(189, 8, 2).astype(int) % 2, table(189, 1, 3).astype(int) * 100 + 2000])
    lines = "\n".join("\t".join(map(str, row)) for row in birth)
    for name in ("birthweight.dat", "lowbwt.dat", "birthweight.csv"):
        (folder / name).write_text(header + "\n" + lines + "\n")
    irises = [line for line in (MNIST.parent / "iris.csv").read_text().splitlines()[1:] if line.strip()]
    order = np.random.RandomState(4).permutation(len(irises))
    for name, part in (("iris_training.csv", order[:120]), ("iris_test.csv", order[120:])):
        lines = "\n".join(irises[i] for i in part)
        (folder / name).write_text(f"{len(part)},4,setosa,versicolor,virginica\n{lines}\n")
    (folder / "iris.data").write_text("\n".join(irises) + "\n")
    people = "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, United-States, <=50K"
    richer = "50, Private, 83311, HS-grad, 9, Divorced, Sales, Husband, Black, Female, 0, 0, 13, Cuba, >50K"
    for name, end in (("adult.data", ""), ("adult.test", ".")):
        first = "|1x3 Cross validator\n" if end else ""
        (folder / name).write_text(first + "\n".join((people + end, richer + end) * 200) + "\n")


def make_texts(folder: Path) -> None:
    """Makes texts and archives of texts."""
    with zipfile.ZipFile(folder / "text8.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("text8", text(60_000, 1).replace("\n", " "))
    with tarfile.open(folder / "simple-examples.tgz", "w:gz") as archive:
        for i, part in enumerate(("train", "valid", "test")):
            add(archive, f"./simple-examples/data/ptb.{part}.txt", text(20_000 if i == 0 else 4_000, i).encode())
    with tarfile.open(folder / "rt-polaritydata.tar.gz", "w:gz") as archive:
        for i, part in enumerate(("pos", "neg")):
            add(archive, f"rt-polaritydata/rt-polarity.{part}", text(6_000, 10 + i).encode())
    rng = np.random.RandomState(5)
    spam = "\n".join(f"{'spam' if rng.rand() < 0.4 else 'ham'}\t{line}" for line in text(9_000, 6, 9).splitlines())
    with zipfile.ZipFile(folder / "smsspamcollection.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("SMSSpamCollection", spam)
    for name in ("input.txt", "100-0.txt", "100.txt.utf-8", "pg100.txt", "shakespeare.txt"):
        (folder / name).write_text(text(20_000, 7))


def make_home(home: Path, downloads: Path) -> None:
    """Makes the folder of Keras' data."""
    datasets = home / ".keras" / "datasets"
    datasets.mkdir(parents=True)
    arrays = {}
    for key, name, skipped in (("x_train", "train-images-idx3", 16), ("y_train", "train-labels-idx1", 8),
                               ("x_test", "t10k-images-idx3", 16), ("y_test", "t10k-labels-idx1", 8)):  # fmt: skip
        raw = np.frombuffer(gzip.decompress((downloads / f"{name}-ubyte.gz").read_bytes()), np.uint8, offset=skipped)
        arrays[key] = raw.reshape(-1, 28, 28) if key.startswith("x") else raw
    np.savez(datasets / "mnist.npz", **arrays)
    with tarfile.open(downloads / "cifar-10-python.tar.gz") as archive:
        archive.extractall(datasets, filter="data")


def make_data(folder: Path) -> Path:
    """Makes the data in `folder`, unless it is there, and returns it: `downloads` by name, and `home` for `$HOME`."""
    if (folder / "complete").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    downloads = folder / "downloads"
    downloads.mkdir(parents=True)
    for file in MNIST.glob("*.gz"):
        shutil.copy(file, downloads)
    make_cifar(downloads)
    make_tables(downloads)
    make_texts(downloads)
    make_home(folder / "home", downloads)
    (folder / "complete").touch()
    return folder

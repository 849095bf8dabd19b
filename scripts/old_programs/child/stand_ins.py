"""What a program meets instead of the network, a screen and a keyboard, alike under every implementation.

Runs under Python 3.6 and later. Invariant: a file that a program downloads is one of the folder of made data, found by
the last part of its address; an address without one fails as without a network. Folders are listed in the order of
names, as the order in which a file system lists them is arbitrary.
"""

import io
import os
import shutil
import urllib.error
import urllib.request
from typing import Any, Callable  # noqa: UP035  # Python 3.6

import numpy as np

DIGITS = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


def made_file(folder: Any, address: Any) -> str:
    """Returns the made file for an address, or raises what a missing network raises."""
    address = address if isinstance(address, str) else address.full_url
    name = address.rstrip("/").split("/")[-1].split("?")[0]
    path = os.path.join(folder, "downloads", name)
    if not os.path.exists(path):
        raise urllib.error.URLError(f"there is no network, and no made data for {address}")
    return path


def content(path: str) -> bytes:
    """Returns what a file contains."""
    with open(path, "rb") as file:
        return file.read()


def with_digits(folder: Any) -> Callable[[Any], None]:
    """Returns a function that makes a module's `read_data_sets` find the made digits in any folder."""

    def wrap(module: Any) -> None:
        original = module.read_data_sets

        def read_data_sets(train_dir: Any = None, *arguments: Any, **keywords: Any) -> Any:
            place = str(train_dir or "mnist_digits")
            os.makedirs(place, exist_ok=True)
            for name in DIGITS:
                shutil.copy(os.path.join(folder, "downloads", name), os.path.join(place, name))
            if len(arguments) < 5:
                keywords.setdefault("validation_size", 5000)
            result = original(place, *arguments, **keywords)
            np.random.seed(0)
            return result

        module.read_data_sets = read_data_sets

    return wrap


def without_checksums(data_utils: Any) -> None:
    """Makes Keras take the made files that lie where it keeps downloads."""
    data_utils.validate_file = lambda *arguments, **keywords: True


def without_screen(gym: Any) -> None:
    """Makes the environments of gym draw nothing."""
    gym.Wrapper.render = lambda self, *arguments, **keywords: None


def with_one_seed(seeding: Any) -> None:
    """Makes the environments of gym draw the same numbers each time, where the program gives no seed."""
    original = seeding.create_seed
    seeding.create_seed = lambda a=None, max_bytes=8: original(0 if a is None else a, max_bytes)


class SortedEntries:
    """What `os.scandir` returns, in the order of names."""

    def __init__(self, found: Any) -> None:
        with found:
            self.entries = iter(sorted(found, key=lambda entry: entry.name))

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return next(self.entries)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        """The folder was closed when it had been read."""


def in_order(listing: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that lists names, but in their order."""
    return lambda *arguments, **keywords: sorted(listing(*arguments, **keywords))


def sort_listings(file_io: Any) -> None:
    """Makes TensorFlow's module of files list names in their order, as `sort_folders` makes Python."""
    for name in ("get_matching_files", "get_matching_files_v2", "list_directory", "list_directory_v2"):
        if hasattr(file_io, name):
            setattr(file_io, name, in_order(getattr(file_io, name)))


def sort_folders() -> None:
    """Makes Python list the names in a folder in their order; `os.walk` and `glob` read folders by `os.scandir`."""
    scan = os.scandir
    os.listdir = in_order(os.listdir)
    os.scandir = lambda *arguments: SortedEntries(scan(*arguments))


class Response:
    """What `requests.get` returns."""

    status_code = 200
    ok = True
    encoding = "utf-8"

    def __init__(self, path: Any) -> None:
        self.content = content(path)

    @property
    def text(self) -> str:
        """The content as text."""
        return self.content.decode("utf-8", "replace")

    def iter_content(self, size: Any = 1024) -> Any:
        """Yields the content in pieces."""
        return (self.content[i : i + size] for i in range(0, len(self.content), size))

    def raise_for_status(self) -> None:
        """The made files are always there."""


def install(folder: Any) -> None:
    """Puts everything in place."""
    sort_folders()

    def urlretrieve(url: Any, filename: Any = None, reporthook: Any = None, data: Any = None) -> Any:
        path = made_file(folder, url)
        filename = filename or os.path.join("/tmp", os.path.basename(path))
        shutil.copy(path, filename)
        return filename, {}

    urllib.request.urlretrieve = urlretrieve
    urllib.request.urlopen = lambda address, *a, **k: io.BytesIO(content(made_file(folder, address)))
    os.environ.setdefault("MPLBACKEND", "Agg")
    try:
        import requests
    except ImportError:
        return
    requests.get = lambda address, *a, **k: Response(made_file(folder, address))
    requests.Session.get = lambda self, address, *a, **k: Response(made_file(folder, address))

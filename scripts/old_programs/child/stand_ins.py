"""What a program meets instead of the network, a screen and a keyboard, alike under every implementation.

Runs under Python 3.6 and later. Invariant: a file that a program downloads is one of the folder of made data, found by the
last part of its address; an address without one fails as without a network.
"""

import collections
import collections.abc
import os
import shutil
import sys
import time
import urllib.error
import urllib.request

import numpy as np

DIGITS = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


def made_file(folder, address):
    """Returns the made file for an address, or raises what a missing network raises."""
    address = address if isinstance(address, str) else address.full_url
    name = address.rstrip("/").split("/")[-1].split("?")[0]
    path = os.path.join(folder, "downloads", name)
    if not os.path.exists(path):
        raise urllib.error.URLError("there is no network, and no made data for %s" % address)
    return path


def with_digits(folder):
    """Returns a function that makes a module's `read_data_sets` find the made digits in any folder."""

    def wrap(module):
        original = module.read_data_sets

        def read_data_sets(train_dir=None, *arguments, **keywords):
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


def without_checksums(data_utils):
    """Makes Keras take the made files that lie where it keeps downloads."""
    data_utils.validate_file = lambda *arguments, **keywords: True


def without_screen(gym):
    """Makes the environments of gym draw nothing."""
    gym.Wrapper.render = lambda self, *arguments, **keywords: None


class Response:
    """What `requests.get` returns."""

    status_code = 200
    ok = True
    encoding = "utf-8"

    def __init__(self, path):
        with open(path, "rb") as file:
            self.content = file.read()

    @property
    def text(self):
        """The content as text."""
        return self.content.decode("utf-8", "replace")

    def iter_content(self, size=1024):
        """Yields the content in pieces."""
        return (self.content[i : i + size] for i in range(0, len(self.content), size))

    def raise_for_status(self):
        """The made files are always there."""


def old_names():
    """Gives Python and NumPy the names that they lost since, so that programs stop only for TensorFlow's sake."""
    for name in ("Callable", "Iterable", "Mapping", "MutableMapping", "Sequence", "Hashable", "Container", "Iterator"):
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
    if not hasattr(time, "clock"):
        time.clock = time.process_time
    for name, kind in (
        ("float", float),
        ("int", int),
        ("bool", bool),
        ("object", object),
        ("str", str),
        ("complex", complex),
    ):
        if name not in vars(np):
            setattr(np, name, kind)
    for name, other in (
        ("float_", "float64"),
        ("product", "prod"),
        ("NaN", "nan"),
        ("Inf", "inf"),
        ("unicode_", "str_"),
    ):
        if name not in vars(np):
            setattr(np, name, getattr(np, other))


def install(folder):
    """Puts everything in place."""
    old_names()

    def urlretrieve(url, filename=None, reporthook=None, data=None):
        path = made_file(folder, url)
        filename = filename or os.path.join("/tmp", os.path.basename(path))
        shutil.copy(path, filename)
        return filename, {}

    urllib.request.urlretrieve = urlretrieve
    urllib.request.urlopen = lambda address, *a, **k: open(made_file(folder, address), "rb")
    os.environ.setdefault("MPLBACKEND", "Agg")
    try:
        import requests
    except ImportError:
        return
    requests.get = lambda address, *a, **k: Response(made_file(folder, address))
    requests.Session.get = lambda self, address, *a, **k: Response(made_file(folder, address))
    sys.stdin = open(os.devnull)

"""What `tfnb run` gives back to a program's process; a process of its own each, as names of NumPy change in it."""

from __future__ import annotations

import builtins
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from preloaded import run_program

from tfnb.v1.programs.python_names import give_back

ROOT = Path(__file__).resolve().parents[3]


def run(tmp_path, text):
    program = tmp_path / "program.py"
    program.write_text(text)
    code, out, err = run_program(program)
    assert code == 0, err
    return out.splitlines()


def test_names_of_python_and_numpy(tmp_path):
    text = """
import collections, inspect, time
import numpy as np
print(np.zeros(2, np.float).dtype, np.int is int, np.bool(1), np.product([2, 3]), np.NaN)
print(np.reshape(np.ones(6), newshape=[2, 3]).shape, np.reshape([1, 2], -1).shape)
print(issubclass(dict, collections.Mapping), time.clock() >= 0, inspect.getargspec(lambda a, b=1: a).args)
"""
    assert run(tmp_path, text) == ["float64 True True 6 nan", "(2, 3) (2,)", "True True ['a', 'b']"]


def test_methods_of_arrays(tmp_path):
    text = """
import numpy as np
a = np.array([[1, 5], [4, 2]], np.int16)
print(a.tostring() == a.tobytes(), np.float32(1).tostring(), a.ptp(), a.ptp(axis=0), a.ptp(1, keepdims=True).shape)
print(a.newbyteorder()[0, 0], a.view(np.recarray).ptp(), np.ma.array([1, 9, 4], mask=[0, 1, 0]).ptp())
a.itemset(1, 7)
a.itemset((1, 0), 8)
np.ravel(a[1, 1]).itemset(3)
print(a.tolist(), np.float32(2).ptp())
try:
    a.itemset(3)
except ValueError:
    print("refused")
"""
    expected = ["True b'\\x00\\x00\\x80?' 4 [3 3] (2, 1)", "256 4 3", "[[1, 7], [8, 2]] 0.0", "refused"]
    assert run(tmp_path, text) == expected


def test_arrays_of_one_element_as_numbers(tmp_path):
    """As programs print losses that have a dimension of 1; from NumPy 2.4 on only arrays without dimensions do."""
    text = """
import math
import numpy as np
class Mine(np.ndarray):
    pass
print(float(np.array([1.5])), int(np.array([[7.9]])), "%.2f %d" % (np.array([2.25], np.float32), np.array([3])))
print(math.sqrt(np.array([4.0])), float(np.array([1.5]).view(Mine)), float(np.ma.array([2.0])))
print(float(np.array(2.5)), int(np.array(3)), float(np.array(["1.5"])), int(np.array([2**70], object)))
for kind in (float, int):
    for array in (np.ones(2), np.zeros(0), np.array(["a", "b"])):
        try:
            kind(array)
        except TypeError:
            print("refused", end=" ")
"""
    expected = ["1.5 7 2.25 3", "2.0 1.5 2.0", "2.5 3 1.5 1180591620717411303424", " ".join(["refused"] * 6)]
    assert [line.strip() for line in run(tmp_path, text)] == expected


def test_bytes_and_texts_of_numbers(tmp_path):
    text = """
import numpy as np
a = np.fromstring(np.arange(3, dtype=np.int32).tobytes(), np.int32)
a[0] = 5
print(a, np.fromstring("ab", dtype=np.uint8), np.fromstring(b"abcd", "u1", 2), np.fromstring("1, 2", sep=","))
print(np.asscalar(np.ones(1)), np.cast["float32"]([1, 2]).dtype, np.mat is np.asmatrix, np.msort([[2], [1]]).ravel())
print(np.alen([1, 2]), np.asfarray([1]).dtype, np.NINF, np.unicode, np.math.pi > 3, np.round_(1.26, 1))
print(issubclass(np.VisibleDeprecationWarning, Warning), np.bool8 is np.bool_, np.lib.pad([1], 1, "constant"))
"""
    assert run(tmp_path, text) == [
        "[5 1 2] [97 98] [97 98] [1. 2.]",
        "1.0 float32 True [1 2]",
        "2 float64 -inf <class 'str'> True 1.3",
        "True True [0 1 0]",
    ]


def test_functions_of_python(tmp_path):
    text = """
import base64, fractions, io, json, random, threading
import xml.etree.cElementTree as ET
print(ET.fromstring("<a>1</a>").text, fractions.gcd(4, 6), base64.decodestring(base64.encodestring(b"x")))
print(threading.current_thread().isAlive(), sorted(random.sample({1, 2}, 2)), json.loads("[1]", encoding="utf-8"))
with open(__file__, "rU") as file, open(__file__, mode="U") as other:
    print(file.read() == other.read(), json.load(io.StringIO("{}"), encoding="utf-8"))
"""
    assert run(tmp_path, text) == ["1 2 b'x'", "True [1, 2] [1]", "True {}"]


def test_arrays_that_need_not_be_copied(tmp_path):
    text = """
import numpy as np
x = np.arange(3)
print(np.array(x, copy=False) is x, np.array([1, 2], copy=False), np.array(x, np.float32, copy=False).dtype)
"""
    assert run(tmp_path, text) == ["True [1 2] float32"]


def test_a_grid_is_a_list(tmp_path):
    text = """
import numpy as np
grid = np.meshgrid([1, 2], [3], indexing="ij")
grid.append(np.ones_like(grid[0]))
print([g.tolist() for g in grid])
"""
    assert run(tmp_path, text) == ["[[[1], [2]], [[3], [3]], [[1], [1]]]"]


def test_lists_of_unequal_length(tmp_path):
    text = """
import numpy as np
rows = np.array([[1, 2], [3]])
print(rows.dtype, rows[0], np.asarray([[1], [2, 3]]).shape, np.array([[1, 2], [3, 4]]).dtype)
for arguments in ({"dtype": np.float32}, {}):
    try:
        np.vstack([np.array([[1, 2], [3]], **arguments)]) if arguments else np.stack([[1, 2], [3]])
    except ValueError:
        print("refused")
"""
    assert run(tmp_path, text) == ["object [1, 2] (2,) int64", "refused", "refused"]


def test_twice_is_as_once(monkeypatch):
    stacks = ("vstack", "row_stack", "hstack", "dstack", "column_stack", "stack", "sum")
    others = ("histogram", "histogram2d", "histogramdd", "save", "savez", "savez_compressed")
    for name in ("array", "asarray", "reshape", "fromstring", "meshgrid", *stacks, *others):
        monkeypatch.setattr(np, name, getattr(np, name))
    monkeypatch.setattr(np.random, "permutation", np.random.permutation)
    printed = np.get_printoptions()
    for place, name in ((builtins, "open"), (json, "load"), (json, "loads"), (random, "sample")):
        monkeypatch.setattr(place, name, getattr(place, name))
    give_back()
    once = np.array, random.sample
    give_back()
    assert (np.array, random.sample) == once
    assert type(np.meshgrid([1], [2])) is list
    np.set_printoptions(**printed)
    with pytest.raises(ValueError, match="inhomogeneous"):
        np.array([[1, 2], [3]], np.int32)


def test_lists_of_tensors(tmp_path):
    text = """
import numpy as np
import tensorflow as tf
x, y = tf.constant([1.0, 2.0]), tf.placeholder(tf.float32)
pairs = np.array([[x, y], [y, x]])
print(pairs.shape, pairs.dtype, pairs[1, 0] is y, np.asarray([x, y]).tolist() == [x, y])
for wrong in (x, [x, 1.0]):
    try:
        np.array(wrong)
    except ValueError:
        print("refused")
"""
    assert run(tmp_path, text) == ["(2, 2) object True True", "refused", "refused"]


def test_modules_that_tensorflow_loaded(tmp_path):
    text = """
import multiprocessing, urllib, xml.dom
print(urllib.request.urlopen.__name__, multiprocessing.pool.ThreadPool(1).apply(abs, [-2]))
print(xml.dom.minidom.__name__)
try:
    urllib.nothing
except AttributeError as error:
    print(error)
"""
    (tmp_path / "program.py").write_text(text)
    command = [sys.executable, "-W", "error", "-m", "tfnb", "run", str(tmp_path / "program.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=False)
    expected = ["urlopen 2", "xml.dom.minidom", "module 'urllib' has no attribute 'nothing'"]
    assert done.stdout.splitlines() == expected, done.stderr


def test_arrays_of_one_element_and_of_none(tmp_path):
    text = """
import math
import numpy as np
a = np.array([[2.5]])
x = np.zeros(2)
x[0] = np.array([5.0])
print(float(a), int(a), complex(a), math.sqrt(np.array([4.0])), "%.1f %d" % (a, a), x[0])
print(bool(np.array([])), bool(np.array([3])), float(np.array(1.5)))
for wrong in (float, bool):
    try:
        wrong(np.ones(2))
    except (TypeError, ValueError) as error:
        print(error)
"""
    expected = [
        "2.5 2 (2.5+0j) 2.0 2.5 2 5.0",
        "False True 1.5",
        "only size-1 arrays can be converted to Python scalars",
        "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()",
    ]
    assert run(tmp_path, text) == expected


def test_what_functions_of_numpy_took(tmp_path):
    text = """
import os, tempfile
import numpy as np
os.chdir(tempfile.mkdtemp())
print(np.vstack(map(list, [[1, 2], [3, 4]])).tolist(), np.hstack({"a": [1], "b": [2]}.values()).tolist())
print(np.sum(x for x in [1, 2]), np.sum([[1, 2], [3, 4]], axis=0).tolist())
print(np.histogram([1.0, 2.0], bins=2, normed=True)[0].tolist(), np.histogram([1.0], bins=1)[0].tolist())
np.save("ragged.npy", [[1], [2, 3]])
np.savez("both.npz", np.arange(2), ragged=[[1], [2, 3]])
print(np.load("ragged.npy", allow_pickle=True).tolist(), np.load("both.npz")["arr_0"].tolist())
print(sorted(np.random.permutation([[1], [2, 3]]).tolist()), sorted(np.random.permutation(3).tolist()))
print(np.array([-1, 300], dtype=np.uint8).tolist(), np.asarray([-1], np.uint16).dtype)
print([np.float32(0.5), np.int64(2)], np.sctypes["float"][0].__name__, np.nbytes[np.float32])
print(np.obj2sctype("f4").__name__, np.find_common_type([np.float32, np.int64], []))
np.disp("shown")
try:
    np.array([2.0**70, 10**30], np.float32), np.array(["a", 10**30], int)
except (OverflowError, ValueError):
    print("refused")
"""
    expected = [
        "[[1, 2], [3, 4]] [1, 2]",
        "3 [4, 6]",
        "[1.0, 1.0] [1]",
        "[[1], [2, 3]] [0, 1]",
        "[[1], [2, 3]] [0, 1, 2]",
        "[255, 44] uint16",
        "[0.5, 2] float16 4",
        "float32 float64",
        "shown",
        "refused",
    ]
    assert run(tmp_path, text) == expected


def test_images_and_modules_of_scipy(tmp_path):
    """The numbers are those of SciPy 1.1.0."""
    text = """
import numpy as np
from scipy import misc
import scipy.misc
from scipy.misc import imresize, imread
from scipy.sparse.linalg.eigen.arpack import eigsh
grey = np.array([[0.0, 0.5], [1.0, 2.0]])
colour = np.arange(24).reshape(2, 4, 3).astype(np.uint8)
print(misc.bytescale(grey).tolist(), misc.bytescale(grey, low=10, high=20).tolist(), misc.toimage(colour).size)
print(imresize(colour, 50).shape, imresize(colour, 2.0).shape, imresize(grey, (3, 5), "nearest").shape)
print(imresize(grey, 2.0, interp="nearest")[0].tolist())
scipy.misc.imsave("PLACE/a.png", colour)
print((imread("PLACE/a.png") == colour).all(), imread("PLACE/a.png", mode="L").shape, imread("PLACE/a.png", True).dtype)
print(misc.comb(5, 2), np.round(eigsh(np.diag([1.0, 2, 3, 4, 5]), k=2)[0], 6).tolist())
try:
    misc.toimage(np.ones((2, 2, 2)))
except ValueError as e:
    print(e)
"""
    assert run(tmp_path, text.replace("PLACE", str(tmp_path))) == [
        "[[0, 64], [128, 255]] [[10, 13], [15, 20]] (4, 2)",
        "(1, 2, 3) (4, 8, 3) (3, 5)",
        "[0, 0, 64, 64]",
        "True (2, 4) float32",
        "10.0 [4.0, 5.0]",
        "'arr' does not have a suitable array shape for any mode.",
    ]


def test_functions_that_scipy_moved(tmp_path):
    """The numbers are those of the formulas of SciPy 1.1.0."""
    text = """
from scipy import sqrt, pi
import scipy, numpy as np
from scipy.integrate import simps, cumtrapz, trapz, quad
from scipy.signal import gaussian, convolve
from scipy import signal, stats
from scipy.spatial.distance import matching, cdist
y, x = np.array([1.0, 4, 9, 16]), np.array([0.0, 1, 2, 4])
print([round(float(simps(y, even=which)), 3) for which in ("avg", "first", "last")], round(float(simps(y, x)), 3))
print(3 * simps(y[:3]), (3 * simps(np.stack([y[:3]] * 2, 1), dx=2, axis=0)).tolist(), cumtrapz(y, x).tolist(), trapz(y))
print(signal.hann(3).tolist(), gaussian(3, 1.0).shape, stats.itemfreq([1, 1, 2]).tolist(), matching([1, 0], [1, 1]))
print(signal.hanning(5).tolist(), signal.kaiser(3, 0.0).tolist())
print(sqrt(4.0), pi == np.pi, scipy.random is np.random, scipy.randn(2).shape, quad(lambda v: v, 0, 2)[0])
for place, name in ((scipy, "no_such"), (signal, "no_such_window"), (stats, "__no_such__")):
    try:
        getattr(place, name)
    except AttributeError as e:
        print(name in str(e))
"""
    assert run(tmp_path, text) == [
        "[21.167, 21.167, 21.167] 34.208",
        "26.0 [52.0, 52.0] [2.5, 9.0, 34.0] 21.5",
        "[0.0, 1.0, 0.0] (3,) [[1, 2], [2, 1]] 0.5",
        "[0.0, 0.5, 1.0, 0.5, 0.0] [1.0, 1.0, 1.0]",
        "2.0 True True (2,) 2.0",
        *["True"] * 3,
    ]


def test_functions_that_python_lost(tmp_path):
    text = """
import os, sys, random
from html.parser import HTMLParser
sys.setcheckinterval(100)
print(os.errno.EEXIST > 0, HTMLParser().unescape("&lt;"))
numbers = [1, 2, 3]
random.shuffle(numbers, lambda: 0.0)
print(numbers)
random.shuffle(numbers, random=lambda: 0.9)
print(numbers)
random.seed(1)
random.shuffle(numbers)
print(sorted(numbers))
"""
    assert run(tmp_path, text) == ["True <", "[2, 3, 1]", "[2, 3, 1]", "[1, 2, 3]"]

"""The ways in which programs of the time import Keras."""

from __future__ import annotations

import subprocess
import sys

from tfnb.v1.programs.hook import installation


def test_imports():
    with installation("1.15"):
        from tensorflow.keras import backend as K
        from tensorflow.keras.layers import Dense
        from tensorflow.keras.models import Sequential
        from tensorflow.keras.preprocessing.sequence import pad_sequences
        from tensorflow.python.keras.engine.base_layer import Layer
        from tensorflow.python.keras.layers import LSTM
        from tensorflow.python.keras.utils.np_utils import to_categorical

        assert issubclass(Dense, Layer) and issubclass(LSTM, Layer)
        assert K.floatx() == "float32" and Sequential().layers == []
        assert pad_sequences([[1], [2, 3]]).tolist() == [[0, 1], [2, 3]]
        assert to_categorical([1, 0]).tolist() == [[0, 1], [1, 0]]


def test_keras_of_contrib():
    with installation("1.15") as tf:
        from tensorflow.contrib.keras import backend as K
        from tensorflow.contrib.keras.layers import Dense
        from tensorflow.contrib.keras.preprocessing.image import ImageDataGenerator
        from tensorflow.contrib.keras.wrappers.scikit_learn import KerasClassifier

        assert Dense is tf.keras.layers.Dense and tf.contrib.keras.models.Sequential is tf.keras.models.Sequential
        assert K.floatx() == "float32" and KerasClassifier is tf.keras.wrappers.scikit_learn.KerasClassifier
        assert ImageDataGenerator is tf.keras.preprocessing.image.ImageDataGenerator


def test_it_loads_when_named():
    code = "import sys, tfnb; print([m for m in sys.modules if m.startswith('tfnb.v1.keras.')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"

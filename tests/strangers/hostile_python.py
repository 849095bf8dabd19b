"""A grammar of Python that tries to run something: each text would leave a marker file, if it were run.

A text has a sink, which makes the file, a way in which the sink is called, and a place in a program. The names of the
grammar are those of Python, NumPy and the library, so that a new function of these is a new sink.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

__all__ = ["CALLS", "PLACES", "SINKS", "program", "programs"]

# (modules that are imported, a function, its arguments, of which PATH is a text)
_FUNCTIONS = r"""
| open | PATH, 'w'
| eval | "open(PATH, 'w')"
| exec | "open(PATH, 'w')"
| __import__('os').mkdir | PATH
| breakpoint |
os | os.mkdir | PATH
os | os.makedirs | PATH
os | os.system | 'touch ' + PATH
os | os.popen | 'touch ' + PATH
os | os.open | PATH, 64
os | os.mkfifo | PATH
os | os.symlink | 'x', PATH
os | os.fdopen | os.open(PATH, 64)
os | os.environ.update | {'TFNB_MARK': PATH}
os | os.chdir | '/'
os.path | os.path.os.mkdir | PATH
io | io.open | PATH, 'w'
io | io.FileIO | PATH, 'w'
builtins | builtins.open | PATH, 'w'
builtins | builtins.exec | "open(PATH, 'w')"
builtins | builtins.eval | "open(PATH, 'w')"
builtins | builtins.__import__('os').mkdir | PATH
codecs | codecs.open | PATH, 'w'
subprocess | subprocess.run | ['touch', PATH]
subprocess | subprocess.Popen | ['touch', PATH]
subprocess | subprocess.check_output | ['touch', PATH]
subprocess | subprocess.getoutput | 'touch ' + PATH
shutil | shutil.copy | '/etc/hostname', PATH
shutil | shutil.copytree | '/etc/apt', PATH
tempfile | tempfile.mkdtemp | dir=DIR
tempfile | tempfile.NamedTemporaryFile | dir=DIR, delete=False
pathlib | pathlib.Path(PATH).mkdir |
pathlib | pathlib.Path(PATH).touch |
pathlib | pathlib.Path(PATH).write_text | 'x'
runpy | runpy.run_path | SCRIPT
importlib | importlib.import_module | 'beside_the_notebook'
importlib | importlib.reload | importlib
sys | sys.modules['os'].mkdir | PATH
sys | sys.path.append | DIR
sys | sys.setrecursionlimit | 17
pickle | pickle.loads | PICKLE
pickle | pickle.Unpickler(io.BytesIO(PICKLE)).load |
sqlite3 | sqlite3.connect | PATH
zipfile | zipfile.ZipFile | PATH, 'w'
tarfile | tarfile.open | PATH, 'w'
gzip | gzip.open | PATH, 'w'
bz2 | bz2.open | PATH, 'w'
lzma | lzma.open | PATH, 'w'
wave | wave.open | PATH, 'wb'
shelve | shelve.open | PATH
dbm.dumb | dbm.dumb.open | PATH, 'c'
logging | logging.FileHandler | PATH
threading | threading.Thread(target=open, args=(PATH, 'w')).start |
threading | threading.Timer(0.0, open, (PATH, 'w')).start |
concurrent.futures | concurrent.futures.ThreadPoolExecutor().submit | open, PATH, 'w'
asyncio | asyncio.run | open(PATH, 'w')
ctypes | ctypes.CDLL(None).mkdir | PATH.encode(), 511
ctypes | ctypes.pythonapi.PyRun_SimpleString | ("open(%r, 'w')" % PATH).encode()
timeit | timeit.timeit | "open(%r, 'w')" % PATH, number=1
cProfile | cProfile.run | "open(%r, 'w')" % PATH
doctest | doctest.testfile | SCRIPT
code | code.InteractiveInterpreter().runsource | "open(%r, 'w')" % PATH
types | types.FunctionType(compile("open(%r, 'w')" % PATH, 'x', 'exec'), {}) |
operator | operator.methodcaller('mkdir')(pathlib.Path(PATH)).real |
weakref | weakref.finalize(threading.Thread, open, PATH, 'w') |
contextlib | contextlib.ExitStack().callback(open, PATH, 'w').__call__ |
json | json.dump | 1, open(PATH, 'w')
helper_beside | helper_beside.anything |
np | np.save | PATH, [1]
np | np.savez | PATH, [1]
np | np.savetxt | PATH, [1]
np | np.memmap | PATH, 'u1', 'w+', 0, (4,)
np | np.ones(3).tofile | PATH
np | np.ones(3).dump | PATH
np | np.load | PICKLE_FILE, allow_pickle=True
np | np.fromfile(PATH + '.none').tofile | PATH
np | np.lib.format.open_memmap | PATH, 'w+', 'u1', (4,)
np | np.lib.npyio.DataSource(DIR).open | PATH, 'w'
np | np.testing.runstring | "open(%r, 'w')" % PATH, {}
np | np.testing.measure | "open(%r, 'w')" % PATH
np | np.testing.rundocs | SCRIPT
np | np.testing.tempdir(dir=DIR).__enter__ |
np | np.testing.assert_raises | ValueError, open, PATH, 'w'
np | np.f2py.run_main | ['-h', PATH, SCRIPT]
np | np.f2py.compile | 'x', 'y'
np | np.ctypeslib.load_library | 'x', DIR
np | np.apply_along_axis | open, 0, [PATH]
np | np.vectorize(open) | PATH, 'w'
np | np.frompyfunc(open, 2, 1) | PATH, 'w'
np | np.fromfunction | lambda *a: open(PATH, 'w'), (1,)
np | np.piecewise | np.ones(1), [True], [lambda a: open(PATH, 'w')]
np | np.lib._datasource.open | PATH, 'w'
np | np.core.records.fromfile | SCRIPT
np | np.info | np.ones, output=open(PATH, 'w')
np | np.errstate(call=open).__enter__ |
np | np.set_printoptions | formatter={'all': open}
tf | tf.gfile.MakeDirs | PATH
tf | tf.gfile.MkDir | PATH
tf | tf.gfile.Copy | SCRIPT, PATH
tf | tf.gfile.Rename | SCRIPT, PATH
tf | tf.gfile.Open(PATH, 'w').write | 'x'
tf | tf.gfile.GFile(PATH, 'w').write | 'x'
tf | tf.gfile.FastGFile(PATH, 'w').write | 'x'
tf | tf.io.gfile.makedirs | PATH
tf | tf.python_io.TFRecordWriter | PATH
tf | tf.io.TFRecordWriter(PATH).write | b'x'
tf | tf.summary.FileWriter | PATH
tf | tf.summary.FileWriterCache.get | PATH
tf | tf.train.SummaryWriter | PATH
tf | tf.train.write_graph | tf.get_default_graph(), DIR, 'marker'
tf | tf.io.write_graph | tf.get_default_graph(), DIR, 'marker'
tf | tf.Session().run | tf.write_file(PATH, 'x')
tf | tf.InteractiveSession().run | tf.write_file(PATH, 'x')
tf | tf.write_file(PATH, 'x').run |
tf | tf.write_file(PATH, 'x').run | None, tf.Session()
tf | tf.train.Saver([tf.Variable(1.0)]).save | tf.Session(), PATH
tf | tf.train.Saver([tf.Variable(1.0)]).export_meta_graph | PATH
tf | tf.train.export_meta_graph | PATH
tf | tf.saved_model.simple_save | tf.Session(), PATH, {}, {}
tf | tf.saved_model.builder.SavedModelBuilder(PATH).save |
tf | tf.train.Server.create_local_server |
tf | tf.train.SingularMonitoredSession(checkpoint_dir=PATH).run | tf.no_op()
tf | tf.train.MonitoredTrainingSession | checkpoint_dir=PATH
tf | tf.train.Supervisor(logdir=PATH).managed_session |
tf | tf.train.basic_train_loop | None, open
tf | tf.train.update_checkpoint_state | DIR, PATH
tf | tf.train.Coordinator().join | [open(PATH, 'w')]
tf | tf.estimator.Estimator(open, PATH).train | open
tf | tf.load_op_library | SCRIPT
tf | tf.load_file_system_library | SCRIPT
tf | tf.app.run | lambda _: open(PATH, 'w')
tf | tf.test.main |
tf | tf.test.TestCase().create_tempdir |
tf | tf.compat.v1.gfile.MakeDirs | PATH
tf | tf.contrib.specs.Import | "open(%r, 'w')\nf = len" % PATH
tf | tf.contrib.specs.eval_spec | "open(%r, 'w')" % PATH
tf | tf.contrib.specs.create_net | "net = open(%r, 'w')" % PATH, tf.ones([1])
tf | tf.contrib.specs.create_net_fun | "net = open(%r, 'w')" % PATH
tf | tf.contrib.specs.LocalImport | {'open': open}
tf | tf.contrib.specs.External('os', 'mkdir').funcall | PATH
tf | tf.contrib.specs.External('os', 'mkdir') | PATH
tf | tf.contrib.specs.Callable | open
tf | tf.contrib.specs.debug | open
tf | tf.contrib.specs.Function(open, PATH, 'w').funcall |
tf | tf.contrib.framework.python.framework.LazyLoader | 'os', {}, 'os'
tf | tf.v1.contrib.framework.library_functions.LazyLoader('o', {}, 'os').mkdir | PATH
tf | tf.client.namespace.sys.modules['os'].mkdir | PATH
tf | tf.client.namespace.import_module('os').mkdir | PATH
tf | tf.client.namespace.partial | open, PATH, 'w'
tf | tf.client.namespace.sys.path.append | DIR
tf | tf.client.platform.gfile.os.mkdir | PATH
tf | tf.ops.checkpoint.files.os.mkdir | PATH
tf | tf.ops.io.files.os.mkdir | PATH
tf | tf.system.scratch.os.mkdir | PATH
tf | tf.settings.os.mkdir | PATH
tf | tf.settings.Path(PATH).mkdir |
tf | tf.ops.catalog.import_module('os').mkdir | PATH
tf | tf.upcalls.install | open
tf | tf.ir.default.pushed | tf.Graph()
tf | tf.py_func(open, [PATH, 'w'], tf.float32).eval |
tf | tf.map_fn | open, [PATH]
tf | tf.foldl | open, [PATH]
tf | tf.scan | lambda a, b: open(PATH, 'w'), [PATH]
tf | tf.while_loop | lambda i: open(PATH, 'w'), lambda i: i, [0]
tf | tf.cond | tf.constant(True), lambda: open(PATH, 'w'), lambda: 0
tf | tf.case | [(tf.constant(True), lambda: open(PATH, 'w'))]
tf | tf.make_template('a', open) | PATH, 'w'
tf | tf.custom_gradient(open) | PATH, 'w'
tf | tf.get_variable | 'v', [2], initializer=lambda *a, **k: open(PATH, 'w')
tf | tf.get_variable | 'v', [2], regularizer=lambda *a: open(PATH, 'w')
tf | tf.Variable | lambda: open(PATH, 'w')
tf | tf.device(lambda op: open(PATH, 'w')).__enter__ |
tf | tf.variable_creator_scope(lambda *a, **k: open(PATH, 'w')).__enter__ |
tf | tf.data.Dataset.from_generator | lambda: iter([open(PATH, 'w')]), tf.int32
tf | tf.data.Dataset.range(3).map | lambda x: open(PATH, 'w')
tf | tf.data.Dataset.range(3).apply | lambda x: open(PATH, 'w')
tf | tf.contrib.layers.stack | tf.ones([1, 1]), open, [PATH]
tf | tf.contrib.layers.repeat | PATH, 1, open, 'w'
tf | tf.nn.dynamic_rnn | open, PATH
tf | tf.RegisterGradient('MatMul') | open
tf | tf.contrib.graph_editor.copy | open
tf | tf.contrib.framework.deprecated('2020-01-01', 'x')(open) | PATH, 'w'
tf | tf.contrib.learn.monitors.PrintTensor | [open(PATH, 'w')]
tf | tf.keras.models.Sequential().save | PATH
tf | tf.keras.utils.get_file | PATH, 'file:///etc/hostname'
tf | tf.keras.layers.Lambda(lambda x: open(PATH, 'w')) | tf.ones([1])
tf | tf.keras.callbacks.CSVLogger(PATH).on_train_begin |
tf | tf.view | DIR
tf | tf.builder(TEXT).run | 'x'
tf | tf.builder | TEXT
tf | tf.datasets.mnist.os.mkdir | PATH
tf | tf.contrib.tfprof.tfprof_logger.write_op_log | tf.get_default_graph(), PATH
tf | tf.profiler.profile | tf.get_default_graph()
tf | tf.Print(1.0, [1.0]).eval |
tf | tf.flags.FLAGS.__call__ | ['x']
tf | tf.logging.log | open(PATH, 'w')
tf | tf.ones([1]).op.graph.__class__.__init__.__globals__['__builtins__']['open'] | PATH, 'w'
tf | tf.write_file(PATH, 'x').opdef.host | PATH, 'x'
tf | tf.ones([1]).__class__.__base__.__subclasses__()[0] | PATH
tf | (lambda f: f(PATH))(tf.gfile.MakeDirs).real |
tf | (lambda f: f(PATH))(tf.client.namespace.sys.modules['os'].mkdir) |
tf | (lambda f: f(PATH, 'x'))(tf.write_file(PATH, 'x').op_def.host) |
"""
SINKS = [tuple(part.strip() for part in line.split("|")) for line in _FUNCTIONS.strip().splitlines()]

# How a function F is called with the arguments A. A text of several lines defines what it needs itself.
CALLS = [
    "F(A)",
    "y = F(A)",
    "y = [F(A)]",
    "y = {1: F(A)}",
    "f = F\ny = f(A)",
    "y = (lambda f: f(A))(F)",
    "y = (lambda *a: F(A))(1)",
    "y = [F][0](A)",
    "y = {'f': F}['f'](A)",
    "y = (F if True else 0)(A)",
    "y = tf.constant(1.0, name=F(A))",
    "y = tf.map_fn(lambda x: F(A), tf.ones([2]))",
    "y = tf.cond(tf.constant(True), lambda: F(A), lambda: 0)",
    "y = list(map(lambda _: F(A), [1]))",
    "y = sorted([1], key=lambda _: F(A))",
    "y = max([1], key=lambda _: F(A))",
    "y = [F(A) for _ in [1]]",
    "y = {F(A) for _ in [1]}",
    "y = list(F(A) for _ in [1])",
    "y = f'{F(A)}'",
    "y = '{0}'.format(F(A))",
    "y: F(A) = 1",
    "y = 1 if F(A) else 2",
    "y = 0 or F(A)",
    "y = (z := F(A))",
    "x, y = 1, F(A)",
    "y = tf.ones([2])[F(A)]",
    "y = -F(A)",
    "y = 1 + F(A)",
    "def f(a=F(A)):\n    return a",
    "def f():\n    return F(A)\ny = f()",
    "@(lambda _: F(A))\ndef f():\n    pass",
    "class C:\n    y = F(A)",
    "class C(dict):\n    def __missing__(self, key):\n        return F(A)\ny = C()[1]",
    "class C:\n    def __add__(self, other):\n        return F(A)\ny = C() + 1",
    "class C:\n    def __repr__(self):\n        return F(A)\ny = f'{C()!r}'",
    "class M(type):\n    def __getattr__(self, name):\n        return F(A)\nclass C(metaclass=M):\n    pass\ny = C.y",
    "class C:\n    def __init_subclass__(cls):\n        F(A)\nclass D(C):\n    pass",
    "for _ in [1]:\n    F(A)",
    "for y in F(A):\n    pass",
    "for f in [F]:\n    f(A)",
    "for open in [1]:\n    F(A)",
    "if True:\n    F(A)",
    "while True:\n    F(A)\n    break",
    "with F(A):\n    pass",
    "with tf.name_scope(F(A)):\n    y = 1",
    "with tf.name_scope('a'):\n    y = F(A)",
    "try:\n    F(A)\nexcept Exception:\n    pass",
    "assert F(A)",
    "raise ValueError(F(A))",
    "global y\ny = F(A)",
    "del [F(A)][0]",
    "tf.y = F(A)",
    "tf.nn.relu = F\ny = tf.nn.relu(A)",
    "y = getattr(F, '__call__')(A)",
    "y = F.__call__(A)",
    "import functools\ny = functools.partial(F)(A)",
    "import functools\ny = functools.reduce(lambda a, b: F(A), [1, 2])",
    "import itertools\ny = list(itertools.starmap(lambda a: F(A), [(1,)]))",
    "def f():\n    yield F(A)\ny = list(f())",
    "async def f():\n    F(A)\nf().send(None)",
    "return F(A)",
    "!touch marker\ny = F(A)",
]

# Where the statements stand.
PLACES = [
    "BODY",
    "x = tf.placeholder(tf.float32, [None, 2])\nBODY\nz = tf.identity(x)",
    "with tf.device('/cpu:0'):\n    x = tf.ones([2])\nBODY",
    "x = tf.ones([2]); BODY",
]


def _imported(module: str) -> str:
    known = {"np": "import numpy as np\nimport numpy.f2py, numpy.testing, numpy.ctypeslib\n", "tf": "", "": ""}
    return known.get(module, f"import {module}\n")


def program(sink: tuple[str, ...], call: str, place: str, names: dict[str, str]) -> str:
    """Returns a program; `names` are texts by the words of the grammar, such as PATH."""
    module, function, arguments = sink
    text = call.replace("F", function).replace("(A)", f"({arguments})")
    heads = "".join(f"{name} = {value!r}\n" for name, value in names.items())
    more = _imported("io, pathlib, threading") if module not in ("np", "tf", "") else ""
    return f"import tfnb as tf\nimport numpy as np\n{more}{_imported(module)}{heads}{place.replace('BODY', text)}\n"


def programs(r: random.Random, count: int, names: dict[str, str]) -> Iterator[str]:
    """Yields programs of the grammar: first each sink and each call once, then any of them."""
    for sink in SINKS:
        yield program(sink, "y = F(A)", PLACES[0], names)
    for call in CALLS:
        yield program(SINKS[0], call, PLACES[0], names)
        yield program(r.choice(SINKS), call, r.choice(PLACES), names)
    for _ in range(count):
        yield program(r.choice(SINKS), r.choice(CALLS), r.choice(PLACES), names)

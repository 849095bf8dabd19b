"""Small programs as people write them: each has one habit, in layout, in words, or in how the graph is made.

`PROGRAMS` has their sources by the name of the habit. Each makes a graph, runs it, and prints what comes out.
"""

from __future__ import annotations

HEAD = "import tfnb as tf\n"
RUN = "with tf.Session() as sess:\n    print(sess.run(y))\n"

_STRAIGHT = {  # between the import and the session
    "plain": "x = tf.constant([1.0, 2.0])\ny = tf.square(x)\n",
    "semicolons": "x = tf.ones([2]); w = tf.fill([2], 3.0);   y = x * w\n",
    "semicolon_at_the_end": "x = tf.ones([2]);\ny = x + 1.0;\n",
    "continued_by_a_backslash": "x = tf.ones([2])\ny = x + \\\n    2.0 * \\\n  x\n",
    "continued_in_brackets": "x = tf.ones([2])\ny = tf.add(  # a sum\n    x,\n\n    # of two\n    x,\n)\n",
    "closing_bracket_alone": "y = tf.reduce_sum(\n  tf.ones([\n    2,\n    3,\n  ]),\n  axis=0\n  )\n",
    "aligned_by_spaces": "x     = tf.ones([2])\nwide  = tf.ones([2])  *  2.0\ny     = x    +    wide\n",
    "no_spaces": "x=tf.ones([2])\nw=tf.ones([2])*2.0\ny=x+w\n",
    "comment_at_the_end": "x = tf.ones([2])   # the input ;  not = code\ny = tf.exp(x)#close\n",
    "commented_out_code": "x = tf.ones([2])\n# y = tf.log(x)\n#y = tf.sin(x)\n    # indented\ny = tf.cos(x)\n",
    "rulers": "#" * 60 + "\n# MODEL\n" + "#" * 60 + "\nx = tf.ones([2])\n\n\n\n\ny = tf.sin(x)\n",
    "blanks_at_line_ends": "x = tf.ones([2])   \n   \n\t\ny = tf.sin(x)  \n",
    "form_feed": "x = tf.ones([2])\n\x0c\ny = tf.sin(x)\n",
    "umlauts": "größe = tf.constant([1.5])\nmaß = größe * 2.0  # Fläche in m²\ny = maß + größe\n",
    "other_scripts": "数据 = tf.constant([1.0])\nвес = tf.constant([3.0])\ny = 数据 * вес  # 乘积 🚀\n",
    "from_right_to_left": "קלט = tf.constant([1.0])\nمدخل = tf.constant([3.0])\ny = קלט * مدخل\n",
    "emoji_before_code_in_a_line": "s = '🚀🚀'; x = tf.ones([len(s)]); y = tf.negative(x)\n",
    "hash_in_a_text": 's = \'# not a comment\'\nt = """\n# nor this\n"""\ny = tf.constant([s, t])\n',
    "raw_and_bytes": "s = tf.constant([br'\\d', b\"#\"])\ny = tf.string_join([s, s])\n",
    "chained_names": "a = b = tf.ones([2])\ny = a + b\n",
    "tuple_unpacked": "a, b = tf.split(tf.range(4), 2)\ny = a * b\n",
    "starred": "a, *rest = tf.unstack(tf.range(3))\ny = a + rest[0] + rest[-1]\n",
    "unpacked_in_brackets": "(a, b), c = (tf.ones([1]), tf.zeros([1])), tf.fill([1], 2.0)\ny = a + b + c\n",
    "one_name_again_and_again": "net = tf.ones([2])\nnet = net * 2.0\nnet = net - 0.5\ny = net\n",
    "augmented": "total = tf.zeros([2])\ntotal += 1.0\ntotal *= 3.0\ny = total\n",
    "walrus": "y = (x := tf.ones([2])) + x\n",
    "annotations": "x: tf.Tensor = tf.ones([2])\nrate: float = 0.5\ny: 'tf.Tensor' = x * rate\n",
    "conditional_value": "big = False\ny = tf.ones([3]) if big else tf.zeros([2])\n",
    "conditional_in_a_line": "x = tf.ones([2])\nif True: x = x * 4.0\ny = x\n",
    "lambdas": "f = lambda t, k=2.0: t * k\nx = tf.ones([2])\ny = f(f(x), k=3.0)\n",
    "stars_in_a_call": "args = [tf.ones([2]), tf.ones([2])]\nmore = {'name': 'sum'}\ny = tf.add(*args, **more)\n",
    "list_comprehension": "parts = [tf.fill([1], float(k)) for k in range(4) if k % 2]\ny = tf.concat(parts, 0)\n",
    "nested_comprehension": "y = tf.stack([tf.stack([tf.constant(a * b) for a in range(2)]) for b in range(3)])\n",
    "dict_of_layers": "n = {}\nn['a'] = tf.ones([2])\nn['b'] = n['a'] * 2.0\ny = n['a'] + n['b']\n",
    "list_that_grows": "layers = []\nlayers.append(tf.ones([2]))\nlayers.append(layers[-1] * 2.0)\ny = tf.add_n(layers)\n",
    "for_loop": "h = tf.ones([2])\nfor k in range(3):\n    h = h * 2.0   # deeper\ny = h\n",
    "for_in_a_line": "h = tf.ones([2])\nfor k in range(3): h = h + 1.0\ny = h\n",
    "for_else": "h = tf.ones([2])\nfor k in (1., 2.):\n  h = h * k\nelse:\n  h = -h\ny = h\n",
    "zip_and_enumerate": "y = tf.zeros([])\nfor i, (a, b) in enumerate(zip([1., 2.], [3., 4.])):\n    y = y + i * a * b\n",
    "two_spaces": "def f(t):\n  t = t * 2.0\n  return t\n\ny = f(tf.ones([2]))\n",
    "tabs": "def f(t):\n\tif True:\n\t\tt = t * 2.0\n\treturn t\n\ny = f(tf.ones([2]))\n",
    "function_with_text": 'def f(t, units=2):\n    """Doubles.\n\n    # no comment\n    """\n    return t * units\ny = f(tf.ones([2]))\n',
    "decorated": "def twice(f):\n    return lambda t: f(f(t))\n@twice\ndef g(t): return t + 1.0\ny = g(tf.zeros([2]))\n",
    "two_decorators": "import functools\ndef d(f): return f\n@d\n@functools.lru_cache(None)  # once\ndef g(k):\n    return tf.fill([2], k)\ny = g(3.0) + g(3.0)\n",
    "closure": "def make(k):\n    def inner(t):\n        nonlocal k\n        k = k + 1.0\n        return t * k\n    return inner\nf = make(1.0)\ny = f(tf.ones([2])) + f(tf.ones([2]))\n",
    "global_counter": "count = 0\ndef f(t):\n    global count\n    count += 1\n    return t * float(count)\ny = f(tf.ones([2])) + f(tf.ones([2]))\n",
    "star_parameters": "def total(*parts, scale=1.0, **unused):\n    return scale * tf.add_n(list(parts))\ny = total(tf.ones([1]), tf.ones([1]), scale=3.0)\n",
    "class": "class Net(object):\n    rate = 0.5\n\n    def __init__(self, x):\n        self.h = x * self.rate\n\n    @property\n    def out(self): return self.h + 1.0\n\nnet = Net(tf.ones([2]))\ny = net.out\n",
    "scopes": "with tf.name_scope('a'):\n    x = tf.ones([2])\n    with tf.name_scope('b') as scope:\n        z = tf.sin(x, name=scope)\ny = x + z\n",
    "scope_in_a_line": "with tf.name_scope('a'): x = tf.ones([2]); z = tf.sin(x)\ny = x + z\n",
    "two_scopes_in_one_header": "with tf.name_scope('a'), \\\n     tf.device('/cpu:0'):  # here\n    x = tf.ones([2])\ny = tf.sin(x)\n",
    "one_scope_over_lines": "with tf.name_scope(\n    # why\n    'a',\n):\n    # in it\n    x = tf.ones([2])\ny = tf.sin(x)\n",
    "control_dependencies": "x = tf.ones([2])\nwith tf.control_dependencies([tf.no_op()]):\n    y = tf.identity(x)\n",
    "try_and_except": "try:\n    y = tf.reshape(tf.ones([4]), [3])\nexcept ValueError as e:\n    y = tf.ones([2])\nfinally:\n    pass\n",
    "assert_and_del": "x = tf.ones([2, 3])\nassert x.get_shape().as_list() == [2, 3], 'shape'\nt = x\ndel t\ny = x * 2.0\n",
    "match": "kind = 'sum'\nmatch kind:\n    case 'sum':\n        y = tf.reduce_sum(tf.ones([3]))\n    case _:\n        y = tf.ones([1])\n",
    "math_and_numpy": "from math import *\nimport numpy as np\nx = np.arange(3, dtype=np.float32)\ny = tf.constant(x * sqrt(4.0)) + np.float32(pi)\n",
    "format_strings": "k = 3\nx = tf.ones([k], name=f'x_{k}')\ny = tf.identity(x, name='y_%d' % k) * float(f'{k:.1f}')\n",
    "graph_conditional": "x = tf.constant(3.0)\ny = tf.cond(x > 2.0, lambda: x * 2.0,\n            lambda: x)\n",
    "graph_loop": "y = tf.while_loop(lambda i, s: i < 4,\n  lambda i, s: (i + 1, s + i), [tf.constant(0), tf.constant(0)])[1]\n",
    "shadowed_builtin": "input = tf.ones([2])\nsum = input + 1.0\nid = tf.identity(sum)\ny = id\n",
    "parenthesised": "y = (((tf.ones([2])) + ((1.0))))\n",
    "several_in_a_list": "y = [tf.ones([1]),\n     tf.zeros([1]),  # second\n     ]\n",
    "operators_in_a_row": "a = tf.ones([2]); b = a * 3.0\ny = -a ** 2.0 + b / 2.0 - (a - b) % 2.0 // 1.0\n",
    "unnamed_result": "x = tf.ones([2])\ntf.add_to_collection('kept', x)\n_ = tf.sin(x)\ny = tf.get_collection('kept')[0]\n",
}

PROGRAMS = {name: HEAD + body + RUN for name, body in _STRAIGHT.items()}
PROGRAMS |= {
    "crlf": (
        HEAD + "# a note\nx = tf.ones([2])  # one\nwith tf.name_scope('a'):\n    y = tf.sin(\n        x)\n" + RUN
    ).replace("\n", "\r\n"),
    "old_line_ends": (HEAD + "x = tf.ones([2])\ny = tf.sin(x)\n" + RUN).replace("\n", "\r"),
    "mixed_line_ends": HEAD + "x = tf.ones([2])\r\n# both\r\ny = tf.sin(x)\n" + RUN,
    "no_new_line_at_the_end": (HEAD + "y = tf.sin(tf.ones([2]))\n" + RUN).rstrip("\n"),
    "text_first": '"""A program.\n\n# frame no frame [#fff]: y\n"""\nfrom __future__ import annotations\n'
    + HEAD
    + "y = tf.sin(tf.ones([2]))\n"
    + RUN,
    "main_function": HEAD
    + "def main(_):\n    y = tf.sin(tf.ones([2]))\n"
    + "    with tf.Session() as sess:\n        print(sess.run(y))\n\n\nif __name__ == '__main__':\n    main([])\n",
    "module_by_its_name": "import tfnb\nx = tfnb.ones([2])\ny = tfnb.sin(x)\nwith tfnb.Session() as s:\n    print(s.run(y))\n",
    "graph_of_its_own": HEAD
    + "g = tf.Graph()\nwith g.as_default():\n    x = tf.ones([2])\n    y = tf.sin(x)\n"
    + "with tf.Session(graph=g) as sess:\n    print(sess.run(y))\n",
    "training_loop": HEAD
    + "x = tf.placeholder(tf.float32, [None, 1])\nt = tf.placeholder(tf.float32, [None, 1])\n"
    + "w = tf.Variable([[0.0]])\nb = tf.Variable([0.0])\n"
    + "loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - t))\n"
    + "step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)\ninit = tf.global_variables_initializer()\n"
    + "sess = tf.Session()\nsess.run(init)\n"
    + "for k in range(5):\n\tsess.run(step, feed_dict={x: [[1.], [2.]], t: [[2.], [4.]]})\n"
    + "result = sess.run([w, b]);  print(result)\nsess.close()\n",
    "interactive": HEAD + "sess = tf.InteractiveSession()\ny = tf.sin(tf.ones([2]))\nprint(y.eval())\nsess.close()\n",
    "variables_shared": HEAD
    + "def dense(t, reuse = None):\n    with tf.variable_scope('d', reuse=reuse):\n"
    + "        w = tf.get_variable('w', [2, 2], initializer=tf.ones_initializer())\n        return tf.matmul(t, w)\n"
    + "a = dense(tf.ones([1, 2]))\nb = dense(a, reuse=True)\n"
    + "with tf.Session() as sess:\n    sess.run(tf.global_variables_initializer())\n    print(sess.run(b))\n",
}

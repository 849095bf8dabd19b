"""Functions of elements that use state of the program around them: variables, queues."""

import pytest

import tfnb as tf

_ONE = pytest.mark.one_process("a variable must be of the task that computes the data set")


def _elements(sess, dataset):
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    sess.run(iterator.initializer)
    return element


@_ONE
def test_a_variable_is_changed_for_each_element():
    with tf.Graph().as_default(), tf.Session() as sess:
        counter = tf.get_variable("counter", (), tf.int32, tf.zeros_initializer(), use_resource=True)
        sess.run(counter.initializer)
        element = _elements(sess, tf.data.Dataset.range(3).map(lambda _: counter.assign_add(2)))
        assert [int(n) for _ in range(3) for n in sess.run([counter])] == [0, 0, 0]
        assert [int(sess.run(n)) for _ in range(3) for n in (element, counter)] == [2, 2, 4, 4, 6, 6]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(element)
        assert sess.run(counter) == 6


@_ONE
def test_a_variable_is_read_for_each_element():
    with tf.Graph().as_default(), tf.Session() as sess:
        scale = tf.Variable(5.0)
        sess.run(scale.initializer)
        element = _elements(sess, tf.data.Dataset.range(1, 4).map(lambda x: tf.to_float(x) * scale))
        assert (sess.run(element), sess.run(element)) == (5, 10)
        sess.run(scale.assign(7.0))
        assert sess.run(element) == 21


@_ONE
def test_a_variable_is_read_after_its_change_in_the_function():
    with tf.Graph().as_default(), tf.Session() as sess:
        counter = tf.Variable(0, name="counter")
        sess.run(counter.initializer)

        def count(x):
            with tf.control_dependencies([counter.assign_add(1)]):
                return counter + 10

        element = _elements(sess, tf.data.Dataset.range(2).flat_map(lambda x: tf.data.Dataset.range(2).map(count)))
        assert [int(sess.run(element)) for _ in range(4)] == [11, 12, 13, 14]


def test_an_element_is_dequeued_for_each_element():
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = tf.FIFOQueue(10, tf.int32, shapes=[])
        sess.run(queue.enqueue_many([[4, 5, 6]]))
        sess.run(queue.close())
        element = _elements(sess, tf.data.Dataset.from_tensors(0).repeat().map(lambda _: queue.dequeue()))
        assert [int(sess.run(element)) for _ in range(3)] == [4, 5, 6]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(element)


def test_a_step_that_waits_for_a_function_of_elements_can_be_stopped():
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = tf.FIFOQueue(10, tf.int32, shapes=[])
        element = _elements(sess, tf.data.Dataset.from_tensors(0).map(lambda _: queue.dequeue()))
        with pytest.raises(tf.errors.DeadlineExceededError, match="next element"):
            sess.run(element, options=tf.RunOptions(timeout_in_ms=300))
        sess.run(queue.enqueue(7))
        assert sess.run(element) == 7


def test_a_variable_without_value_is_named():
    with tf.Graph().as_default(), tf.Session() as sess:
        counter = tf.Variable(0, name="counter")
        element = _elements(sess, tf.data.Dataset.range(2).map(lambda _: counter.assign_add(1)))
        with pytest.raises(tf.errors.FailedPreconditionError, match=r"uninitialized value .*counter"):
            sess.run(element)

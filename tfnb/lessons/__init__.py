"""Exercises of the tutorials that check themselves, with a ladder of hints, and the progress of a reader.

`tf.lessons.check("3.1", answer)` runs what a reader wrote, on several inputs, and says what is right, what kind of
mistake there is, and the next hint. Invariant: no text that is shown contains the answer, nothing is sent anywhere,
and only the file of the progress is written.
"""

"""The document of `tf.builder`: Python source in, the drawing of its graph out; edits in, new source out.

There is no widget and no thread here: `Document` is the entrance.
"""

from tfnb.notebook.builder.document import Document

__all__ = ["Document"]

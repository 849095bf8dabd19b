"""The GraphDef codec: graphs as TensorFlow's protobuf messages, and back (white paper, section 2).

`tensor_proto` holds values, `attrs` attributes, `encode` and `decode` graphs. Invariant: what comes from a file is
checked before anything is built or allocated for it, and a refused file leaves no trace.
"""

"""The GraphDef codec: graphs as TensorFlow's protobuf messages, and back (white paper, section 2).

`tensor_proto` converts values, `attrs` attributes, `encode` and `decode` whole graphs. Invariant: the content of a file
is checked before anything is built or allocated for it, and a refused file changes nothing.
"""

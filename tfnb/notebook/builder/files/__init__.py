"""Graphs without source: as Python statements, as an import, and as protobuf's text."""

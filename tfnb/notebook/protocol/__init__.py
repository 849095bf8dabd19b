"""The messages between a kernel (or Jupyter's server) and the browser, a module for each view.

They are declared here once, as typed dictionaries. `python scripts/browser_protocol.py` writes the same declarations in
TypeScript to labextension/src/protocol; a test fails when that is out of date. Invariant: these modules import nothing
of tfnb, and contain only `TypedDict` classes, aliases of types, and constants in capitals that both sides need.
"""

"""Bytes between processes: message format, connections, the poller that reads them, errors as messages.

This is the lowest folder of `session/dask`. It handles sockets and arrays, and does not depend on steps or masters.
Read `wire`, `stream` and `channel` in this order.
"""

"""Bytes between processes: message format, connections, the poller that reads them, errors as messages.

This is the lowest folder of `session/dask`: it knows sockets and arrays, but neither steps nor masters. Read `wire`,
`stream` and `channel` in this order.
"""

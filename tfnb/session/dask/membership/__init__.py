"""The members of a cluster: control requests to a task, the tasks that a master watches, and their health.

All these messages use Dask's comm. Tensors have connections of their own.
"""

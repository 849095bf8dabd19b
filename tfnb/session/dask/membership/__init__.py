"""The members of a cluster: the control requests that a task answers, the tasks that a master watches, their health.

All these messages use Dask's comm. Tensors have connections of their own.
"""

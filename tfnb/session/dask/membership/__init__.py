"""Who is in the cluster: the control requests that a task answers, the tasks that a master watches, and their health.

Everything here goes over Dask's comm. Tensors never do.
"""

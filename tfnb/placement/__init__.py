"""Placement: which device runs a node (white paper, sections 3.2.1 and 4.3).

A step on several devices runs as one plan for each device. Nodes that must share a device form groups (`groups.py`),
and a policy chooses among the devices that are possible for each group (`GraphOptions.placement`). Clusters are
determined on the whole step before it is partitioned, because clusters of one device must not wait for each other
through another. `partition.py` then puts a Send and a Recv where an edge crosses, and a partitioned loop gets a control
loop on each device (`loops.py`), whose tags are part of the keys of the rendezvous. One loop in the calling thread runs
all plans (`runtime/step.py`). A step on one device is not partitioned.
"""

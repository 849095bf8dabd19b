"""Objects that several threads or workers share and wait for: queues, accumulators, locks, barriers."""

FAMILIES = (
    "accumulators",
    "barriers",
    "queues",
)

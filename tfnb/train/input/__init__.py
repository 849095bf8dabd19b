"""Input through queues: producers, batches, buckets, and the threads that fill the queues."""

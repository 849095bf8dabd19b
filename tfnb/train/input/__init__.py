"""Input through queues: producers, batches, buckets, and the threads that fill them."""

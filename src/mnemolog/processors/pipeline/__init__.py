"""The processors on servers: what each worker does with a partition, and the shells that run it."""

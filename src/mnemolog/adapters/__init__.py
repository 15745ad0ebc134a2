"""The outside world: logs, vector stores, embedders, model clients."""

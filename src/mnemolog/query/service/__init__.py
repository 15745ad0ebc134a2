"""The query service: a Memory over HTTP, for agents in any language, with keys, limits, metrics and traces."""

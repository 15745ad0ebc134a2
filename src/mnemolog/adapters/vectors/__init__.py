"""Vector stores: nearest neighbours inside a scope."""

"""Event logs: in memory and in SQLite."""

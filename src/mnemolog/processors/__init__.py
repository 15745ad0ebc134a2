"""Stream processors: `core` decides and does no I/O; the rest are its shells."""

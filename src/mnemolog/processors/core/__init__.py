"""The pure core: extract, decide, evolve, summarise. No clock, no randomness, no I/O, no set iteration."""

"""Read models: forms, timeline, edges, pending, summaries, vectors; and what keeps them current."""

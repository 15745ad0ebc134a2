"""Model clients: extractors that ask a language model."""

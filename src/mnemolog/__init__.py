"""mnemolog: long-term memory for AI agents, engineered as an event log."""

__version__ = "0.1.0"

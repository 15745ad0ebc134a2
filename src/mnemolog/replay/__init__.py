"""The operator's tools: rebuild and verify."""

"""Recall: routes, ranking and context assembly."""

"""How turns get in: importers and publishers."""

"""Models: the registry of entries, their files, and the families that run them."""

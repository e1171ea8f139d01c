"""Collections by name: where their files are, how each is read, what can be fetched."""

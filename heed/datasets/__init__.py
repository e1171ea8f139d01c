"""Collections: where each lies, how it is read, what can be fetched."""

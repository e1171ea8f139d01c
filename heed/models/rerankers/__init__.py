"""Models that score pairs or lists of documents."""

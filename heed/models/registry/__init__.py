"""Which models are known: entries, their fields and the table of families."""

"""How an instruction is read: what it asks for and what it excludes, by a small tagger with its weights."""

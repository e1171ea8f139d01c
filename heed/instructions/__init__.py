"""How an instruction is read, from its text alone: what it asks for and what it excludes, by cues of its language."""

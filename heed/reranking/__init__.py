"""Second-stage systems: polarity, decompose, and models of every family."""

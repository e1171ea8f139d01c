"""Tables: parsed, serialised, cut between rows."""

"""What a run must be to be accepted, and what can be mended."""

"""Validation of runs: checks, corrected copies, and packages for submission."""

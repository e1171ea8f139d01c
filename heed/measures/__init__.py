"""Formulas: pure functions of runs and qrels."""

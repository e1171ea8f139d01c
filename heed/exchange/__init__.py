"""Pools to other tools, and their judgements back."""

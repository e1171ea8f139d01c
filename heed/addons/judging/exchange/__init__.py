"""Exports of pools to annotation tools, and judgements from their results."""

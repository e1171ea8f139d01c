"""Timings beside peers: ``python -m benchmarks`` runs every row and prints ratios."""

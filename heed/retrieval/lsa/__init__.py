"""Latent semantic analysis of character n-grams."""

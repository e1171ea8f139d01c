"""Figures drawn: text, plots, one page."""

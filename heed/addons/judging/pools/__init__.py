"""Pools for judging: fusion, orders, budgets, samples, statistics."""

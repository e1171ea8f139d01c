"""What is judged: fusion, orders, budgets, samples, statistics."""

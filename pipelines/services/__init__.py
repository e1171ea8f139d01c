"""Models behind an API: requests, their cost, their cache."""

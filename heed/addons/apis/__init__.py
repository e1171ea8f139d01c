"""Models at a service, by HTTP."""

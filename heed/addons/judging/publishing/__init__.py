"""A judged collection as a folder that a stranger can use."""

"""Dense search: document vectors on disk, exact and approximate indexes, vectors made elsewhere."""

"""What a model reads: templates filled, documents cut, batches."""

"""The texts that a model reads: templates filled, documents cut, batches."""

"""Where the files of a model come from, what they are, and pickled ones as safetensors."""

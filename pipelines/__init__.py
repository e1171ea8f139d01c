"""The commands, one file each: ``python -m pipelines`` lists them."""

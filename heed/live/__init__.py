"""Systems kept loaded over the documents of a results folder, to ask them changed queries and instructions."""

"""Models as data: what they are, how they are asked, where their files come from."""

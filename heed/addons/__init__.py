"""What stands on the core: each package brings one capability, and the core runs without it."""

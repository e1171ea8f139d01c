"""Heed's systems in other toolkits, and theirs in Heed; the toolkits are optional packages."""

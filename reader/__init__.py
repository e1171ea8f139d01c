"""How the weights of Heed's reader of instructions are made: ``make reader``."""

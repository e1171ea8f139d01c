"""The options of the commands, in groups: an option has the same name, meaning and default wherever it is taken."""

"""In place of a package that only a bill of materials needs, whose grammar takes seconds to load.

Each of a Ray cluster's ten processes would load it with jsonschema, which does without it.
"""

raise ImportError("left out where processes are tested")

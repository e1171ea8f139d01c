"""Where models run: in this process, in several of this machine, or on a Ray cluster; the results are the same."""

ENGINES = ("local", "ray")

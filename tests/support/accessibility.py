"""axe-core in a page of a browser, and the rules that are looked at in each theme of a wide and of a narrow window."""

from importlib.util import find_spec
from pathlib import Path

WIDE = {"light": "{}", "dark": "{ runOnly: ['color-contrast'] }"}
NARROW = {"light": "{ rules: { 'color-contrast': { enabled: false } } }"}
AXE = """axe.run({ resultTypes: ['violations'], ...%s }).then(({ violations }) => violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes[0].target} ${nodes[0].failureSummary}`))"""


def axe_core() -> str:
    """The script axe-core, from the package that brings it; empty without the package."""
    found = find_spec("axe_playwright_python")
    return Path(str(found.origin)).with_name("axe.min.js").read_text() if found else ""

"""The Pythons and systems that locks are for, what wheels they take, and how requirements name them."""

import re
from itertools import product
from typing import Any, NamedTuple

from packaging.utils import parse_wheel_filename

PYTHONS = {"3.11": 'python_version < "3.12"', "3.12": 'python_version >= "3.12"'}
SYSTEMS = {
    ("linux", "x86_64"): 'sys_platform == "linux" and platform_machine == "x86_64"',
    ("linux", "aarch64"): 'sys_platform == "linux" and platform_machine == "aarch64"',
    ("darwin", "arm64"): 'sys_platform == "darwin"',
}
LINUX = 'sys_platform == "linux"'


class Machine(NamedTuple):
    """A Python and a system that a lock is for."""

    python: str
    system: tuple[str, str]

    def markers(self) -> dict[str, str]:
        """What requirements ask of it."""
        name, machine = self.system
        return {
            **{
                "python_version": self.python,
                "python_full_version": f"{self.python}.99",
                "implementation_name": "cpython",
            },
            **{"sys_platform": name, "platform_system": name.capitalize(), "platform_machine": machine},
            **{"platform_python_implementation": "CPython", "os_name": "posix"},
        }

    def takes(self, filename: str) -> bool:
        """Whether a wheel can be installed."""
        return any(self._takes(tag) for tag in parse_wheel_filename(filename)[3])

    def _takes(self, tag: Any) -> bool:
        """PEP 425: the own interpreter, any Python 3 up to it, or the stable interface of one up to it."""
        own = int(self.python.partition(".")[2])
        kind, _, minor = tag.interpreter.partition("3")
        upto = (int(minor) if minor else 0) <= own
        exact = tag.interpreter == f"cp3{own}" and tag.abi in ("none", "abi3", f"cp3{own}")
        if not exact and not (kind == "py" and tag.abi == "none" and upto) and not (tag.abi == "abi3" and upto):
            return False
        name, machine = self.system
        if name == "linux":
            return tag.platform == "any" or bool(re.fullmatch(rf"(many)?linux.*_{machine}", tag.platform))
        return tag.platform == "any" or bool(re.fullmatch(rf"macosx_.*_({machine}|universal2)", tag.platform))


MACHINES = [Machine(*one) for one in product(PYTHONS, SYSTEMS)]


def marker(machines: list[Machine]) -> str:
    """On which machines a pin counts; empty for all."""
    pythons, systems = {one.python for one in machines}, {one.system for one in machines}
    if len(machines) != len(pythons) * len(systems):
        return " or ".join(f"({PYTHONS[one.python]} and {SYSTEMS[one.system]})" for one in machines)
    parts = [PYTHONS[one] for one in pythons] if len(pythons) < len(PYTHONS) else []
    if len(systems) < len(SYSTEMS):
        linux = [one for one in systems if one[0] == "linux"]
        parts.append(LINUX if len(linux) == len(systems) == 2 else " or ".join(SYSTEMS[one] for one in sorted(systems)))
    return " and ".join(parts)

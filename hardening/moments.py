"""Run a module that is killed between two writes: ``python -m hardening.moments NUMBER MODULE ARGUMENTS``.

NUMBER is the write below ``runs/`` before which it is killed, from 1; with 0 it comes to its end, and the number of
writes goes to the file ``moments`` in its folder. A write is a file that is renamed, removed or put on disk.
"""

import os
import runpy
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

COUNT = "moments"


def main() -> None:
    """Count the writes of the module, and be killed before the one that is asked for."""
    wanted, seen = int(sys.argv[1]), [0]
    for name in ("replace", "rename", "unlink", "fsync"):
        setattr(os, name, _counting(getattr(os, name), wanted, seen))
    sys.argv = sys.argv[2:]
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    finally:
        Path(COUNT).write_text(str(seen[0]))


def _counting(write: Callable[..., Any], wanted: int, seen: list[int]) -> Callable[..., Any]:
    def counted(target: Any, *arguments: Any, **options: Any) -> Any:
        path = Path(f"/proc/self/fd/{target}").resolve() if isinstance(target, int) else Path(target).resolve()
        if path.is_relative_to(Path("runs").resolve()):
            seen[0] += 1
            if seen[0] == wanted:
                os.kill(os.getpid(), signal.SIGKILL)
        return write(target, *arguments, **options)

    return counted


if __name__ == "__main__":
    main()

"""Full and read-only disks, made of tmpfs; they need root and are left out, and told, without."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hardening.jobs import Job, results, run

ENOUGH = "512m"
SCARCE = ("64k", "512k", "1536k")


def disks(job: Job, given: Path, expected: dict[str, str], place: Path) -> Iterator[tuple[str, list[str]]]:
    """``(what was done, what was wrong)`` for each kind of disk."""
    if os.geteuid() != 0:
        yield "full and read-only disks: left out, they need root", []
        return
    for free in SCARCE:
        yield f"with {free} free", _full(job, given, expected, place / "disk", free)
    yield "read-only", _read_only(job, given, place / "disk")


@contextmanager
def _disk(folder: Path, given: Path) -> Iterator[Path]:
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ENOUGH}", "tmpfs", str(folder)], check=True)
    try:
        yield shutil.copytree(given, folder, symlinks=True, dirs_exist_ok=True)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _remount(folder: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(folder)], check=True)


def _used(folder: Path) -> int:
    told = os.statvfs(folder)
    return (told.f_blocks - told.f_bfree) * told.f_frsize


def _full(job: Job, given: Path, expected: dict[str, str], folder: Path, free: str) -> list[str]:
    with _disk(folder, given):
        kib = _used(folder) // 1024 + int(free.removesuffix("k"))
        _remount(folder, f"size={kib}k")
        full = run(job, folder)
        problems = []
        if full.returncode == 0:
            if results(folder) != expected:
                problems.append("ended well on a full disk, with other results")
        elif full.returncode != 1 or "Traceback" in full.stderr or "error:" not in full.stderr:
            problems.append(f"on a full disk: status {full.returncode}, {full.stderr[-300:]}")
        _remount(folder, f"size={ENOUGH}")
        again = run(job, folder)
        if again.returncode or results(folder) != expected:
            problems.append(f"after a full disk: status {again.returncode}, {again.stderr[-300:]}")
    return problems


def _read_only(job: Job, given: Path, folder: Path) -> list[str]:
    with _disk(folder, given):
        _remount(folder, "ro")
        done = run(job, folder)
        if done.returncode != 1 or "Traceback" in done.stderr or "Read-only file system" not in done.stderr:
            return [f"on a read-only disk: status {done.returncode}, {done.stderr[-300:]}"]
    return []

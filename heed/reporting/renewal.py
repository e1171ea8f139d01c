"""The page beside the runs, which is written again only where something that it shows has changed."""

import hashlib
from importlib.resources import files
from pathlib import Path

from heed import __version__
from heed.io.artifacts import Recipe, rebuild_reason
from heed.io.files import digest, write_json
from heed.reporting.folders import read_tree
from heed.reporting.page import write_page

PAGE = "report.html"
SHOWN = ("summary.json", "per_topic.json", "manifest.yml", "topics.json")
CODE = (".py", ".js", ".css", ".jinja", ".json")  # what makes a page, beside the results


def renew_page(folder: Path) -> None:
    """Write ``report.html`` of the results in ``folder``, unless it was made of these very results, by this code."""
    path, note = folder / PAGE, folder / ".made" / f"{PAGE}.json"
    recipe = _recipe(folder)
    if rebuild_reason(note, recipe, lambda noted: path.exists() and digest(path) == noted["sha256"]):
        note.unlink(missing_ok=True)
        write_page(read_tree(folder), folder, path)
        write_json(note, {"recipe": recipe, "sha256": digest(path)})


def _recipe(folder: Path) -> Recipe:
    shown = [path for path in folder.iterdir() if path.name in SHOWN or path.suffix == ".run"]
    results = {path.name: digest(path) for path in sorted(shown)}
    return {"heed": __version__, "code": _code(Path(str(files("heed")))), "folder": folder.name, "results": results}


def _code(package: Path) -> str:
    """Return the digest of the code and data of ``package``."""
    total = hashlib.sha256()
    for path in sorted(path for path in package.rglob("*") if path.suffix in CODE):
        total.update(path.read_bytes())
    return total.hexdigest()

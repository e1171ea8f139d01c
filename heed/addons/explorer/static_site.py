"""Many results folders as one static site: a first page with the leaderboard, and the report of each folder."""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from heed.addons.explorer.leaderboard import FIRST, leaderboard, page_names
from heed.errors import DataError
from heed.files import digest, finished_folder, locked, write_bytes
from heed.measures.summary import ABSENT
from heed.progress import bar, brief, log
from heed.report.answer import SCALES
from heed.report.html import compose, template
from heed.report.page import PAGE, VEGA, look, page, vega_file
from heed.report.results import Results
from heed.reuse import Note, read_note, write_note
from heed.types import PAPERS

NOTE = Path(".made") / "site.json"  # the files that the site has, so that others are neither replaced nor removed
STYLES = ("shared/colours.css", "report.css", "site.css")


def write_site(folders: Sequence[Results], site: Path, title: str) -> None:
    """Write the site of ``folders`` to the folder ``site``: ``index.html``, written last, a page for each, ``vega.js``.

    Pages are put in place when all are made: a process that is killed before leaves the earlier site as it was, one
    that is killed in between leaves no first page. What another program wrote stays; :class:`DataError` where it has
    the name of a page.
    """
    names = page_names(folders)
    with locked(site):
        note = read_note(site / NOTE)
        earlier = dict(note.files) if note else {}
        foreign = [name for name in (FIRST, VEGA, *names) if name not in earlier and (site / name).exists()]
        if foreign:
            raise DataError(f"{site}: {brief(foreign)} is not of an earlier site; choose another folder, or move it")
        staged = site / NOTE.parent / "pages"
        with finished_folder(staged) as part:
            for results, name in bar(list(zip(folders, names, strict=True)), len(names), "pages", "pages"):
                text = page([results._replace(folder=".")], results.path, site=title)
                write_bytes(part / name, text.encode())
            write_bytes(part / VEGA, vega_file().encode())
            write_bytes(part / FIRST, first_page(folders, names, title).encode())
        _put_in_place(site, staged, [VEGA, *names, FIRST], earlier)


def _put_in_place(site: Path, staged: Path, names: Sequence[str], earlier: dict[str, str]) -> None:
    """Move the pages ``names`` from ``staged``, the last one last; remove the other ``earlier`` ones, if unchanged."""
    files = {name: digest(staged / name) for name in names}
    write_note(site / NOTE, Note({}, earlier | files, finished=False))
    (site / FIRST).unlink(missing_ok=True)
    for name in names[:-1]:
        (staged / name).replace(site / name)
    for name in earlier.keys() - files.keys():
        path = site / Path(name).name
        if path.is_file() and digest(path) == earlier[name]:
            path.unlink()
            log.info(f"{path}: removed, its folder is not among those of the site")
    (staged / names[-1]).replace(site / names[-1])
    staged.rmdir()
    write_note(site / NOTE, Note({}, files))


def first_page(folders: Sequence[Results], names: Sequence[str], title: str) -> str:
    """Return the page with the tables of all ``folders``, whose pages have ``names``."""
    tables = leaderboard(folders, names)
    columns = [measure for table in tables for _, measure in table.columns]
    html = template("site.html.jinja").render(
        title=title,
        tables=tables,
        systems=list(dict.fromkeys(line.system for table in tables for line in table.lines if line.link)),
        scales={measure: text for measure, text in SCALES.items() if measure in columns},
        papers=PAPERS,
        absent=ABSENT,
    )
    part = look(STYLES, PAGE / "sorting.js")._replace(html=Markup(html))  # noqa: S704 - made by a template that escapes
    return compose(title, [part])

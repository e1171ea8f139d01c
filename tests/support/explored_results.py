"""Results folders for the explorer: systems made of judgements, so that no search engine is started."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

from conftest import write_jsonl

from heed import Collection, Document, Documents, Experiment, Judging, Pair, Topic, language, load
from heed.tables.documents import Tables

CALL = "window.ran=1"
PAYLOADS = (  # each runs if it is taken for markup, script, address or style
    f"<script>{CALL}</script>",
    f"<img/src=x/onerror={CALL}>",
    f"<svg/onload={CALL}>",
    f'"><script>{CALL}</script>',
    f"'><img/src=x/onerror={CALL}>",
    f"</script><script>{CALL}</script>",
    f"</style><script>{CALL}</script>",
    f"</textarea><svg/onload={CALL}>",
    f"</title><svg/onload={CALL}>",
    f"--><script>{CALL}</script>",
    f"]]><script>{CALL}</script>",
    "<iframe/srcdoc='<script>parent.ran=1</script>'>",
    f"<body/onload={CALL}>",
    f"<details/open/ontoggle={CALL}>",
    f"<math><mtext></mtext><img/src=x/onerror={CALL}></math>",
    f"<a/href=javascript:{CALL}>x</a>",
    f"javascript:{CALL}",
    f"{{{{constructor.constructor('{CALL}')()}}}}",
    f"${{{CALL}}}",
    f"&lt;script&gt;{CALL}&lt;/script&gt;<!--<img/src=x/onerror={CALL}>-->",
)


def by_grade(grades: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, float]]:
    """Return the run that lists the judged documents by their grades."""
    return {
        qid: {docid: grade + 1 / (2 + place) for place, (docid, grade) in enumerate(sorted(of_topic.items()))}
        for qid, of_topic in grades.items()
    }


def evaluated(collection: Collection, root: Path) -> Path:
    """Return the results of two systems: ``stays`` ranks as under the first condition, ``obeys`` as it is judged."""
    experiment = Experiment(collection, out=root / "runs", indexes=root / "indexes")
    judging = collection.judging
    pair = judging.pairs[0]
    base = by_grade(judging.of(pair.base))
    of = {topic.qid: topic.base or topic.qid for topic in collection.topics}
    stays = {topic.qid: base[of[topic.qid]] for topic in collection.topics if topic.has(pair.new)}
    systems = [
        experiment.add("stays", {pair.base: base, pair.new: stays}),
        experiment.add("obeys", {pair.base: base, pair.new: by_grade(judging.of(pair.new))}),
    ]
    experiment.evaluate(systems)
    return experiment.folder


def own_copy(runs: Path, root: Path) -> Path:
    """Return a copy of results that ``sample_runs`` made, with indexes that no other worker of pytest opens."""
    made = runs.parents[2]
    return Path(shutil.copytree(made, root / made.name)) / runs.relative_to(made)


def sample(root: Path, lang: str) -> Path:
    return evaluated(load("neuclir-sample", lang=lang), root)


def tables(root: Path) -> Path:
    return evaluated(load("tables-sample"), root)


def untitled(root: Path) -> Path:
    """Return results of three documents without a title; d1 should fall, d3 should rise, d2 is the same under both."""
    documents = [
        Document(f"d{number}", "", f"Ship {number} | sails\non a lake. {'Water. ' * 20}") for number in (1, 2, 3)
    ]
    topics = [Topic("1", "eng", "ships", {"original": "Find ships.", "changed": "Find ships. Leave out ferries."})]
    grades = {"original": {"1": {"d1": 2, "d2": 1, "d3": 0}}, "changed": {"1": {"d1": 0, "d2": 1, "d3": 1}}}
    judging = Judging(grades, ("nDCG@5",), (Pair("original", "changed", ("p-MRR",)),))
    return evaluated(Collection("untitled", "eng", language("eng"), Documents(documents), topics, judging), root)


def half_judged(root: Path) -> Path:
    """Return results of documents of which d1 alone is judged under both: d2 has -1 then, d3 no line, d4 -1 before."""
    documents = [Document(f"d{number}", f"Ship {number}", "Water") for number in (1, 2, 3, 4)]
    topics = [Topic("1", "eng", "ships", {"original": "Find ships.", "changed": "Find ships. Leave out ferries."})]
    grades = {"original": {"1": {"d1": 2, "d2": 1, "d3": 1, "d4": -1}}, "changed": {"1": {"d1": 0, "d2": -1, "d4": 1}}}
    judging = Judging(grades, ("nDCG@5",), (Pair("original", "changed", ("p-MRR",)),))
    return evaluated(Collection("half-judged", "eng", language("eng"), Documents(documents), topics, judging), root)


def hostile(root: Path) -> Path:
    """Return results whose every text is an attack: topic, narratives, ids, titles, cells, system, collection."""
    everything = " ".join(PAYLOADS)
    cells = "".join(f"<td>{one}</td>" for one in PAYLOADS)
    texts = [f"<table><caption>{everything}</caption><tr>{cells}</tr><tr>{cells}</tr></table>"]
    texts += [f"# {one}\n\n| {one} | b |\n| --- | --- |\n| {one} | {one} |" for one in PAYLOADS[1:]]
    docids = [f"d{number}{one}" for number, one in enumerate(PAYLOADS)]
    records = [{"id": docid, "title": docid, "text": text} for docid, text in zip(docids, texts, strict=True)]
    write_jsonl(root / "tables.jsonl", records)
    qid = f"q{PAYLOADS[1]}"
    instructions = {"original": everything, "changed": f"Leave out {everything}"}
    grades = {"original": {qid: dict.fromkeys(docids, 1)}, "changed": {qid: dict.fromkeys(docids, 0) | {docids[0]: 1}}}
    collection = Collection(
        "bad",
        "eng",
        language("eng"),
        Tables([root / "tables.jsonl"], "raw"),
        [Topic(qid, "eng", everything, instructions, PAYLOADS[2])],
        Judging(grades, ("nDCG@5",), (Pair("original", "changed", ("p-MRR",)),)),
    )
    folder = evaluated(collection, root)
    system = PAYLOADS[3].replace("/", "")  # Heed refuses such a name; a file made elsewhere may have it
    for run in folder.glob("obeys.*.run"):
        run.rename(folder / run.name.replace("obeys", system))
    for name in ("summary.json", "per_topic.json"):
        text = (folder / name).read_text().replace('"obeys"', json.dumps(system))
        (folder / name).write_text(text)
    return folder

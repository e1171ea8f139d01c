"""What is one per process, and why; everything else belongs to an experiment.

- Java: a process can start one Java virtual machine, once. Its largest heap is therefore that of the first experiment
  that opens a Lucene index (:func:`heed.retrieval.lucene.jvm.start`), and one thread at a time talks to it
  (:func:`heed.retrieval.lucene.jvm.java_errors`): pyjnius mixes up objects of one class that two threads call.
- The handlers of faults, which Java and Ray both set (:func:`faults_left_to_java`).
- The handlers of SIGINT and SIGTERM, which the commands set and the library does not (``pipelines/stopping.py``).
- Settings of libraries that are read when they are imported: vLLM's and Ray's environment variables.
- The number of torch's threads, in worker processes alone (:meth:`heed.workers.tasks.WorkerState.build`).
- Caches of what cannot differ: the shipped registry, digests of files that were not touched since.
"""

import ctypes
import signal
from collections.abc import Iterator
from contextlib import contextmanager

FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)  # those that Java handles
ACTION = 256  # bytes, more than any system's struct sigaction has


@contextmanager
def faults_left_to_java() -> Iterator[None]:
    """Restore the handlers of faults after the block, whatever it sets.

    Java needs SIGSEGV: by it its compiled code finds nulls and pauses. Ray sets handlers of its own when it starts,
    removes all when it ends, and enables ``faulthandler``; Java's next null then ends the process.
    """
    libc = ctypes.CDLL(None)
    kept = {number: ctypes.create_string_buffer(ACTION) for number in FAULTS}
    for number, action in kept.items():
        libc.sigaction(int(number), None, action)
    try:
        yield
    finally:
        for number, action in kept.items():
            libc.sigaction(int(number), action, None)

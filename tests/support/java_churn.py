"""Work for compiled Java code, which meets its own SIGSEGV at every pause for garbage."""

import threading
import time

from heed.retrieval.lucene.jvm import java


def churn() -> None:
    """Sort in two threads while garbage is collected; the process ends where nobody handles Java's SIGSEGV."""
    threads = [threading.Thread(target=_sort) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        java("java.lang.System").gc()
        time.sleep(0.05)
    for thread in threads:
        thread.join()


def _sort() -> None:
    lists, collections, chance = java("java.util.ArrayList"), java("java.util.Collections"), java("java.util.Random")
    for seed in range(60):
        made = lists(collections.nCopies(200_000, "x"))
        collections.sort(made)
        collections.shuffle(made, chance(seed))

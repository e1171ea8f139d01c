"""What an experiment returns: the runs of a system, and the measures of all."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from heed.experiment.runs import Run
from heed.measures.summary import Detail, Row, printed, rows_of, summary_of, table
from heed.types import Config

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class SystemRuns(Mapping[str, Run]):
    """The runs of one system by condition; ``config`` is what a manifest says of it, None for runs made elsewhere."""

    name: str
    config: Config | None
    runs: Mapping[str, Run]

    def __getitem__(self, condition: str) -> Run:
        """Return the run of a condition."""
        return self.runs[condition]

    def __iter__(self) -> Iterator[str]:
        """Yield the conditions."""
        return iter(self.runs)

    def __repr__(self) -> str:
        """Return name and conditions: the runs themselves would fill a notebook."""
        return f"SystemRuns({self.name!r}: {', '.join(self.runs)})"

    def __len__(self) -> int:
        """Return the number of conditions."""
        return len(self.runs)


@dataclass(frozen=True, repr=False)
class Results:
    """The measures of systems over one collection; values on the measure's own scale (−1 to 1, or 0 to 1).

    ``warnings`` say in one line each what makes them doubtful; ``lower_is_better`` is of the user's own measures.
    """

    collection: str
    subset: str
    details: Sequence[Detail]
    warnings: Sequence[str] = ()
    lower_is_better: Mapping[str, bool] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return the measures as text."""
        return self.table()

    @property
    def rows(self) -> list[Row]:
        """The rows of ``summary.json``: system, condition, measure, value, and ``n``, the topics of the mean."""
        return rows_of(self.details)

    def summary(self) -> dict[str, Any]:
        """Return the content of ``summary.json``."""
        return summary_of(self.collection, self.subset, self.rows, self.warnings, self.lower_is_better)

    def value(self, system: str, condition: str, measure: str) -> float:
        """Return one figure; KeyError if there is none."""
        key = (system, condition, measure)
        for row in self.rows:
            if (row["system"], row["condition"], row["measure"]) == key:
                return row["value"]
        raise KeyError(key)

    def per_topic(self, system: str, condition: str, measure: str) -> dict[str, float]:
        """Return the value of each topic by qid; KeyError if there is none."""
        key = (system, condition, measure)
        for detail in self.details:
            if (detail["system"], detail["condition"], detail["measure"]) == key:
                return dict(detail["per_topic"])
        raise KeyError(key)

    def table(self, title: str = "", also: Sequence[str] = ()) -> str:
        """Return the measures as text, values ×100; "p-MRR kept" and "p-MRR in one only" where ``also`` names them."""
        return table(printed(self.rows, also), title or f"{self.collection} {self.subset}, values ×100")

    def to_pandas(self) -> "pd.DataFrame":
        """Return a frame with the columns of ``summary.json``'s rows: system, condition, measure, value, n."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=["system", "condition", "measure", "value", "n"])

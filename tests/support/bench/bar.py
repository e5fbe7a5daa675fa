"""A bar: one figure that the project promises to keep, measured against another in the same run."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One measured figure and what is demanded of it."""

    #: The number of the bar in the simulation notes, such as "S2".
    id: str
    title: str
    measured: float
    demand: float
    better: Literal["higher", "lower"]
    #: What the figure counts; "x" for a plain ratio.
    unit: str
    #: How it came about: the figures behind the ratio.
    note: str
    #: what we want, where that is more than what is demanded
    want: float | None = None

    @property
    def ok(self) -> bool:
        """Tell whether the measured figure meets the demand; exactly at it does."""
        return self._meets(self.demand)

    def _meets(self, figure: float) -> bool:
        return self.measured >= figure if self.better == "higher" else self.measured <= figure

    def __str__(self) -> str:
        sign = ">=" if self.better == "higher" else "<="
        verdict = "ok  " if self.ok else "FAIL"
        wanted = ""
        if self.want is not None:
            wanted = f", want {sign} {self.want:g}{': met' if self._meets(self.want) else ''}"
        figures = f"{self.measured:.3g} {self.unit} (demand {sign} {self.demand:g}{wanted})"
        return f"{verdict} {self.id:<4} {self.title}: {figures}; {self.note}"

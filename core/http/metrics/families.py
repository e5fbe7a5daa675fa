"""Counters, gauges and histograms, and the text format of Prometheus (version 0.0.4)."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

#: media type of the text
TEXT_FORMAT = "text/plain; version=0.0.4; charset=utf-8"
#: maximum label sets per family; more are counted under `OTHER`. Labels never contain untrusted text.
_MOST = 500
#: the value of each label beyond that
OTHER = "other"

Labels = tuple[str, ...]


class Counter:
    """A counter for each set of labels. Safe to use from any thread."""

    kind = "counter"

    def __init__(self, name: str, help_text: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.help_text = help_text
        self.labels = tuple(labels)
        self._lock = threading.Lock()
        self._values: dict[Labels, float] = {} if labels else {(): 0.0}

    def add(self, *labels: str, by: float = 1.0) -> None:
        """Count."""
        with self._lock:
            known = labels if labels in self._values or len(self._values) < _MOST else (OTHER,) * len(labels)
            self._values[known] = self._values.get(known, 0.0) + by

    def lines(self) -> Iterator[str]:
        """The samples as text."""
        with self._lock:
            values = sorted(self._values.items())
        for labels, value in values:
            yield sample(self.name, self.labels, labels, value)


class Gauge:
    """A gauge that is read when metrics are scraped."""

    kind = "gauge"

    def __init__(self, name: str, help_text: str, read: Callable[[], float]) -> None:
        self.name = name
        self.help_text = help_text
        self._read = read

    def lines(self) -> Iterator[str]:
        """The sample as text."""
        yield sample(self.name, (), (), self._read())


class CounterView:
    """A counter whose values another object keeps; it is read when metrics are scraped."""

    kind: ClassVar[str] = "counter"

    def __init__(self, name: str, help_text: str, labels: Sequence[str]) -> None:
        self.name = name
        self.help_text = help_text
        self.labels = tuple(labels)
        #: set by the object that keeps the values
        self.read: Callable[[], Mapping[Labels, float]] = dict

    def lines(self) -> Iterator[str]:
        """The samples as text."""
        for labels, value in sorted(self.read().items()):
            yield sample(self.name, self.labels, labels, value)


class GaugeView(CounterView):
    """A gauge for each set of labels, whose values another object keeps."""

    kind = "gauge"


class Histogram:
    """A histogram for each set of labels: counts of values by upper bounds. Safe to use from any thread."""

    kind = "histogram"

    def __init__(self, name: str, help_text: str, bounds: Sequence[float], labels: Sequence[str] = ()) -> None:
        self.name = name
        self.help_text = help_text
        self.labels = tuple(labels)
        self._bounds = tuple(bounds)
        self._lock = threading.Lock()
        #: the counts of each bound and of what is above all, and the sum of the values
        self._values: dict[Labels, tuple[list[int], float]] = {}

    def observe(self, value: float, *labels: str) -> None:
        """Count a value."""
        with self._lock:
            known = labels if labels in self._values or len(self._values) < _MOST else (OTHER,) * len(labels)
            counts, total = self._values.get(known) or ([0] * (len(self._bounds) + 1), 0.0)
            counts[bisect_left(self._bounds, value)] += 1
            self._values[known] = (counts, total + value)

    def lines(self) -> Iterator[str]:
        """The samples as text."""
        with self._lock:
            values = sorted((labels, (list(counts), total)) for labels, (counts, total) in self._values.items())
        for labels, (counts, total) in values:
            below = 0
            for bound, count in zip((*self._bounds, float("inf")), counts, strict=True):
                below += count
                yield sample(f"{self.name}_bucket", (*self.labels, "le"), (*labels, number(bound)), below)
            yield sample(f"{self.name}_sum", self.labels, labels, total)
            yield sample(f"{self.name}_count", self.labels, labels, below)


Family = Counter | CounterView | Gauge | Histogram


def render(families: Sequence[Family]) -> str:
    """All families as text."""
    lines: list[str] = []
    for family in families:
        lines.append(f"# HELP {family.name} {_escaped(family.help_text)}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        lines.extend(family.lines())
    return "\n".join([*lines, ""])


def sample(name: str, names: Sequence[str], values: Sequence[str], value: float) -> str:
    """A sample as text."""
    labels = ",".join(f'{label}="{_quoted(text)}"' for label, text in zip(names, values, strict=True))
    return f"{name}{{{labels}}} {number(value)}" if labels else f"{name} {number(value)}"


def number(value: float) -> str:
    """A number as the format has it."""
    if value == float("inf"):
        return "+Inf"
    return str(int(value)) if value == int(value) else repr(value)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')

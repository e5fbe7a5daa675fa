"""A reader of the text format of Prometheus that refuses what the format does not allow."""

import math
import re

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)')
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
TYPES = {"counter", "gauge", "histogram", "summary", "untyped"}

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read(text: str) -> tuple[dict[str, str], Samples]:
    """The type of each family, and all samples. Raises `AssertionError` for what is wrong."""
    assert text.endswith("\n"), "the last line has no end"
    kinds: dict[str, str] = {}
    helped: set[str] = set()
    samples: Samples = {}
    current = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split(" ")[2]
            assert NAME.fullmatch(current)
            assert current not in helped, f"{current} has two HELP lines"
            helped.add(current)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current, "HELP and TYPE stand together"
            assert name not in kinds, f"{name} has two TYPE lines"
            assert kind in TYPES
            kinds[name] = kind
        else:
            name, labels, value = sample_of(line)
            family = family_of(name, current, kinds)
            assert family == current, f"{name} stands apart from its family"
            assert (name, labels) not in samples, f"{name} is there twice with the same labels"
            samples[name, labels] = value
    check_histograms(kinds, samples)
    for (name, _), value in samples.items():
        if kinds.get(name) == "counter":
            assert value >= 0
            assert name.endswith("_total"), f"{name} is a counter"
    return kinds, samples


def sample_of(line: str) -> tuple[str, tuple[tuple[str, str], ...], float]:
    found = SAMPLE.fullmatch(line)
    assert found, f"not a sample: {line!r}"
    name, inside, value = found.groups()
    labels: list[tuple[str, str]] = []
    at = 0
    while inside and at < len(inside):
        one = LABEL.match(inside, at)
        assert one, f"not a label: {inside[at:]!r}"
        labels.append((one[1], re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], one[2])))
        at = one.end()
    assert len({label for label, _ in labels}) == len(labels)
    return name, tuple(sorted(labels)), float(value.replace("Inf", "inf"))


def family_of(name: str, current: str, kinds: dict[str, str]) -> str:
    if kinds.get(current) == "histogram" and name in (f"{current}_bucket", f"{current}_sum", f"{current}_count"):
        return current
    return name


def check_histograms(kinds: dict[str, str], samples: Samples) -> None:
    for family in (name for name, kind in kinds.items() if kind == "histogram"):
        buckets: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
        for (name, labels), value in samples.items():
            if name == f"{family}_bucket":
                bound = float(dict(labels)["le"].replace("Inf", "inf"))
                rest = tuple(label for label in labels if label[0] != "le")
                buckets.setdefault(rest, []).append((bound, value))
        for rest, found in buckets.items():
            counts = [count for _, count in sorted(found)]
            assert counts == sorted(counts), "buckets are cumulative"
            assert max(found)[0] == math.inf
            assert samples[f"{family}_count", rest] == counts[-1]
            assert (f"{family}_sum", rest) in samples

"""What the generated parts of the pages share: Markdown tables, sentences of docstrings, source files."""

import inspect
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESERVED = "reserved: nothing records it yet"


def table(heads: tuple[str, ...], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def first_paragraph(doc: str | None) -> str:
    """The first paragraph of a docstring, on one line."""
    paragraph = inspect.cleandoc(doc or "").split("\n\n", 1)[0]
    return " ".join(paragraph.split()).replace("``", "`")


def modules(package: str) -> list[Path]:
    """Every module of a package, sorted."""
    return sorted((ROOT / package).rglob("*.py"))


def codes(values: Iterable[str]) -> str:
    """Values as code, with commas."""
    return ", ".join(f"`{value}`" for value in values)

"""Writes the pages of a report into its folder: an index with the matrix, and a page for each finding."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trunkline.app.attach.cells import CellRecord
from trunkline.app.attach.report.finding import FindingPage, all_findings
from trunkline.app.attach.report.html import finding_html, index_html
from trunkline.app.attach.report.markdown import finding_markdown, index_markdown
from trunkline.app.attach.report.matrix import CellMatrix, matrix_of
from trunkline.app.report.json_junit import write_whole
from trunkline.app.report.redaction import PageRedaction
from trunkline.app.terminal.version import installed_version
from trunkline.app.text.cells import count
from trunkline.core.errors import UsageError


class WrittenReport:
    """The pages of the cells. Raises `UsageError` when they cannot be written."""

    def __init__(self, records: Sequence[CellRecord], folder: Path, redaction: PageRedaction) -> None:
        self._folder = folder
        self.findings: list[FindingPage] = all_findings(records, redaction)
        self.matrix: CellMatrix = matrix_of(records, redaction)
        self._facts = tuple(facts_of(records))

    @property
    def index(self) -> Path:
        """The page to open first."""
        return self._folder / "index.html"

    def write(self) -> None:
        """Write every page, and remove those of findings that are none any more."""
        pages = self._folder / "findings"
        try:
            pages.mkdir(exist_ok=True)
        except OSError as error:
            raise UsageError(f"{pages}: {error.strerror or error}") from error
        written: set[str] = set()
        for page in self.findings:
            for name, text in ((f"{page.slug}.html", finding_html(page)), (f"{page.slug}.md", finding_markdown(page))):
                _write(pages / name, text)
                written.add(name)
        for old in pages.iterdir():
            if old.name not in written and old.suffix in (".html", ".md"):
                old.unlink(missing_ok=True)
        _write(self._folder / "index.md", index_markdown(self.matrix, self._facts, self.findings))
        _write(self.index, index_html(self.matrix, self._facts, self.findings))


def facts_of(records: Sequence[CellRecord]) -> list[str]:
    """The facts at the head of a report."""
    tries = sum(len(record.finished) for record in records)
    names = list(dict.fromkeys(record.cell.gateway.label for record in records))
    cells = sum(bool(record.finished) for record in records)
    return [
        f"Trunkline {installed_version()} · {', '.join(names)} · "
        f"{count(tries, 'try', 'tries')} in {cells} of {count(len(records), 'cell')}"
    ]


def _write(path: Path, text: str) -> None:
    write_whole(path, text.encode("utf-8", errors="replace"))

"""Runs for machines: JSON with every verdict, and JUnit XML for CI. A file is written whole or not at all."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec

from trunkline.app.report.explain import some_fields
from trunkline.app.report.summary import blocks
from trunkline.app.runs.model import DeclaredDefect, Run
from trunkline.app.view.explain.explanation import reproduction
from trunkline.core.errors import UsageError

#: version of the JSON report
REPORT_VERSION = 1


def as_json(
    runs: Sequence[Run],
    left_out: Mapping[str, Sequence[str]] | None = None,
    declared: Sequence[DeclaredDefect] = (),
    page: str = "",
) -> bytes:
    """All runs as one JSON document, version `REPORT_VERSION`. `left_out`: scenario -> why it is not on the wire.

    `declared`: of runs with the defects that their scenarios declare, what each shows. `page`: of a single run.
    """
    document: dict[str, Any] = {
        "trunkline_report": REPORT_VERSION,
        "holds": all(run.holds for run in runs),
        "runs": [_as_builtins(run) for run in runs],
    }
    if declared:
        document["as_declared"] = not any(defect.differs for defect in declared)
        document["runs"] = [
            {**run, "as_declared": not defect.differs, "differs": defect.differs}
            for run, defect in zip(document["runs"], declared, strict=True)
        ]
    if page:
        document["page"] = page
    if left_out:
        document["not_on_the_wire"] = {scenario: list(reasons) for scenario, reasons in left_out.items()}
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def _as_builtins(run: Run) -> dict[str, Any]:
    header = run.trace.header
    return {
        **some_fields(header, "scenario", "title", "path", "seed", "bugs"),
        "holds": run.holds,
        "events": len(run.trace.events),
        "verdicts": run.verdicts,
        "unmet": run.unmet,
        "culprits": run.culprits,
        "not_exercised": run.not_exercised,
        "reproduce": reproduction(header, run.trace.events),
    }


def as_junit(
    runs: Sequence[Run],
    seconds: Sequence[float],
    left_out: Mapping[str, Sequence[str]] | None = None,
    declared: Sequence[DeclaredDefect] = (),
    page: str = "",
) -> bytes:
    """All runs as JUnit XML: a test case per run, with the text report as its failure. `seconds`: CPU time of each.

    `left_out`: scenario -> why it is not on the wire; each is a skipped test case. `declared`: of runs with the defects
    that their scenarios declare, what each shows; such a run fails where it shows anything else.
    `page`: of a single run, which CI servers attach to the test case.
    """
    differs = [defect.differs for defect in declared] if declared else [_failure(run) for run in runs]
    failed = sum(map(bool, differs))
    suite = ElementTree.Element(
        "testsuite", name="trunkline", tests=str(len(runs) + len(left_out or ())), failures=str(failed), errors="0"
    )
    for run, spent, message in zip(runs, seconds, differs, strict=True):
        header = run.trace.header
        name = " ".join([header.scenario, f"seed={header.seed}", *(f"bug={bug}" for bug in header.bugs)])
        case = ElementTree.SubElement(suite, "testcase", classname=header.path, name=name, time=f"{spent:.3f}")
        if message:
            failure = ElementTree.SubElement(case, "failure", message=message)
            failure.text = "\n".join(blocks(run))
        if page:
            # How Jenkins and GitLab find a file.
            ElementTree.SubElement(case, "system-out").text = f"[[ATTACHMENT|{page}]]"
    for scenario, reasons in (left_out or {}).items():
        case = ElementTree.SubElement(suite, "testcase", classname="not on the wire", name=scenario, time="0.000")
        ElementTree.SubElement(case, "skipped", message="; ".join(reasons))
    return ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True) + b"\n"


def _failure(run: Run) -> str:
    if run.holds:
        return ""
    if run.violated:
        return f"violated: {' '.join(run.violated)}"
    return "not exercised" if run.not_exercised == len(run.unmet) else "expectations missed"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all. Raises `UsageError` when it cannot be written."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UsageError(f"{path}: {error.strerror or error}") from error

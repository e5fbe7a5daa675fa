"""Loads the gateway's configuration: from its own file, or from the ``gateway`` section of a scenario.

Errors have line, column and field, like those of scenario files. Of a scenario only that section is validated.
"""

import os
from typing import Any, cast

from pydantic import ValidationError

from trunkline.core.config.base import Model
from trunkline.core.config.files.faults import FileKind, explain_placed_fault
from trunkline.core.config.files.problems import Path, ProblemReport, dotted, shown
from trunkline.core.config.files.yaml_reader import parse, read_text
from trunkline.core.config.gateway import GatewayConfig
from trunkline.core.profile_rules import Profile

_SECTION = "gateway"
#: a file with one of these fields has the configuration in its `gateway` section
_MARKS = (_SECTION, "scenario", "store", "http", "accounts", "record", "log")
_BEGIN = "a configuration has the fields of a scenario's `gateway` section"


class _Whole(Model):
    gateway: GatewayConfig = GatewayConfig()


#: what files with the configuration are to messages
KIND = FileKind(model=_Whole, name="a configuration")


class _BareReport(ProblemReport):
    """Problems of a file that is only the section: field names are relative to it."""

    def add(self, path: Path, message: str, hint: str = "", *, at_key: bool = False) -> None:
        mark = self.positions.mark(path, at_key=at_key)
        self.add_at(mark, dotted(path[1:]), message, hint)


def load_config(path: str | os.PathLike[str], *, profile: Profile | None = None) -> GatewayConfig:
    """Read the configuration from a YAML or JSON file. Raises `FileError` with every problem.

    `profile` overrides the one in the file.
    """
    name = os.fspath(path)
    text = read_text(ProblemReport(name), "a configuration file")
    # JSON may be indented with tabs, YAML may not; JSON strings cannot contain a raw tab.
    return load_config_text(text.replace("\t", " ") if name.endswith(".json") else text, name, profile=profile)


def load_config_text(text: str, path: str = "gateway.yaml", *, profile: Profile | None = None) -> GatewayConfig:
    """`load_config` for a text; errors name `path`. Raises `FileError`."""
    report = ProblemReport(path)
    tree = parse(text, report, begin=_BEGIN)
    if not isinstance(tree, dict):
        report.add((), f"expected a mapping, found {shown(tree)}", _BEGIN)
        raise report.error()
    found = cast("dict[str, Any]", tree)
    if not any(mark in found for mark in _MARKS):
        report, found = _as_section(report, found)
    config = _validated(found.get(_SECTION, {}), found, report, profile)
    if config is None or report.problems:
        raise report.error()
    return config


def _as_section(report: ProblemReport, tree: dict[str, Any]) -> tuple[ProblemReport, dict[str, Any]]:
    """Wrap a file that is only the section into one that has it, with the same lines and columns."""
    bare = _BareReport(report.path)
    bare.problems = report.problems
    bare.positions.values = {(_SECTION, *path): mark for path, mark in report.positions.values.items()}
    bare.positions.keys = {(_SECTION, *path): mark for path, mark in report.positions.keys.items()}
    return bare, {_SECTION: tree}


def _validated(
    given: object, tree: dict[str, Any], report: ProblemReport, profile: Profile | None
) -> GatewayConfig | None:
    if profile is not None and isinstance(given, dict):
        given = {**cast("dict[str, Any]", given), "profile": profile.value}
    try:
        return GatewayConfig.model_validate(given)
    except ValidationError as error:
        for fault in cast("list[dict[str, Any]]", error.errors(include_url=False, include_input=False)):
            explain_placed_fault({**fault, "loc": (_SECTION, *fault["loc"])}, tree, report, KIND)
        return None

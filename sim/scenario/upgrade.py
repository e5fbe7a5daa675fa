"""Makes a scenario file of an earlier version strict, and changes nothing else of it."""

from trunkline.core.config.files.problems import Mark
from trunkline.core.config.files.yaml_reader import parse
from trunkline.sim.scenario.checks.strict import expected_texts, hides_the_start
from trunkline.sim.scenario.load import ScenarioReport, load_text
from trunkline.sim.scenario.model.scenario import SCENARIO_VERSION
from trunkline.sim.scenario.step_rules import items


def upgraded(text: str, path: str) -> str:
    r"""The text of a scenario file in the newest version; comments, order and blanks stay as they are.

    A `*` at the start of an expected text becomes `**`, which means the same there. Raises `ScenarioError` with all
    that has to be mended by hand: what the file expects although it cannot fail, and `\*`, which means something else.
    """
    report = ScenarioReport(path)
    load_text(text, path)
    tree = parse(text, report, begin="")
    if items(tree, "scenario") == SCENARIO_VERSION:
        return text
    begin = len(text) - len(text.removeprefix("\ufeff"))
    lines = text[begin:].splitlines(keepends=True)
    #: position -> how many characters go, and what comes instead
    edits = {report.positions.mark(("scenario",)): (1, str(SCENARIO_VERSION))}
    for place, expected in expected_texts(tree):
        if "\\*" in expected:
            hint = r"there `\*` is the character `*`; write `*`, which also matches a backslash"
            report.add(place, rf"`\*` means something else in version {SCENARIO_VERSION}", hint)
        elif hides_the_start(place, expected):
            edits[_star(lines, report.positions.mark(place))] = (0, "*")
    if report.problems:
        raise report.error()
    for (line, column), (gone, put) in sorted(edits.items(), reverse=True):
        old = lines[line - 1]
        lines[line - 1] = old[: column - 1] + put + old[column - 1 + gone :]
    made = text[:begin] + "".join(lines)
    load_text(made, path)
    return made


def _star(lines: list[str], mark: Mark) -> Mark:
    """Where the first `*` at or after a position is."""
    line, column = mark
    while (found := lines[line - 1].find("*", column - 1)) < 0:
        line, column = line + 1, 1
    return line, found + 1

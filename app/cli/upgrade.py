"""``trunkline upgrade``."""

from pathlib import Path

from trunkline.app.report.json_junit import write_whole
from trunkline.app.terminal.output import print_lines
from trunkline.app.text.cells import clean, count
from trunkline.core.config.files.yaml_reader import read_text
from trunkline.core.errors import UsageError
from trunkline.sim import ScenarioError, find_scenarios
from trunkline.sim.scenario.load import ScenarioReport
from trunkline.sim.scenario.upgrade import upgraded


def upgrade_scenarios(path: Path, *paths: Path) -> int:
    """Make scenario files strict: in their newest version a run that proves nothing is not green.

    Comments, order and blanks stay. A file that cannot be strict stays as it is, and what has to be mended is printed.
    Exit code: 0 all files are strict now; 2 some have to be mended first.

    :param path: A scenario file or a folder.
    :param paths: More of them.
    """
    problems: list[str] = []
    changed = 0
    files = find_scenarios((path, *paths))
    for file in files:
        try:
            old = read_text(ScenarioReport(str(file)), "a scenario file")
            new = upgraded(old, str(file))
        except ScenarioError as error:
            problems.append(str(error))
            continue
        if new != old:
            write_whole(file, new.encode("utf-8"))
            changed += 1
            print_lines(f"{clean(str(file))}: strict now")
    print_lines(f"{count(changed, 'file')} of {len(files)} changed; `trunkline run` says what they do not exercise")
    if problems:
        raise UsageError("\n".join(problems))
    return 0

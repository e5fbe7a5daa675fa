"""``trunkline import``: reads what another gateway has stored, and reports what is noteworthy. It changes nothing."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Group, Parameter

from trunkline.app.cli.options import Flag
from trunkline.app.terminal.output import print_json, print_lines
from trunkline.core.errors import UsageError

app = App(
    name="import", help="Read what another gateway has stored, and report what is noteworthy. Nothing is changed there."
)

_OUTPUT = Group("Output", sort_key=2)
#: names of the files that `--report` writes
_PAGE, _DATA = "openclaw-state.md", "openclaw-state.json"


@app.command
def openclaw(
    folder: Path,
    /,
    *,
    json: Annotated[Flag, Parameter(group=_OUTPUT, help="Print JSON.")] = False,
    report: Annotated[Path | None, Parameter(group=_OUTPUT, show_default=False)] = None,
) -> int:
    """Read the sessions and the delivery queue of an OpenClaw gateway, which may be running or not.

    Shown are deliveries in doubt, dead letters, answers that may not have arrived, what a restart would send, sessions
    that split or merged, and what could not be read. Exit code: 0 read, 1 some of it could not be read, 2 wrong usage
    or no state folder.

    Parameters
    ----------
    folder:
        Its state folder: `~/.openclaw`, unless the variable `OPENCLAW_STATE_DIR` of the gateway names another.
    report:
        Also write the report into this folder: as a page of Markdown, and as JSON.
    """
    # Nothing else of the command line needs them.
    from trunkline.app.imports.openclaw.reading import read_state
    from trunkline.app.report.json_junit import write_whole
    from trunkline.app.report.openclaw_state import state_json, state_markdown, state_text

    if report is not None:
        _check_outside(report, folder)
    state = read_state(folder)
    if report is not None:
        try:
            report.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{report}: the report cannot be written: {error.strerror or error}") from error
        write_whole(report / _PAGE, state_markdown(state).encode())
        write_whole(report / _DATA, f"{state_json(state)}\n".encode())
    if json:
        print_json(state_json(state))
    else:
        print_lines(*state_text(state))
        if report is not None:
            print_lines("", f"written: {report / _PAGE} and {_DATA}")
    return 1 if state.unreadable else 0


def _check_outside(report: Path, folder: Path) -> None:
    """Refuse a report below what is read. Raises `UsageError`."""
    try:
        inside = report.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{report}: {error}") from error
    if inside:
        raise UsageError(f"{report}: is in the folder that is read, where nothing is written; name another folder")

"""``trunkline transcript``: what a session remembers, as JSON lines; the sessions of a gateway; the end of a person."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trunkline.app.cli.store.files import NOWHERE, Gateway, Json, operators_app, or_exit, print_answer
from trunkline.app.terminal.output import print_json, print_lines
from trunkline.app.text.cells import count
from trunkline.core.errors import UsageError

# What is imported in functions is half of the time that `--help` takes.
if TYPE_CHECKING:
    import msgspec

    from trunkline.app.operators.port import Operator
    from trunkline.core.store.operators.erasure import Erasure

app = operators_app(
    "transcript",
    "Print the transcript of a session as JSON lines; without a session, list the sessions. Erase a person.",
)


@app.default
def print_transcript(session: str | None = None, /, *, gateway: Gateway = NOWHERE) -> int:
    """Print the transcript of a session as JSON lines; without a session, list the sessions.

    A store file is only read; a gateway may be running on it.

    :param session: Key of a session, or its id, which also finds a session that has ended.
    """
    operator = gateway.operator()
    if session is None:
        for line in _sessions(operator):
            print_lines(line)
    else:
        for line in _transcript(operator, session):
            print_json(line)
    return 0


@app.command
@or_exit
def erase(*, person: str, gateway: Gateway = NOWHERE, record: Path | None = None, json: Json = False) -> int:
    """Erase a person for a legal request: what they wrote and got, in the store and in recordings.

    It may be repeated at any time, and is to be repeated where it was interrupted. Nothing is erased while work for the
    person is open: it is listed.

    :param person: Who, as `CHANNEL:ID`, e.g. `webchat:ana`.
    :param record: With `--store`: the folder of `record`, whose files are deleted. A running gateway knows its own.
    """
    channel, _, name = person.partition(":")
    if not channel or not name:
        raise UsageError(f"--person: {person!r}: expected CHANNEL:ID, e.g. webchat:ana")
    if record is not None and (gateway.store is None or not record.is_dir()):
        raise UsageError(f"--record: {record}: expected a folder, with --store")
    import msgspec

    from trunkline.core.http.routes.sessions import EraseBody, erase_person

    done = gateway.operator().ask(erase_person, EraseBody(person=person))
    recordings = done.recordings
    if record is not None:
        from trunkline.app.serve.record import delete_recordings

        recordings = delete_recordings(record)
    line = f"{_erasure(done.erasure)}; {count(recordings, 'recording')} deleted"
    document = {"erasure": msgspec.to_builtins(done.erasure), "recordings": recordings}
    return print_answer("transcript", document, [line], json=json)


@app.command
def erasures(*, gateway: Gateway = NOWHERE, json: Json = False) -> int:
    """List what was erased, when, and at whose demand. Nothing says whom."""
    import msgspec

    from trunkline.core.http.routes.sessions import list_erasures

    found = gateway.operator().ask(list_erasures).erasures
    return print_answer(
        "transcript", {"erasures": msgspec.to_builtins(found)}, [*map(_erasure, found)] or ["0 erasures"], json=json
    )


def _erasure(erasure: "Erasure") -> str:
    # Imported late: neither a transcript nor the help needs the report.
    from trunkline.app.report.queue import moment

    tables = ", ".join(f"{table} {n}" for table, n in erasure.rows.items())
    rows = count(sum(erasure.rows.values()), "row")
    return f"{moment(erasure.at)}  by {erasure.by}: {rows} removed" + (f" ({tables})" if tables else "")


def _sessions(operator: "Operator") -> Iterator[str]:
    from trunkline.app.operators.port import session_pages

    for found in (row for page in session_pages(operator) for row in page.sessions):
        header = found.session
        facts = f"generation {header.generation}, {count(found.lines, 'line')}"
        ended = "" if header.ended is None else f", ended ({header.ended})"
        yield f"{header.session_key}  {header.session_id}  {facts}{ended}"


def _transcript(operator: "Operator", name: str) -> Iterator[str]:
    from trunkline.app.operators.port import transcript_pages

    first = True
    for page in transcript_pages(operator, name):
        if first:
            yield _line(page.session)
        first = False
        yield from map(_line, page.lines)


def _line(value: "msgspec.Struct") -> str:
    import msgspec

    return msgspec.json.encode(value).decode()

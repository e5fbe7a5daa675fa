"""``trunkline transcript``: what a session remembers, as JSON lines; or the sessions of a gateway."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from trunkline.app.cli.store.files import NOWHERE, Gateway
from trunkline.app.operators.pages import session_pages, transcript_pages
from trunkline.app.operators.port import Operator
from trunkline.app.terminal.output import print_json, print_lines
from trunkline.app.text.cells import count

_json = msgspec.json.Encoder().encode


def print_transcript(session: str | None = None, /, *, gateway: Gateway = NOWHERE) -> int:
    """Print the transcript of a session as JSON lines; without a session, list the sessions.

    A store file is only read; a gateway may be running on it.

    Parameters
    ----------
    session:
        Key of a session, or its id, which also finds a session that has ended.
    """
    operator = gateway.operator()
    if session is None:
        for line in _sessions(operator):
            print_lines(line)
    else:
        for line in _transcript(operator, session):
            print_json(line)
    return 0


def _sessions(operator: Operator) -> Iterator[str]:
    for found in (row for page in session_pages(operator) for row in page.sessions):
        header = found.session
        facts = f"generation {header.generation}, {count(found.lines, 'line')}"
        ended = "" if header.ended is None else f", ended ({header.ended})"
        yield f"{header.session_key}  {header.session_id}  {facts}{ended}"


def _transcript(operator: Operator, name: str) -> Iterator[str]:
    first = True
    for page in transcript_pages(operator, name):
        if first:
            yield _line(page.session)
        first = False
        yield from map(_line, page.lines)


def _line(value: msgspec.Struct) -> str:
    return _json(value).decode()

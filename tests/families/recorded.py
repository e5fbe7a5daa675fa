"""What runs of a scenario of a family had in common, as expectations in its file.

Invariants judge promises, and a family has hundreds of files, for which nobody would write by hand what people see. So
it is recorded: messages, transcripts, delegations, and events with a reason. Only what every seed has is expected.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

import msgspec

from trunkline.core.events import Event
from trunkline.sim import run_scenario
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid, WorldPlace
from trunkline.sim.plugins import OURS
from trunkline.sim.run.expectations import delegations_of, transcripts_of
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.scenario.load import ScenarioError, load_text
from trunkline.sim.scenario.place_refs import is_session_key
from trunkline.sim.scenario.text_pattern import exact_pattern

#: the line of a file below which the recorded part of its `expect` stands
HEAD = "  # Recorded from eight runs: `python -m tests.families --record` records it again."
#: none is the seed of the scenario
_SEEDS = (None, 2, 3, 5, 8, 13, 77, 4711)
#: what the world does or was told, and what says the same as another event
_NOT_EXPECTED = ("script.", "world.", "agent.", "lease.", "run.", "wire.", "chunk.", "callback.", "heartbeat.due")
#: fields of an event that say how something went; the state is that of an intent
_FACTS = ("reason", "state", "status")
#: characters of a line of a transcript, such as a prompt, from which its middle is left out
_LONG = 200

Row = Mapping[str, Any]


def without_recorded(text: str) -> str:
    """The text of a file as its table has it."""
    return text.partition(f"{HEAD}\n")[0]


def recorded(text: str, name: str) -> str:
    """The recorded part for the scenario of a file; empty for nothing that every seed has."""
    file = load_text(text, name, names=OURS)
    runs = [run_scenario(file, seed=seed).trace.events for seed in _SEEDS]
    lines = [HEAD]
    for part, rows_of in _PARTS.items():
        if part not in file.scenario.expect.model_fields_set:
            more = _lines(part, [list(rows_of(file, events)) for events in runs])
            lines += more if _is_valid("\n".join([text, HEAD, *more]), name) else []
    return "".join(f"{line}\n" for line in lines) if len(lines) > 1 else ""


def _is_valid(text: str, name: str) -> bool:
    """Whether a scenario can say so: it has no name for a thread that an agent opened, for instance."""
    try:
        load_text(text, name, names=OURS)
    except ScenarioError:
        return False
    return True


def _lines(part: str, runs: Sequence[Sequence[Row]]) -> list[str]:
    """A part of the expectations: what all runs have. Where one has it otherwise, what is alike may be so by chance."""
    rows = runs[0]
    if part in ("accepted", "transcripts"):
        if any(sorted(map(str, other)) != sorted(map(str, rows)) for other in runs):
            return []
    else:
        unlike = {_subject(row) for other in runs for row in other if any(row not in each for each in runs)}
        rows = [row for row in rows if _subject(row) not in unlike]
    ordered = part == "accepted" and all(other == rows for other in runs)
    head = [f"  {part}:"] if rows else [f"  {part}: []"] if part == "accepted" else []
    return [*(["  in_order: true"] if ordered else []), *head, *(f"    - {_flow(row)}" for row in rows)]


def _subject(row: Row) -> str:
    """The kind of an event, or the hand of a delegation."""
    return str(row.get("kind", row.get("hand")))


def _accepted(file: ScenarioFile, events: Sequence[Event]) -> Iterator[Row]:
    places: dict[object, str] = {}
    messages: dict[tuple[str, str], str] = {}
    seen: list[Row] = []
    for event in events:
        body = event.body
        if isinstance(body, WorldPlace):
            account = "" if body.address.account == "default" else f":{body.address.account}"
            places[body.address.lane] = f"{body.address.channel}{account}/{body.name}"
        elif isinstance(body, PeerSaid):
            messages[body.address.conversation, body.message_id] = event.inbound or ""
        elif isinstance(body, WireAccepted):
            messages[body.address.conversation, body.provider_id] = body.text
            row = {"in": places.get(body.address.lane, ""), "text": exact_pattern(body.text)}
            quoted = messages.get((body.address.conversation, body.reply_to or ""))
            author = (body.identity or "").partition(" as ")[2]
            buttons = [] if body.parts is None else [button.text for line in body.parts.buttons for button in line]
            row |= {"media": list(body.media)} if body.media else {}
            row |= {"reply_to": exact_pattern(quoted)} if quoted else {}
            row |= {"identity": exact_pattern(author)} if author else {}
            row |= {"buttons": buttons} if buttons else {}
            seen.append(row)
    # Places are independent of each other: their order in a run says nothing.
    for row, equal in groupby(sorted(seen, key=lambda row: row["in"])):
        times = len(list(equal))
        yield {**row, "times": times} if times > 1 else row


def _transcripts(file: ScenarioFile, events: Sequence[Event]) -> Iterator[Row]:
    for key, lines in sorted(transcripts_of(file, events).items()):
        if is_session_key(key):
            yield {"session": key, "lines": [_short(line) for line in lines]}


def _hands(file: ScenarioFile, events: Sequence[Event]) -> Iterator[Row]:
    rows = [
        {
            "hand": ended.accepted.hand,
            "task": exact_pattern(ended.accepted.task),
            "agent": ended.agent,
            "work": ended.work.value,
            "result": exact_pattern(ended.result),
            "callback": ended.callback.value,
            **({} if ended.reason is None else {"reason": ended.reason.value}),
        }
        for ended in delegations_of(events)
    ]
    yield from _counted(rows)


def _events(file: ScenarioFile, events: Sequence[Event]) -> Iterator[Row]:
    yield from _counted(row for event in events if (row := _outcome(event)))


def _outcome(event: Event) -> Row | None:
    facts = [name for name in _FACTS if name != "state" or event.kind.startswith("intent.")]
    said = {name: value for name in facts if (value := str(getattr(event.body, name, None) or ""))}
    return {"kind": event.kind, **said} if said and not event.kind.startswith(_NOT_EXPECTED) else None


def _counted(rows: Iterable[Row]) -> Iterator[Row]:
    counts = Counter(tuple(row.items()) for row in rows)
    for row, times in sorted(counts.items()):
        yield {**dict(row), "times": times}


_PARTS = {"accepted": _accepted, "transcripts": _transcripts, "hands": _hands, "events": _events}


def _short(line: str) -> str:
    """The pattern of a line."""
    if len(line) <= _LONG:
        return exact_pattern(line)
    return f"{exact_pattern(line[: _LONG // 2])}*{exact_pattern(line[-_LONG // 4 :])}"


def _flow(row: Row) -> str:
    """A mapping in YAML's flow style."""
    return "{" + ", ".join(f"{name}: {_word(value)}" for name, value in row.items()) + "}"


def _word(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_word, cast('list[object]', value)))}]"
    return msgspec.json.encode(value).decode() if isinstance(value, str) else str(value)

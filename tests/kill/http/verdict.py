"""What people saw, and what the store has, against what was promised: nothing lost, doubled or misplaced."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.kill.http.people import Person
from tests.kill.stored import reading


def judge(over_http: Sequence[Person], over_socket: Sequence[Person], store: str | Path) -> list[str]:
    """What is wrong, a sentence each."""
    findings = [said for one in (*over_http, *over_socket) for said in one.wrong]
    findings += [said for one in over_http for said in _over_http(one)]
    findings += [said for one in over_socket for said in _over_socket(one)]
    findings += [said for one in (*over_http, *over_socket) for said in _ids(one)]
    return [*findings, *_stored((*over_http, *over_socket), store)]


def _over_http(one: Person) -> Iterator[str]:
    for message, text in one.said.items():
        answers = one.answers.get(message, [])
        if not answers:
            yield f"{message} has no answer"
            continue
        if len(set(answers)) > 1:
            yield f"{message} has different answers: {sorted(set(answers))}"
        texts = [reply for _, reply in answers[0]]
        if texts != [one.expected(text)]:
            yield f"{message} was answered with {texts}"
    if one.places - {one.conversation}:
        yield f"{one.name} got answers of {one.places - {one.conversation}}"


def _over_socket(one: Person) -> Iterator[str]:
    expected, seen = [one.expected(text) for text in one.said.values()], [text for _, text in one.seen]
    if seen != expected:
        lost, more = Counter(expected) - Counter(seen), Counter(seen) - Counter(expected)
        yield f"{one.name} saw something else: lost {list(lost)[:3]}, too many {list(more)[:3]}, or another order"
    cursors = [cursor for cursor, _ in one.seen]
    if cursors != sorted(set(cursors)):
        yield f"{one.name} saw cursors out of order"


def _ids(one: Person) -> Iterator[str]:
    for message, inbounds in one.inbounds.items():
        if len(inbounds) > 1:
            yield f"{message} has several ids: {inbounds}"


def _stored(everybody: Sequence[Person], store: str | Path) -> Iterator[str]:
    """The store believes the same: each message is there once, and each answer, in its own conversation."""
    wanted: Counter[tuple[str, str]] = Counter()
    for one in everybody:
        wanted.update((one.conversation, one.expected(text)) for text in one.said.values())
    with reading(store) as raw:
        found = Counter(
            (row[0], row[1])
            for row in raw.execute("SELECT conversation, json_extract(message, '$.text') FROM mailbox").fetchall()
        )
        (inbounds, undone), (intents, undelivered) = (
            raw.execute(f"SELECT count(*), count(CASE WHEN state <> '{end}' THEN 1 END) FROM {table}").fetchone()
            for table, end in (("inbox", "done"), ("intents", "delivered"))
        )
        lines = Counter(dict(raw.execute("SELECT role, count(*) FROM transcript GROUP BY role").fetchall()))
    if found != wanted:
        lost, more = wanted - found, found - wanted
        yield f"the mailbox lacks {list(lost)[:3]}, and has too many {list(more)[:3]}"
    total = wanted.total()
    counts = {"inbounds": inbounds, "intents": intents, "user lines": lines["user"], "mirrors": lines["assistant"]}
    for name, count in counts.items():
        if count != total:
            yield f"the store has {count} {name} of {total} messages"
    if undone or undelivered:
        yield f"{undone} turns and {undelivered} messages have not ended"

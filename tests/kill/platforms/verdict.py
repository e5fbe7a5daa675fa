"""What people saw on four platforms, and what the store has, against what was promised."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import msgspec

from tests.kill.platforms.record import MARK, Record, mark_of
from tests.kill.stored import reading
from trunkline.core.values import Address

#: the platforms that recognise a repeat by its key, so that nothing is ever in doubt for good
KEYED = frozenset({"discord", "matrix"})
#: what the id of a notice adds to that of the answer that it is about
_NOTICE = ".notice"
#: seconds from a response on the wire until its receipt is surely durable, on a machine under load
_GRACE = 0.5
#: seconds from the model's answer until its send is surely at the platform
_ON_ITS_WAY = 1.5


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A message that the gateway has to say, as its store has it."""

    id: str
    #: empty: it has no mark, as a notice
    mark: str
    channel: str
    state: str
    reason: str
    #: the texts, and where they go
    place: Address
    text: str

    @property
    def about(self) -> str:
        """Of a notice: the id of the answer that may be missing; else empty."""
        return self.id.removesuffix(_NOTICE) if self.id.endswith(_NOTICE) else ""


class Why(StrEnum):
    """Why nobody can know what became of a send."""

    NO_RESPONSE = "no response came"
    KILLED_AFTER = "killed right after the response"
    NEVER_ARRIVED = "killed on the way to the socket"


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that waits for an operator."""

    mark: str
    channel: str
    why: Why
    #: whether people see it all the same
    seen: bool
    #: seconds from the response to the kill, if there was a response
    after: float = 0.0


@dataclass
class Verdict:
    """What is wrong, a sentence each; and what is really in doubt."""

    findings: list[str] = field(default_factory=list[str])
    doubts: list[Doubt] = field(default_factory=list[Doubt])


def judge(record: Record, intents: list[Stored], inbox: Counter[str], undone: int) -> Verdict:
    """`inbox`: how often each mark was stored as a message of a person; `undone`: turns that have not ended."""
    verdict = Verdict()
    by_mark: dict[str, list[Stored]] = {}
    for one in intents:
        if not one.about:
            by_mark.setdefault(one.mark, []).append(one)
    for mark in record.questions:
        verdict.findings += _of_question(record, mark, by_mark.get(mark, []))
        if inbox[mark] != 1:
            verdict.findings.append(f"{mark} is stored {inbox[mark]} times as a message")
    notices = {one.about: one for one in intents if one.about}
    verdict.findings += _of_notices(record, intents, notices)
    verdict.findings += [f"{mark} was answered, and never asked" for mark in record.accepted.keys() - record.questions]
    if undone:
        verdict.findings.append(f"{undone} turns have not ended")
    for one in intents:
        if one.state == "unknown" and not one.about:
            _judge_unknown(verdict, record, one)
    return verdict


def _of_notices(record: Record, intents: list[Stored], notices: dict[str, Stored]) -> Iterator[str]:
    """A parked answer has a notice, nothing else has one, and people see it at most twice."""
    answers = {one.id: one for one in intents}
    allowed = Counter((one.place, one.text) for one in notices.values())
    for (place, text), times in Counter(record.unasked).items():
        if times > 2 * allowed[place, text]:
            yield f"the gateway said {text!r} {times} times in {place}, for {allowed[place, text]} notices"
    for about, notice in notices.items():
        found = answers.get(about)
        if found is None or found.state != "unknown":
            yield f"{notice.id} is a notice about an answer that is {found and found.state}"
    for one in intents:
        if one.state == "unknown" and not one.about and one.id not in notices:
            yield f"{one.mark} is in doubt, and its person has no notice"


def _of_question(record: Record, mark: str, intents: list[Stored]) -> Iterator[str]:
    question, seen = record.questions[mark], record.accepted.get(mark, [])
    where = f"{mark} ({question.place})"
    states = sorted({one.state for one in intents})
    if not seen and "unknown" not in states:
        yield f"{where} was lost: no answer, and the store has {states or 'nothing'} of it"
    if len(seen) > 1:
        yield f"{where} was answered {len(seen)} times: {[text for _, text in seen]}"
    for place, text in seen:
        if place != question.place:
            yield f"{where} was answered elsewhere: {text!r} in {place}"
    if seen and not {"delivered", "unknown"} & set(states):
        yield f"{where} was answered, but the store has {states or 'nothing'} of it"
    if len(intents) > 1:
        yield f"{where} has {len(intents)} answers in the store: {states}"


def _judge_unknown(verdict: Verdict, record: Record, one: Stored) -> None:
    why = _why(record, one.mark)
    if one.channel in KEYED:
        verdict.findings.append(f"{one.mark} is in doubt on {one.channel}, which recognises a repeat")
    elif why is None:
        verdict.findings.append(f"{one.mark} is in doubt on {one.channel}, and the gateway could know: {one.reason}")
    else:
        seen = one.mark in record.accepted
        verdict.doubts.append(Doubt(mark=one.mark, channel=one.channel, why=why[0], seen=seen, after=why[1]))


def _why(record: Record, mark: str) -> tuple[Why, float] | None:
    """Where a process died, or a response was lost, so that the gateway cannot know what became of a send.

    None: nothing of the kind happened. Beside it, the seconds from the response to the kill.
    """
    sends = [one for one in record.sends if one.mark == mark]
    if any(one.answered is None for one in sends):
        return Why.NO_RESPONSE, 0.0
    for sent in sends:
        killed = record.processes[sent.process].killed
        if killed is not None and sent.answered is not None and 0 <= killed - sent.answered <= _GRACE:
            return Why.KILLED_AFTER, killed - sent.answered
    if sends:
        return None
    # It may have died between its note that it sends, and the socket.
    ends = [process.killed for process in record.processes if process.killed is not None]
    on_its_way = any(0 <= end - at <= _ON_ITS_WAY for end in ends for at in record.replied.get(mark, []))
    return (Why.NEVER_ARRIVED, 0.0) if on_its_way else None


def stored(store: str | Path) -> tuple[list[Stored], Counter[str], int, int]:
    """Messages to people, messages of people by mark, turns that have not ended, and messages that have not."""
    with reading(store) as raw:
        rows = raw.execute("SELECT id, state, address, chunks, coalesce(reason, '') FROM intents").fetchall()
        works = raw.execute("SELECT work, state FROM inbox").fetchall()
    intents = [
        Stored(
            id=name,
            mark=mark_of(chunks),
            channel=json.loads(address)["channel"],
            state=state,
            reason=reason,
            place=msgspec.json.decode(address, type=Address),
            text="".join(json.loads(chunks)),
        )
        for name, state, address, chunks, reason in rows
    ]
    inbox = Counter[str]()
    for work, _ in works:
        text = work if isinstance(work, str) else work.decode("latin-1")
        inbox.update(set(MARK.findall(text)))
    undone = sum(state != "done" for _, state in works)
    return intents, inbox, undone, sum(one.state in ("prepared", "sending") for one in intents)

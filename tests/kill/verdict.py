"""The verdict: what was promised, what people see, and what the store says, laid side by side."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from tests.kill.people import Promise
from tests.kill.platform import Accepted
from tests.kill.stored import Stored, StoredIntent, StoredTask
from tests.kill.words import DELEGATING, abandoned, bare

#: what the id of a notice adds to that of what it is about
_NOTICE = ".notice"
#: end of the id of a notice that is repeated when its reader writes again
_AGAIN = ".again.notice"
#: how often people may see a notice where nobody can find out whether it was accepted
_NOTICE_AT_MOST = 2


def _is_notice(intent: StoredIntent) -> bool:
    return intent.kind == "notice"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong, by kind, each with its evidence."""

    #: promised, and not seen
    lost: list[str]
    #: seen more than once
    duplicated: list[str]
    #: seen or stored, and nobody asked for it, or stored as something that it is not
    unexplained: list[str]
    #: seen in another order than asked for
    disordered: list[str]
    #: seen with another text
    altered: list[str]
    #: transcripts that do not tell what was seen
    misremembered: list[str]
    #: promises that could not be kept for sure, and are parked where an operator sees them; no defect
    parked: list[str]
    promises: int
    #: messages that were taken in, and at which the agent failed
    odd: int
    messages: int
    chunks: int
    #: reports of outside workers that were promised
    reports: int = 0
    #: messages of the gateway itself: an answer may be missing, or there is none
    notices: int = 0

    @property
    def findings(self) -> list[str]:
        """Everything that is wrong."""
        kinds = ("lost", "duplicated", "unexplained", "disordered", "altered", "misremembered")
        return [f"{kind}: {one}" for kind in kinds for one in getattr(self, kind)]

    @property
    def figures(self) -> str:
        """Counts."""
        return (
            f"{self.promises} promises ({self.odd} without an answer, {self.reports} reports),"
            f" {self.messages} messages ({self.notices} notices), {self.chunks} chunks accepted:"
            f" {len(self.lost)} lost, {len(self.duplicated)} duplicated, {len(self.unexplained)} unexplained,"
            f" {len(self.disordered)} disordered, {len(self.altered)} altered, {len(self.misremembered)} misremembered,"
            f" {len(self.parked)} parked"
        )


def judge(*, promises: Sequence[Promise], accepted: Sequence[Accepted], stored: Stored, sure: bool) -> Verdict:
    """Lay it side by side. `sure`: the platform has keys or a look-up, so that nothing needs to be parked."""
    return _Court(promises, accepted, stored, sure).verdict()


class _Court:
    def __init__(self, promises: Sequence[Promise], accepted: Sequence[Accepted], stored: Stored, sure: bool) -> None:
        self._promises = promises
        self._accepted = accepted
        self._stored = stored
        self._sure = sure
        self._by_chunk: dict[tuple[str, int], list[Accepted]] = defaultdict(list)
        for one in accepted:
            self._by_chunk[one.intent, one.chunk].append(one)
        self._intents = {one.id: one for one in stored.intents}
        self._said: dict[tuple[str, str], list[StoredIntent]] = defaultdict(list)
        for one in stored.intents:
            self._said[one.conversation, bare(*one.chunks)].append(one)
        self.lost: list[str] = []
        self.duplicated: list[str] = []
        self.unexplained = [] if stored.sound == "ok" else [f"the store file: {stored.sound}"]
        self.disordered: list[str] = []
        self.altered: list[str] = []
        self.misremembered: list[str] = []
        self.parked: list[str] = []

    def verdict(self) -> Verdict:
        for promise in self._promises:
            self._promise(promise)
        for intent in self._stored.intents:
            self._stored_intent(intent)
        self._people_see()
        self._notices()
        self._tasks()
        self._order()
        self._transcripts()
        return Verdict(
            lost=self.lost,
            duplicated=self.duplicated,
            unexplained=self.unexplained,
            disordered=self.disordered,
            altered=self.altered,
            misremembered=self.misremembered,
            parked=self.parked,
            promises=sum(promise.kept for promise in self._promises),
            odd=sum(promise.kept and not promise.texts for promise in self._promises),
            messages=len({one.intent for one in self._accepted}),
            chunks=len(self._accepted),
            reports=sum(
                promise.kept and promise.question is None and promise.asked is None for promise in self._promises
            ),
            notices=sum(_is_notice(intent) for intent in self._stored.intents),
        )

    def _promise(self, promise: Promise) -> None:
        """Each text of a promise is one intent, and that one is delivered, or parked where nobody can be sure."""
        for text in promise.texts:
            found = self._said[promise.conversation, bare(text)]
            if len(found) > 1:
                self.duplicated.append(f"{promise.id} is stored {len(found)} times: {[one.id for one in found]}")
            for intent in found:
                self._settled(promise, intent)
            if promise.kept and not found:
                self.lost.append(f"{promise.id} was promised, and {text[:30]!r} is not stored")
        for told in promise.outcomes:
            states = {one.state for text in promise.texts for one in self._said[promise.conversation, bare(text)]}
            fits = {"delivered": states == {"delivered"}, "failed": states == {"unknown"}, "queued": bool(states)}
            if not fits.get(told.outcome, False):
                self.unexplained.append(f"{promise.id}: its client was told {told}, and it is {sorted(states)}")

    def _settled(self, promise: Promise, intent: StoredIntent) -> None:
        if intent.state == "unknown" and not self._sure:
            self.parked.append(intent.id)
        elif intent.state != "delivered":
            self.lost.append(f"{promise.id}: {intent.id} ended as {intent.state}")

    def _stored_intent(self, intent: StoredIntent) -> None:
        """What has a receipt was accepted, once, and is the message of the receipt; what has none was not."""
        for chunk, text in enumerate(intent.chunks):
            seen = self._by_chunk[intent.id, chunk]
            if len(seen) > (_NOTICE_AT_MOST if _is_notice(intent) else 1):
                self.duplicated.append(f"{intent.id}, chunk {chunk}: seen {len(seen)} times")
            if any(one.text != text or one.conversation != intent.conversation for one in seen):
                self.altered.append(f"{intent.id}, chunk {chunk}: {text!r} was seen as {[one.text for one in seen]}")
            acked = chunk < len(intent.receipts)
            if acked and not seen:
                self.lost.append(f"{intent.id}, chunk {chunk}: has a receipt, and was never accepted")
            elif acked and intent.receipts[chunk] not in [one.id for one in seen]:
                self.unexplained.append(
                    f"{intent.id}, chunk {chunk}: the receipt {intent.receipts[chunk]} is another's"
                )
            elif seen and chunk > len(intent.receipts):
                self.disordered.append(f"{intent.id}, chunk {chunk}: seen, and one before it has no receipt")
        if intent.state == "delivered" and len(intent.receipts) != len(intent.chunks):
            self.unexplained.append(f"{intent.id}: delivered with {len(intent.receipts)} receipts")

    def _people_see(self) -> None:
        """All that people see was asked for."""
        asked = {(promise.conversation, bare(text)) for promise in self._promises for text in promise.texts}
        for intent in self._stored.intents:
            if not _is_notice(intent) and (intent.conversation, bare(*intent.chunks)) not in asked:
                self.unexplained.append(f"{intent.id}: stored, and nobody asked for {intent.chunks}")
        for one in self._accepted:
            intent = self._intents.get(one.intent)
            if intent is None or one.chunk >= len(intent.chunks):
                self.unexplained.append(f"{one.id}: people see {one.text!r}, which no store knows ({one.key})")

    def _notices(self) -> None:
        """A parked answer has its notice, and a notice is about a parked answer or a turn at which the agent failed."""
        failed = Counter(promise.conversation for promise in self._promises if promise.question and not promise.texts)
        noticed = {intent.id.removesuffix(_NOTICE): intent for intent in self._stored.intents if _is_notice(intent)}
        for about, notice in noticed.items():
            if notice.id.endswith(_AGAIN):
                first = self._intents.get(notice.id.removesuffix(_AGAIN))
                if first is None or first.state != "unknown":
                    self.unexplained.append(f"{notice.id}: repeated, and the notice is {first and first.state}")
                continue
            answer = self._intents.get(about)
            if answer is None:
                failed[notice.conversation] -= 1
            elif answer.state != "unknown":
                self.unexplained.append(f"{notice.id}: a notice, and the answer is {answer.state}")
            if notice.state not in ("delivered", "unknown"):
                self.lost.append(f"{notice.id} ended as {notice.state}")
        self.unexplained += [
            f"{place}: {-left} notices that nothing explains" for place, left in failed.items() if left < 0
        ]
        self.lost += [
            f"{intent.id} is parked, and its person has no notice"
            for intent in self._stored.intents
            if intent.kind == "reply" and intent.state == "unknown" and intent.id not in noticed
        ]

    def _tasks(self) -> None:
        """Each message whose work was delegated has one delegation, which has ended as it must and was reported."""
        found: dict[str, list[StoredTask]] = defaultdict(list)
        for one in self._stored.tasks:
            found[one.task].append(one)
        for promise in self._promises:
            own = found.pop(promise.id, [])
            if not promise.id.startswith(DELEGATING) or promise.question is None or not promise.kept:
                continue
            wanted = "timed_out" if abandoned(promise.id) else "succeeded"
            if [one.state for one in own] != [wanted]:
                self.unexplained.append(f"{promise.id}: its work is {own}, and not {wanted}")
            for one in own:
                if one.callback != "delivered" and (self._sure or one.callback != "parked"):
                    self.unexplained.append(f"{promise.id}: its report is {one.callback}")
        self.unexplained += [f"{one.id}: work that nobody asked for" for own in found.values() for one in own]

    def _order(self) -> None:
        """In each conversation what has a receipt was seen in the order of the queue, chunk by chunk.

        And what a person or a client asked for was seen in the order in which it was asked for.
        """
        seen: dict[str, list[tuple[int, int]]] = defaultdict(list)
        place: dict[str, int] = {}
        for at, one in enumerate(self._accepted):
            intent = self._intents.get(one.intent)
            if intent is not None and one.chunk < len(intent.receipts):
                if self._by_chunk[one.intent, one.chunk][0] is one:
                    seen[one.conversation].append((intent.n, one.chunk))
                place.setdefault(one.intent, at)
        for conversation, places in seen.items():
            for before, after in pairwise(places):
                if after < before:
                    self.disordered.append(f"in {conversation}, {after} came after {before} (number, chunk)")
        self._order_of_promises(place)

    def _order_of_promises(self, place: dict[str, int]) -> None:
        last: dict[str, tuple[int, str]] = {}
        for promise in self._promises:
            for text in promise.texts:
                for intent in self._said[promise.conversation, bare(text)]:
                    if intent.id not in place:
                        continue
                    before, of = last.get(promise.by, (-1, ""))
                    if place[intent.id] < before:
                        self.disordered.append(f"{promise.by} sees {intent.id} before {of}")
                    last[promise.by] = (place[intent.id], intent.id)

    def _transcripts(self) -> None:
        """What was accepted is remembered once, all of it; what was not is not; what people said is there once."""
        lines = defaultdict(list)
        for line in self._stored.lines:
            if line.role == "assistant":
                lines[line.ref].append(line)
        for intent in self._stored.intents:
            told = "".join(intent.chunks[: len(intent.receipts)])
            expected = [(bare(told), len(intent.receipts) < len(intent.chunks))] if intent.receipts else []
            found = [(bare(line.text), line.partial) for line in lines.pop(intent.id, ())]
            if found != expected:
                self.misremembered.append(f"{intent.id}: remembered as {found}, expected {expected}")
        self.misremembered += [f"{ref}: remembered, and never stored to be said" for ref in lines]
        said = Counter(line.text for line in self._stored.lines if line.role == "user")
        for promise in self._promises:
            if promise.question is None:
                continue
            if said[promise.question] > 1:
                self.duplicated.append(f"{promise.id}: taken in {said[promise.question]} times")
            if promise.kept and not said[promise.question]:
                self.lost.append(f"{promise.id}: acknowledged, and not remembered")

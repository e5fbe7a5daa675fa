"""Texts of mirrors, notes about what did not arrive, and sends that must have no effect: M2, P2."""

from __future__ import annotations

from trunkline.core.delivery.mirror_text import media_name
from trunkline.core.events import Body, Event
from trunkline.core.events.delivery import (
    HookSending,
    HookSent,
    IntentPrepared,
    IntentSettled,
    MirrorAppended,
    SendPreviewed,
)
from trunkline.core.events.gateway import ProcessStarted, SessionCreated, TranscriptAppended
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, IntentState
from trunkline.sim.events.script import ClientRequested
from trunkline.sim.events.wire import WireAccepted, WireRefused
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import IntentFacts, RunFacts
from trunkline.sim.invariants.base import Checker, EvidenceKind, cited

#: ends that leave a note; a part is marked as one
NOTED = frozenset(
    {IntentState.FAILED, IntentState.DEAD, IntentState.EXPIRED, IntentState.UNKNOWN, IntentState.MISPLACED}
)


class MirrorIsTruth(Checker):
    """M2: a transcript holds the accepted text as it was accepted, and marks a part as a part."""

    id = "M2"
    title = "Mirror equals what was sent"
    evidence = EvidenceKind.MIRRORS
    sentence = (
        "A mirrored text is that of the accepted chunks, or names the attached files; a part is marked as one, and "
        "nothing is mirrored that people cannot see. The session that sent a message has a note if it did not arrive."
    )

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: whether the gateway leaves notes
        self._notes = False
        #: bad ends of what turns and hands sent, without a note so far
        self._unnoted: dict[str, Event] = {}
        #: what has a note; one that an operator retried in vain needs no second one
        self._has_note: set[str] = set()

    @on(ProcessStarted)
    def _process_started(self, _event: Event, body: ProcessStarted) -> None:
        self._notes = body.notes

    @on(IntentSettled)
    def _settled(self, event: Event, body: IntentSettled) -> None:
        """A bad end is to have a note. Of a broken row it may be unknown which session sent it."""
        facts = self.run.intents.get(event.intent or "")
        noted = facts is not None and facts.body.intent_kind is not IntentKind.NOTICE and body.state in NOTED
        if not self._notes or not noted or body.reason in (Reason.BROKEN_ROW, Reason.ABANDONED):
            return
        if event.inbound in self.run.admitted and event.intent not in self._has_note:
            self.exercised += 1
            self._unnoted.setdefault(event.intent or "", event)

    @on(TranscriptAppended)
    def _noted(self, event: Event, body: TranscriptAppended) -> None:
        if body.role != "delivery":
            return
        self.exercised += 1
        facts = self.run.intents.get(event.intent or "")
        settled = None if facts is None or not facts.settled else facts.settled[-1].body
        # An end that is not recorded at all is for L1.
        bad = not isinstance(settled, IntentSettled) or settled.state in NOTED
        home = self.run.admitted.get(event.inbound or "", body.session_id)
        if facts is not None and not (bad and home == body.session_id):
            where = "in another session" if bad else "and it did not end badly"
            self._report(event, facts, f"{event.intent} is noted as not arrived, {where}", "no note")
        self._unnoted.pop(event.intent or "", None)
        self._has_note.add(event.intent or "")

    def finish(self, last: Event) -> None:
        """Report bad ends that the session of their message never heard of."""
        for intent, settled in self._unnoted.items():
            self.violate(
                at=last.seq,
                summary=f"{intent} did not arrive, and the session that sent it has no note of it",
                expected=["a transcript line with the role delivery, in the transaction of the end"],
                actual=[cited(settled, f"{settled.kind}, and no note")],
                evidence=[settled.seq],
                missing_after=settled.seq,
            )

    @on(MirrorAppended)
    def _mirrored(self, event: Event, body: MirrorAppended) -> None:
        facts = self.run.intents.get(event.intent or "")
        if not self.run.witnessed:
            return
        self.exercised += 1
        if facts is not None and facts.vouched:
            return  # an operator vouches for what people saw
        if facts is None or not facts.accepts:
            self._report(event, facts, f"{event.intent} was mirrored, but never accepted", "no entry")
            return
        if len(facts.mirrors) > 1 and facts.mirrors[-2].seq > facts.accepts[-1].seq:
            self._report(event, facts, f"{event.intent} was mirrored again, and nothing was accepted since", "no entry")
        texts, media = self._seen(facts)
        if texts == [body.text]:
            said = body.text
        elif media:
            said = ", ".join(media_name(file) for file in media)
        else:
            said = "\n".join(texts)
        if body.text != said and _words(body.text) != _words(said):
            summary = f"{event.intent} is mirrored as “{body.text[:60]}”, and people saw “{said[:60]}”"
            self._report(event, facts, summary, f"“{said[:200]}”")
        if body.partial is not (facts.acked < facts.body.chunks):
            whole = f"{facts.acked} of {facts.body.chunks} chunks have a receipt"
            summary = f"the entry of {event.intent} is {'' if body.partial else 'not '}marked as a part; {whole}"
            self._report(event, facts, summary, whole)

    def _seen(self, facts: IntentFacts) -> tuple[list[str], tuple[str, ...]]:
        """The texts of the chunks with a receipt, as people see them, and the attached files."""
        mark = "" if self.run.limits is None else self.run.limits.mark or ""
        texts: dict[int, str] = {}
        media: tuple[str, ...] = ()
        for accept in facts.accepts:
            made = accept.body
            if isinstance(made, WireAccepted) and made.chunk < facts.acked:
                texts[made.chunk] = made.text.removeprefix(mark)
                media = media or made.media
        return [texts[chunk] for chunk in sorted(texts)], media

    def _report(self, event: Event, facts: IntentFacts | None, summary: str, expected: str) -> None:
        accepts = () if facts is None else facts.accepts
        self.violate(
            at=event.seq,
            summary=summary,
            expected=[expected],
            actual=[cited(event, f"“{getattr(event.body, 'text', '')[:200]}”")],
            evidence=[*(accept.seq for accept in accepts), event.seq],
        )


def _words(text: str) -> str:
    """The text without the white space at which it was cut."""
    return "".join(text.split())


class DryRunHasNoEffect(Checker):
    """P2: a cancelled message and a dry run have no effect except the answer to the caller."""

    id = "P2"
    title = "Cancel, dry run and none are absolute"
    sentence = (
        "A message that a hook cancelled is not prepared, sent or mirrored; a dry run creates no session and no "
        "intent; both are reported as what they are."
    )

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        self._cancelled: dict[str, Event] = {}
        #: seqs of dry runs and of the events that led to them
        self._previews: dict[int, Event] = {}
        self._outcomes: set[str] = set()
        #: seqs of the dry runs that clients requested
        self._dry_runs: dict[int | None, Event] = {}

    @on(HookSending)
    def _hook(self, event: Event, body: HookSending) -> None:
        if body.verdict == "cancelled":
            self.exercised += 1
            self._cancelled[event.intent or ""] = event
        else:
            # The hook was called again after a crash, and kept it this time.
            self._cancelled.pop(event.intent or "", None)

    @on(SendPreviewed)
    def _previewed(self, event: Event, _body: SendPreviewed) -> None:
        self.exercised += 1
        for seq in (event.seq, event.cause):
            if seq is not None:
                self._previews[seq] = event

    @on(IntentPrepared, SessionCreated, WireAccepted, WireRefused)
    def _effect(self, event: Event, _body: Body) -> None:
        if not self._cancelled and not self._previews and not self._dry_runs:
            return
        cancelled = self._cancelled.get(event.intent or "")
        if cancelled is not None:
            self._report(event, cancelled, f"{event.intent} was cancelled by a hook, and has an effect all the same")
        _, client = self.run.asked.get(event.cause or 0, ("", None))
        preview = self._previews.get(event.cause or 0) or self._dry_runs.get(client)
        if preview is not None:
            self._report(event, preview, f"a dry run has an effect: {event.kind}")

    @on(HookSent)
    def _told(self, event: Event, body: HookSent) -> None:
        cancelled = self._cancelled.get(event.intent or "")
        self._outcomes.add(event.intent or "")
        if cancelled is not None and body.state is not IntentState.CANCELLED:
            self._report(
                event, cancelled, f"{event.intent} was cancelled, and hooks were notified that it is {body.state}"
            )

    @on(ClientRequested)
    def _client_asked(self, event: Event, body: ClientRequested) -> None:
        if body.dry_run:
            self.exercised += 1
            self._dry_runs[event.seq] = event

    def finish(self, last: Event) -> None:
        """Report cancelled messages whose caller got no answer."""
        for intent, cancelled in self._cancelled.items():
            if intent in self.run.cancelled and intent not in self._outcomes:
                end = self.run.cancelled[intent]
                self.violate(
                    at=last.seq,
                    summary=f"{intent} was cancelled, and the hooks were never notified of its outcome",
                    expected=["hook.sent (cancelled)"],
                    actual=[cited(end, f"{end.kind}, and nothing after it")],
                    evidence=sorted({cancelled.seq, end.seq}),
                    missing_after=end.seq,
                )

    def _report(self, event: Event, since: Event, summary: str) -> None:
        self.violate(
            at=event.seq,
            summary=summary,
            expected=["no effect except the answer to the caller"],
            actual=[cited(event)],
            evidence=sorted((since.seq, event.seq)),
        )

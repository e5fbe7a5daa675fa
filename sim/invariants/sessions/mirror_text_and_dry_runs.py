"""Texts of mirrors, notes about what did not arrive, and sends that must have no effect: M2, P2."""

from trunkline.core.action_names import Action
from trunkline.core.events import Body, Event, delivery, gateway
from trunkline.core.events.actions import TranscriptChanged
from trunkline.core.reasons import Reason
from trunkline.core.text.mirror_text import media_name
from trunkline.core.values import IntentKind, IntentState
from trunkline.sim.events import script, wire
from trunkline.sim.events.actions import WireActed
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import IntentFacts
from trunkline.sim.invariants.base import Checker, EvidenceKind

#: what changes a message that people have read
_CHANGES = (Action.EDIT, Action.DELETE, Action.UNSEND)
#: ends that leave a note; a part is marked as one
NOTED = frozenset(
    {IntentState.FAILED, IntentState.DEAD, IntentState.EXPIRED, IntentState.UNKNOWN, IntentState.MISPLACED}
)


class MirrorIsTruth(Checker):
    """M2: a transcript holds the accepted text as it was accepted, and marks a part as a part."""

    title = "Mirror equals what was sent"
    evidence = EvidenceKind.MIRRORS
    sentence = (
        "A mirrored text is that of the accepted chunks and names the attached files; a part is marked as one, and "
        "nothing is mirrored that people cannot see; its line changes if and only if its message does. The session "
        "that sent a message has a note if it did not arrive."
    )

    #: whether the gateway leaves notes
    _notes = False
    #: bad ends of what turns and hands sent, without a note so far
    _unnoted: dict[str, Event] = {}
    #: what has a note; one that an operator retried in vain needs no second one
    _has_note: set[str] = set()
    #: change -> what the platform did to a message of the gateway, until its line follows
    _changed: dict[str, Event] = {}

    def on_acted(self, event: Event, body: WireActed) -> None:
        if body.author == "bot" and body.action in _CHANGES:
            self._changed[event.intent or ""] = event

    def on_line_changed(self, event: Event, body: TranscriptChanged) -> None:
        """The line of a message changes as the message does."""
        acted, facts = self._changed.pop(event.intent or "", None), self.run.intents.get(event.intent or "")
        self.exercised += 1
        did = None if acted is None else acted.body
        if self.run.witnessed and not (isinstance(did, WireActed) and (did.action is not Action.EDIT) is body.deleted):
            summary = f"{event.intent} changes the line of {body.line}, and people see no such change"
            self._report(event, facts, summary, f"“{body.before}”")

    def on_process_started(self, _event: Event, body: gateway.ProcessStarted) -> None:
        self._notes = body.notes

    def on_settled(self, event: Event, body: delivery.IntentSettled, facts: IntentFacts) -> None:
        """A bad end is to have a note. Of a broken row it may be unknown which session sent it."""
        noted = facts.body.intent_kind is not IntentKind.NOTICE and body.state in NOTED
        if not self._notes or not noted or body.reason in (Reason.BROKEN_ROW, Reason.ABANDONED):
            return
        if event.inbound in self.run.admitted and event.intent not in self._has_note:
            self.exercised += 1
            self._unnoted.setdefault(event.intent or "", event)

    def on_noted(self, event: Event, body: gateway.TranscriptAppended) -> None:
        if body.role != "delivery":
            return
        self.exercised += 1
        facts = self.run.intents.get(event.intent or "")
        settled = None if facts is None or not facts.settled else facts.settled[-1].body
        # An end that is not recorded at all is for L1.
        bad = not isinstance(settled, delivery.IntentSettled) or settled.state in NOTED
        home = self.run.admitted.get(event.inbound or "", body.session_id)
        if facts is not None and not (bad and home == body.session_id):
            where = "in another session" if bad else "and it did not end badly"
            self._report(event, facts, f"{event.intent} is noted as not arrived, {where}", "no note")
        self._unnoted.pop(event.intent or "", None)
        self._has_note.add(event.intent or "")

    def finish(self, last: Event) -> None:
        """Report bad ends that the session of their message never heard of, and changes without their line."""
        for intent, acted in self._changed.items():
            facts = self.run.intents.get(intent)
            message = None if facts is None else self.run.intents.get(facts.body.of or "")
            done = facts is not None and facts.over and facts.acked == facts.body.chunks
            # What was so already, and an edit to the same words, changes no line.
            did = acted.body
            same = isinstance(did, WireActed) and (did.repeated or did.text == did.before)
            if facts is not None and done and not same and message is not None and len(message.mirrors) == 1:
                self._report(acted, facts, f"{intent} changed a message, and not its line", "the line as people see it")
        for intent, settled in self._unnoted.items():
            summary = f"{intent} did not arrive, and the session that sent it has no note of it"
            expected = "a transcript line with the role delivery, in the transaction of the end"
            self.miss(last, settled, summary, expected, shown=f"{settled.kind}, and no note")

    def on_mirrored(self, event: Event, body: delivery.MirrorAppended) -> None:
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
        if len(facts.accepts) == facts.acked == facts.body.chunks == 1 and not body.partial:
            seen = facts.accepts[0].body
            if isinstance(seen, wire.WireAccepted) and seen.text == body.text and not seen.media:
                return
        texts, media = self._seen(facts)
        names = ", ".join(media_name(file) for file in media)
        said = body.text if texts == [body.text] and not media else "\n".join(filter(None, (*texts, names)))
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
            if isinstance(made, wire.WireAccepted) and made.chunk < facts.acked:
                texts[made.chunk] = made.text.removeprefix(mark)
                media = media or made.media
        return [texts[chunk] for chunk in sorted(texts)], media

    def _report(self, event: Event, facts: IntentFacts | None, summary: str, expected: str) -> None:
        accepts = () if facts is None else facts.accepts
        self.accuse(event, summary, expected, *accepts, shown=f"“{getattr(event.body, 'text', '')[:200]}”")


def _words(text: str) -> str:
    """The text without the white space at which it was cut."""
    return "".join(text.split())


_NO_EFFECT = "no effect except the answer to the caller"


class DryRunHasNoEffect(Checker):
    """P2: a cancelled message and a dry run have no effect except the answer to the caller."""

    title = "Cancel, dry run and none are absolute"
    sentence = (
        "A message that a hook cancelled is not prepared, sent or mirrored; a dry run creates no session and no "
        "intent; both are reported as what they are."
    )

    _cancelled: dict[str, Event] = {}
    #: seqs of dry runs and of the events that led to them
    _previews: dict[int, Event] = {}
    #: seqs of the dry runs that clients requested
    _dry_runs: dict[int | None, Event] = {}

    def on_hook(self, event: Event, body: delivery.HookSending) -> None:
        if body.verdict == "cancelled":
            self.exercised += 1
            self._cancelled[event.intent or ""] = event
        else:
            # The hook was called again after a crash, and kept it this time.
            self._cancelled.pop(event.intent or "", None)

    def on_previewed(self, event: Event, _body: delivery.SendPreviewed) -> None:
        self.exercised += 1
        for seq in (event.seq, event.cause):
            if seq is not None:
                self._previews[seq] = event

    @on(
        *(delivery.IntentPrepared, gateway.SessionCreated, wire.WireAccepted, wire.WireRefused),
        after=(delivery.HookSending, delivery.SendPreviewed, script.ClientRequested),
    )
    def _effect(self, event: Event, _body: Body) -> None:
        cancelled = self._cancelled.get(event.intent or "")
        if cancelled is not None:
            summary = f"{event.intent} was cancelled by a hook, and has an effect all the same"
            self.accuse(event, summary, _NO_EFFECT, cancelled, shown=event.kind)
        _, client = self.run.asked.get(event.cause or 0, ("", None))
        preview = self._previews.get(event.cause or 0) or self._dry_runs.get(client)
        if preview is not None:
            self.accuse(event, f"a dry run has an effect: {event.kind}", _NO_EFFECT, preview, shown=event.kind)

    def on_told(self, event: Event, body: delivery.HookSent) -> None:
        cancelled = self._cancelled.get(event.intent or "")
        if cancelled is not None and body.state is not IntentState.CANCELLED:
            summary = f"{event.intent} was cancelled, and hooks were notified that it is {body.state}"
            self.accuse(event, summary, _NO_EFFECT, cancelled, shown=event.kind)

    def on_client_asked(self, event: Event, body: script.ClientRequested) -> None:
        if body.dry_run:
            self.exercised += 1
            self._dry_runs[event.seq] = event

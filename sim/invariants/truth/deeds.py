"""Deeds of people on messages: E5."""

from trunkline.core.events import Event, gateway
from trunkline.core.reasons import Reason
from trunkline.core.records.messages import NOTE
from trunkline.core.values import DeedKind, WorkKind
from trunkline.sim.events import hands
from trunkline.sim.invariants.base import Checker


class ChangesOfMind(Checker, symptoms=("forgot", "unasked")):
    """E5: edits, deletions and reactions count. Costs two look-ups for each of them, and for each turn."""

    title = "Changes of mind count"
    sentence = (
        "What a person edits or deletes before the turn of the message begins is answered as it is then, or not at "
        "all; whatever else people do to a message that a session has is noted there, once, unless the configuration "
        "says otherwise."
    )

    #: questions that a process has taken -> whether their turn has begun there
    _begun: dict[str, bool] = {}
    #: channel, account, conversation and id of a message -> the question
    _questions: dict[tuple[str, ...], str] = {}
    #: questions that were edited or deleted in time -> the text since then, none if there is no question any more
    _changed: dict[str, tuple[Event, str | None]] = {}
    #: deeds without their note, by the seq of their event; and all that were taken
    _unnoted: dict[int, Event] = {}
    _taken: set[tuple[str, ...]] = set()
    #: messages that are not there any more; the first name is that of all messages that are no questions
    _gone: set[str] = {""}
    _reset = False

    def on_process(self, _event: Event, _body: gateway.ProcessStarted) -> None:
        """Begin again with the turns of an earlier process."""
        self._begun = dict.fromkeys(self._begun, False)

    def on_admitted(self, event: Event, body: gateway.InboundAdmitted) -> None:
        name, inbound = self.run.messages.get(event.inbound or ""), event.inbound or ""
        if body.work is WorkKind.MESSAGE and name is not None and self.run.act_of(*name) is None:
            self._questions[*name[0][:3], name[1]] = inbound
            self._begun[inbound] = False

    def on_started(self, event: Event, _body: gateway.TurnStarted) -> None:
        inbound = event.inbound or ""
        if inbound in self._begun:
            self._begun[inbound] = True
        changed, text = self._changed.get(inbound, (event, ""))
        if text is None:
            self.accuse(event, f"{inbound} was deleted, and its turn begins", "no turn", changed)

    def on_ended(self, event: Event, _body: gateway.TurnEnded) -> None:
        self._begun.pop(event.inbound or "", None)

    def on_given(self, event: Event, body: hands.AgentAnswered) -> None:
        changed, text = self._changed.get(self.run.hands.work_of.get(event.turn or "", ""), (event, None))
        # An agent that has failed may be one of a process that died before the edit.
        if text is None or body.failed:
            return
        self.exercised += 1
        if text not in body.given:
            self.accuse(event, f"{body.agent} got “{body.given}”, which was edited before", f"“{text}”", changed)

    def on_deed(self, event: Event, body: gateway.DeedReceived) -> None:
        self.exercised += 1
        place, what = body.address.lane[:3], f"the {body.deed} of {body.of}"
        inbound, known = self._questions.get((*place, body.of), ""), (*place, body.message_id)
        if body.outcome == "dropped":
            if body.reason is Reason.UNKNOWN_MESSAGE and inbound not in self._gone and not self._reset:
                self.accuse(event, f"{what} is dropped, and the message is known", "what the session learns of it")
            return
        if known in self._taken:
            self.accuse(event, f"{what} is taken twice", "deed.received (duplicate-message)")
        self._taken.add(known)
        if body.deed is DeedKind.DELETE:
            self._gone.add(inbound)
        if body.outcome in ("changed", "withdrawn"):
            self._changed[inbound] = event, body.text if body.deed is DeedKind.EDIT else None
            return
        self._unnoted[event.seq] = event
        if self._begun.get(inbound) is False and body.deed in (DeedKind.EDIT, DeedKind.DELETE):
            self.accuse(event, f"{what} is only noted, and its turn has not begun", "the question as it is now")

    def on_appended(self, event: Event, body: gateway.TranscriptAppended) -> None:
        if body.role == NOTE:
            self._unnoted.pop(event.cause or 0, None)

    def on_forgotten(self, _event: Event, _body: gateway.SessionReset) -> None:
        self._reset = True

    def finish(self, last: Event) -> None:
        """Report deeds without a note."""
        for event in self._unnoted.values():
            self.miss(last, event, "a deed has no note", "a line of the transcript", shown="noted, and no line")

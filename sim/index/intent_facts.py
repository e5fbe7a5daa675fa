"""Facts about one intent: its state, its lane, and what hooks and agents of the cast want of it."""

from collections.abc import Mapping

import msgspec

from trunkline.core.channels import rules_for
from trunkline.core.delivery.notes import NOTICE_SUFFIX
from trunkline.core.events import Event, delivery
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import Address
from trunkline.sim.events import actions, hands, script
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.index.projection import Projection

Lane = tuple[str, str, str, str]


class LaneFacts(msgspec.Struct):
    """An outbound lane: the intents of a conversation, strictly one after another."""

    lane: Lane
    #: open intents, in order of preparation
    open: dict[str, None]
    #: when the first of them is due, by which event; none while it is being attempted
    due: float | None = None
    due_by: Event | None = None
    #: the event of a wait whose end only the gateway knows
    waiting: Event | None = None
    #: the newest accept: seq of the intent's preparation, chunk, and the event
    newest: tuple[int, int, Event] | None = None


class IntentFacts(msgspec.Struct):
    """An intent: its preparation, its accepts, and its state so far."""

    prepared: Event
    body: delivery.IntentPrepared
    #: the lane of its conversation
    queue: LaneFacts
    accepts: tuple[Event, ...] = ()
    #: what the platform carried out of it, if it is a change
    acts: tuple[Event, ...] = ()
    #: number of leading chunks with a receipt
    acked: int = 0
    #: attempts on the next chunk, over all processes, and the last of them
    tries: int = 0
    started: Event | None = None
    #: the last refusal by its platform
    refused: Event | None = None
    #: the last outcome of an attempt on the next chunk
    ended: Event | None = None
    mirrors: tuple[Event, ...] = ()
    settled: tuple[Event, ...] = ()
    #: what its platform took back of it, and what the gateway made of that
    losses: tuple[Event, ...] = ()
    #: an operator acted on it; vouched for a chunk; and closed it
    reopened: Event | None = None
    vouched: bool = False
    closed: bool = False

    @property
    def lane(self) -> Lane:
        """The lane of the intent's conversation."""
        return self.queue.lane

    def reopen(self, event: Event) -> None:
        """Apply an operator's reopening: attempts count from zero."""
        self.reopened, self.closed = event, False
        self.tries = 0
        self.started = self.ended = None

    @property
    def over(self) -> bool:
        """Whether the intent has ended, and no operator has reopened it since."""
        if self.closed:
            return True
        return bool(self.settled) and (self.reopened is None or self.settled[-1].seq > self.reopened.seq)

    @property
    def last(self) -> Event:
        """The last event that is known of the intent."""
        lasting = (*self.accepts[-1:], *self.acts[-1:], *self.settled[-1:])
        known = (self.prepared, self.reopened, self.started, self.ended, *lasting)
        return max((event for event in known if event is not None), key=lambda event: event.seq)

    @property
    def may_be_out(self) -> bool:
        """Whether the next chunk may have been accepted without a stored receipt, if the process dies now."""
        if self.started is None or self.over:
            return False
        ended = self.ended.body if self.ended is not None and self.ended.seq > self.started.seq else None
        return not isinstance(ended, delivery.AttemptEnded) or ended.decision in ("settle", "misplaced")

    @property
    def accepted_chunks(self) -> set[int]:
        """Chunks that people can see, or requests of a change that were carried out."""
        done = (event.body for event in (*self.accepts, *self.acts))
        return {body.chunk for body in done if isinstance(body, WireAccepted | actions.WireActed)}


class RunHooks(Projection):
    """How hooks reroute the intents of a run."""

    _rerouted: dict[str, list[script.HookRedirected]] = {}

    def may_go(self, intent: str | None, place: Address) -> bool:
        """Whether a hook sends an intent to a place, or the answer that the intent is a notice about.

        Of a target only the text is known here. A notice is posted where its answer was to be, or in the room above.
        """
        names = dict.fromkeys((intent or "", (intent or "").removesuffix(NOTICE_SUFFIX)))
        found = [body for name in names for body in self._rerouted.get(name, ())]
        places = [body.to for body in found if body.to is not None]
        if (intent or "").endswith(NOTICE_SUFFIX):
            places += [rules_for(to.channel).room_above(to) for to in places]
        return any(body.target is not None for body in found) or any(to.lane == place.lane for to in places)

    def targets(self, intent: str | None) -> tuple[str, ...]:
        """The targets that hooks name for an intent, as text."""
        found = self._rerouted.get(intent or "", ())
        return tuple(body.target for body in found if body.target is not None)

    def quotable(self, intent: str | None) -> tuple[str | None, ...]:
        """The messages that hooks let an intent quote, by id."""
        return tuple(body.quotes for body in self._rerouted.get(intent or "", ()))

    def on_redirected(self, event: Event, body: script.HookRedirected) -> None:
        self._rerouted.setdefault(event.intent or "", []).append(body)


class AnsweredMessages(Projection):
    """Which messages agents name when they answer, so that a quote of one is theirs and not the gateway's."""

    def __init__(self, intents: Mapping[str, IntentFacts]) -> None:
        self._intents = intents
        #: turn -> messages of people, by id, and the agent's own, by intent
        self._people: dict[str, list[str]] = {}
        self._own: dict[str, list[str]] = {}

    def quotable(self, turn: str | None) -> tuple[str, ...]:
        """The messages that the agent of a turn answers, by the platform's id."""
        sent = [self._intents[own].accepts for own in self._own.get(turn or "", ()) if own in self._intents]
        ids = [
            accept.body.provider_id for accepts in sent for accept in accepts if isinstance(accept.body, WireAccepted)
        ]
        return (*self._people.get(turn or "", ()), *ids)

    def in_thread(self, turn: str | None, place: Address, at: Address, own: str | None = None) -> bool:
        """Whether `at` is the thread of an answered message in `place`, on a platform that answers in threads.

        `own`: the message of the turn, which its agent may answer by its tool.
        """
        there = (at.channel, at.conversation) == (place.channel, place.conversation)
        return there and at.thread is not None and at.thread in (own, *self.quotable(turn))

    def on_quotes(self, event: Event, body: hands.AgentQuotes) -> None:
        for named in (self._people, self._own):
            named.setdefault(event.turn or "", []).append(body.message)

    def on_acts(self, event: Event, body: actions.AgentActs) -> None:
        if body.message_id is not None:
            self._people.setdefault(event.turn or "", []).append(body.message_id)
        if body.of is not None:
            self._own.setdefault(event.turn or "", []).append(body.of)


class RunSpeech(Projection):
    """The words of agents, clients, hooks and hands, before the gateway had them in its hands."""

    #: turn -> what its agent returned; a turn that runs again returns again
    answers: dict[str, list[Event]] = {}
    #: turn -> what its agent asked its tool to say
    sends: dict[str, list[Event]] = {}
    #: turn -> the edits that its agent asked for
    edits: dict[str, list[Event]] = {}
    #: seq of a client's request -> the request
    clients: dict[int, Event] = {}
    #: intent -> what hooks made of its text, in order
    rewritten: dict[str, list[Event]] = {}
    #: intents that hooks withdrew, or sent elsewhere, which the gateway may refuse
    withdrawn: set[str] = set()
    #: delegation -> the results that were given for it
    results: dict[str, list[Event]] = {}

    @property
    def known(self) -> bool:
        """Whether the cast recorded its words. Traces of earlier versions and of real gateways have none."""
        return bool(self.answers or self.clients)

    def on_answered(self, event: Event, _body: hands.AgentAnswered) -> None:
        self.answers.setdefault(event.turn or "", []).append(event)

    def on_sends(self, event: Event, _body: hands.AgentSends) -> None:
        self.sends.setdefault(event.turn or "", []).append(event)

    def on_acts(self, event: Event, body: actions.AgentActs) -> None:
        if body.text:
            self.edits.setdefault(event.turn or "", []).append(event)

    def on_asked(self, event: Event, body: script.ClientRequested) -> None:
        if body.text is not None:
            self.clients[event.seq] = event

    def on_rewrote(self, event: Event, _body: script.HookRewrote) -> None:
        self.rewritten.setdefault(event.intent or "", []).append(event)

    def on_withdrew(self, event: Event, _body: script.HookCancelled | script.HookRedirected) -> None:
        self.withdrawn.add(event.intent or "")

    def on_hand(self, event: Event, body: hands.HandAnswered) -> None:
        if body.outcome is HandOutcome.OK and body.text.strip():
            self.results.setdefault(event.delegation or "", []).append(event)

    def on_worker(self, event: Event, body: hands.WorkerAnswered) -> None:
        if body.outcome is HandOutcome.OK and body.accepted and body.text.strip():
            self.results.setdefault(body.named, []).append(event)

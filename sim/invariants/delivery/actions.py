"""Actions of the message tool on the wire: each takes effect once, and on the message that was meant: A1, A2."""

from trunkline.core.events import Event
from trunkline.sim.events import actions, wire
from trunkline.sim.index.intent_facts import Lane
from trunkline.sim.invariants.base import Checker, EvidenceKind, cited

#: channel, account, conversation, and the platform's id of a message in it
_Message = tuple[str, str, str, str]


class ActionOnce(Checker):
    """A1: an action that an agent asked for once takes effect once, over retries, crashes and re-run turns."""

    title = "An action takes effect once"
    evidence = EvidenceKind.COPIES
    sentence = (
        "Each request of a change takes effect at most once, however often it is repeated; and all changes together "
        "take effect at most as often as agents asked for them."
    )

    #: channel, account and key -> where a request took effect
    _effects: dict[tuple[str, str, str], list[Event]] = {}
    #: action and message -> the calls that asked for it
    _asked: dict[tuple[str, str], set[tuple[str, int]]] = {}
    #: action and message -> the intents that carried it out, with their first effect
    _done: dict[tuple[str, str], dict[str, Event]] = {}

    def on_acts(self, event: Event, body: actions.AgentActs) -> None:
        what = body.action, body.of or body.message_id or ""
        self._asked.setdefault(what, set()).add((event.turn or "", body.call))

    def on_acted(self, event: Event, body: actions.WireActed) -> None:
        self.exercised += 1
        if body.repeated:
            return
        place = body.address
        effects = self._effects.setdefault((place.channel, place.account, body.key), [])
        effects.append(event)
        if len(effects) > 1:
            self._twice(effects, body, f"one request to {body.action.value}")
            return
        what = body.action.value, self._message(event, body)
        done = self._done.setdefault(what, {})
        done.setdefault(event.intent or "", event)
        asked = self._asked.get(what)
        if asked is not None and len(done) > len(asked):
            facts = self.run.intents.get(event.intent or "")
            another = None if facts is None else facts.prepared.seq
            self._twice(list(done.values()), body, f"{len(asked)} calls to {body.action.value}", another)

    def _message(self, event: Event, body: actions.WireActed) -> str:
        """The message of a change as agents name it: the intent that sent it, or the platform's id."""
        facts = self.run.intents.get(event.intent or "")
        return (facts.body.of if facts is not None else None) or body.message_id or ""

    def _twice(self, effects: list[Event], body: actions.WireActed, what: str, another: int | None = None) -> None:
        """Report effects that nobody asked for. `another`: the intent that nobody asked for."""
        # A late first request undoes what followed it, but the repeat was made too early.
        repeat = max(effects, key=lambda effect: getattr(effect.body, "attempt", 0))
        summary = f"{what} took effect {len(effects)} times at {self.run.name(body.address)}"
        expected, wrong = "each asked-for action takes effect once", another or repeat.cause or repeat.seq
        self.accuse(effects[-1], summary, expected, *effects, shown=list(map(_line, effects)), first_wrong=wrong)


class MeantMessageOnly(Checker):
    """A2: a change concerns the message that the agent meant, and no other."""

    title = "The message that was meant"
    evidence = EvidenceKind.MISPLACED
    sentence = (
        "An edit, a deletion, a reaction or a pin concerns the message that the agent meant, in its conversation, "
        "and edits and deletions concern messages of the account only, unless it moderates the conversation."
    )

    #: action -> the messages of people that agents meant, and the intents of their own
    _people: dict[str, set[tuple[Lane, str]]] = {}
    _own: dict[str, set[str]] = {}
    #: message of the gateway -> its intent
    _sent: dict[_Message, str] = {}
    #: whether the cast says what it means
    _witnessed = False

    def on_accepted(self, event: Event, body: wire.WireAccepted) -> None:
        place = body.address
        self._sent[place.channel, place.account, place.conversation, body.provider_id] = event.intent or ""

    def on_acts(self, _event: Event, body: actions.AgentActs) -> None:
        self._witnessed = True
        if body.of is not None:
            self._own.setdefault(body.action, set()).add(body.of)
        elif body.place is not None and body.message_id is not None:
            channel, _, conversation, thread = body.place.lane
            self._people.setdefault(body.action, set()).add(((channel, "", conversation, thread), body.message_id))

    def on_acted(self, event: Event, body: actions.WireActed) -> None:
        if body.message_id is None or not self._witnessed:
            return
        self.exercised += 1
        channel, account, conversation, thread = body.address.lane
        action = body.action.value
        sent = self._sent.get((channel, account, conversation, body.message_id))
        if sent is not None and sent in self._own.get(action, ()):
            return
        if sent is None and ((channel, "", conversation, thread), body.message_id) in self._people.get(action, ()):
            return
        facts = self.run.intents.get(event.intent or "")
        whose = "its own" if body.author == "bot" else "somebody else's"
        where = self.run.name(body.address)
        summary = f"{action} concerned message {body.message_id} in {where}, which no agent meant"
        expected = f"{action} of a message that an agent named"
        shown = f"{action} of {whose} message {body.message_id} in {where}"
        asked = () if facts is None else (facts.prepared,)
        wrong = None if facts is None else facts.prepared.seq
        self.accuse(event, summary, expected, *asked, shown=shown, first_wrong=wrong)


def _line(event: Event) -> str:
    body = event.body
    assert isinstance(body, actions.WireActed)
    return cited(event, f"{body.action.value} “{body.text}” by {event.intent}, attempt {body.attempt}")

"""Results as agents really get them, and turns that follow from each other come to an end: C2, C7, C8, C10."""

import msgspec

from trunkline.core.events import Event, gateway
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import WorkKind
from trunkline.sim.events import hands, world
from trunkline.sim.events.hands import AgentDelegated
from trunkline.sim.events.world import USUAL_CHAIN, PeerSaid
from trunkline.sim.index.hand_facts import HandRun
from trunkline.sim.invariants.base import Checker, cited

#: how the sender of a result begins; no person's id does
RESERVED = "hand:"
#: the kinds of prompts, in the order in which an agent gets them
_ORDER = ("base", "channel", "callback")
#: characters of a text that a violation shows
_SHOWN = 60


def _is_hand(name: str) -> bool:
    """Whether an id or a name begins like that of a hand."""
    return ":" in name and name.strip().lower().startswith(RESERVED)


def _short(text: str) -> str:
    return f"“{text if len(text) <= _SHOWN else f'{text[:_SHOWN]}… ({len(text)} characters)'}”"


class CallbackShape(Checker, symptoms=("forgot",)):
    """C2: A callback says what it is.

    The agent that delegated gets a result in the session that delegated, from the hand that worked, for the person who
    asked, after its base and channel prompts and one prompt that no other turn has; a model gets it inside a boundary.
    """

    #: prompts of callbacks so far
    _prompts: set[str] = set()

    @property
    def _has_prompt(self) -> bool:
        """Whether the operator wants callbacks to have a prompt."""
        return self.run.limits is None or self.run.limits.callback_prompt

    def on_given(self, event: Event, body: hands.AgentGiven) -> None:
        if body.work is not WorkKind.CALLBACK:
            self._another_turn(event, body)
            return
        self.exercised += 1
        run = self.run.hands.runs.get(event.delegation or "")
        if run is None or run.accepted is None:
            summary = f"the agent got a result of {event.delegation}, which nobody delegated"
            self.accuse(event, summary, "no such turn", shown=[cited(event, "").rstrip()])
            return
        self._from_the_hand(event, body, run)
        self._for_the_person(event, body, run)
        self._in_the_session(event, body, run)
        self._check_prompt(event, body)
        self._check_boundary(event, body)

    def _another_turn(self, event: Event, body: hands.AgentGiven) -> None:
        kept = [prompt for prompt in body.prompts if prompt.kind == "callback" or prompt.text in self._prompts]
        if kept:
            summary = "a turn that brings no result has the prompt of a callback"
            self.accuse(event, summary, "the prompt of a callback only in its own turn", shown=kept[0].text)

    def _from_the_hand(self, event: Event, body: hands.AgentGiven, run: HandRun) -> None:
        hand = body.hand if run.asked is None else run.asked.hand
        if (body.peer.id, body.peer.name) != (RESERVED + hand, hand):
            summary = f"the result of {run.id} did not come from its hand"
            shown = f"{body.peer.id} ({body.peer.name})"
            self.accuse(event, summary, f"from {RESERVED}{hand} ({hand})", shown=shown)

    def _for_the_person(self, event: Event, body: hands.AgentGiven, run: HandRun) -> None:
        received = self.run.request_of(run.id)
        if received is None or not isinstance(received.body, gateway.InboundReceived):
            return
        asker = received.body.peer.id
        # A person who is called like a hand has another id for agents (C7).
        if body.asked_by is None or not (body.asked_by.id == asker or _is_hand(asker)):
            got = "nobody" if body.asked_by is None else body.asked_by.id
            summary = f"the result of {run.id} was given for the wrong person"
            expected = f"for {asker}, who wrote #{received.seq}"
            self.accuse(event, summary, expected, received, shown=f"for {got}")

    def _in_the_session(self, event: Event, body: hands.AgentGiven, run: HandRun) -> None:
        asked = run.asked
        if asked is not None and (asked.agent, asked.session_id) != (body.agent, body.session_id):
            summary = f"the result of {run.id} was given to a session that did not delegate it"
            call = () if run.call is None else (run.call,)
            expected, shown = f"{asked.agent} in {asked.session_id}", f"{body.agent} in {body.session_id}"
            self.accuse(event, summary, expected, *call, shown=shown)

    def _check_prompt(self, event: Event, body: hands.AgentGiven) -> None:
        kinds = [prompt.kind for prompt in body.prompts]
        self._prompts |= {prompt.text for prompt in body.prompts if prompt.kind == "callback"}
        right = sorted(set(kinds), key=_ORDER.index) if set(kinds) <= set(_ORDER) else []
        joined = "\n\n".join(prompt.text for prompt in body.prompts)
        missing = self._has_prompt and "callback" not in kinds
        if kinds != right or missing or not all(prompt.text.strip() for prompt in body.prompts):
            summary = f"the result of {event.delegation} came without its prompt, or with others out of order"
            expected = "base, channel and callback prompts in order"
            self.accuse(event, summary, expected, shown=", ".join(kinds) or "no prompt")
        elif (body.prompt or "") != joined:
            summary = f"the prompts of {event.delegation} are not those of its turn"
            self.accuse(event, summary, _short(joined), shown=_short(body.prompt or ""))

    def _check_boundary(self, event: Event, body: hands.AgentGiven) -> None:
        """A model gets the text inside a fence that the text cannot end, below a line that names the hand."""
        before, found, after = body.frame.partition("{text}")
        opened, closed = _last_line(before), _first_line(after)
        named = before.partition("\n")[0].endswith(" wrote:")
        if found and opened and closed and named and closed not in body.text:
            return
        summary = f"a model gets the result of {event.delegation} without a boundary"
        expected = f"{body.peer.name} wrote, and the text inside a fence"
        self.accuse(event, summary, expected, shown=_short(body.frame or "{text}"))


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0].strip() if lines else ""


class ReservedSenders(Checker, symptoms=("unasked",)):
    """C7: nobody but a hand is called like one."""

    title = "Only hands are hands"
    sentence = (
        f"No message of a person or a bot reaches an agent from a sender whose id or name begins with `{RESERVED}`."
    )

    def on_said(self, event: Event, body: world.PeerSaid) -> None:
        if _is_hand(body.peer.id) or _is_hand(body.peer.name):
            self.exercised += 1

    def on_given(self, event: Event, body: hands.AgentGiven) -> None:
        if body.work in (WorkKind.CALLBACK, WorkKind.TASK) or not (_is_hand(body.peer.id) or _is_hand(body.peer.name)):
            return
        self.exercised += 1
        summary = f"an agent takes {body.peer.id} ({body.peer.name}), who wrote a message, for a hand"
        expected = "another id and name, which show that they were escaped, or no turn"
        self.accuse(event, summary, expected, shown=f"{body.agent} got {_short(body.text)} from {body.peer.id}")


class WholeResult(Checker, symptoms=("forgot",)):
    """C8: The whole result.

    The text that an agent gets as a result is what the hand returned, character for character and however long; of a
    hand that returned nothing, it is what the gateway stored as its end.
    """

    def on_given(self, event: Event, body: hands.AgentGiven) -> None:
        run = self.run.hands.runs.get(event.delegation or "")
        if body.work is not WorkKind.CALLBACK or run is None or run.result is None or run.finished is None:
            return
        self.exercised += 1
        outcome, stored = run.result.outcome, run.result.text
        answered = run.texts(outcome)
        if stored in answered:
            # The one that counts; a later one is no result.
            answered = {stored}
        right = body.text in answered if answered else body.text == stored or not stored
        if outcome is HandOutcome.OK and run.was_silent and not body.text:
            right = True
        if right and body.outcome in (None, outcome):
            return
        of = ", ".join(_short(text) for text in sorted(answered)) or _short(stored)
        summary = f"the agent did not get what {run.id} returned"
        shown = f"{body.outcome or outcome}: {_short(body.text)}"
        self.accuse(event, summary, f"{outcome.value}: {of}", *run.answers, run.finished, shown=shown)


class _Talk(msgspec.Struct):
    """The turns of a session that bots have started one after the other, by the messages of these."""

    turns: dict[str, Event] = {}
    last: float = 0.0


class ChainsEnd(Checker, symptoms=("unasked",)):
    """C10: Chains end.

    No more turns follow from each other than are configured, unless a person writes: an agent that delegates each
    result again is refused at last, and bots that answer each other are not heard any more.
    """

    #: ids of what bots have said
    _by_bots: set[str] = set()
    _talks: dict[str, _Talk] = {}

    def on_delegated(self, event: Event, _body: AgentDelegated) -> None:
        """Count the results, each of which was delegated again, down to this task."""
        hands, limits = self.run.hands, self.run.limits
        if event.delegation is None or limits is None or (event.turn or "") not in hands.got:
            return
        self.exercised += 1
        longest, _ = limits.chain or USUAL_CHAIN
        below = [run for run in hands.chain(event.delegation) if run.turn in hands.got]
        if len(below) == longest:
            # The turn of its result will be one too many.
            self._report(event, longest, [run.given[0] for run in below[::-1] if run.given])

    def on_said(self, event: Event, body: PeerSaid) -> None:
        if body.bot and body.stands_for is None:
            self._by_bots.add(event.inbound or "")
        elif body.echo_of is None:
            # Of which session the person's place is depends on the configuration: each counts as theirs.
            self._talks.clear()

    def on_turn(self, event: Event, body: gateway.TurnStarted) -> None:
        """Count the turns that bots have started in a session since a person wrote."""
        limits, inbound = self.run.limits, event.inbound or ""
        if limits is None or body.work is not WorkKind.MESSAGE or inbound not in self._by_bots:
            return
        self.exercised += 1
        (longest, pause), talk = limits.chain or USUAL_CHAIN, self._talks.setdefault(body.session_id, _Talk())
        if event.at - talk.last > pause:
            talk.turns.clear()
        talk.turns.setdefault(inbound, event)
        talk.last = event.at
        if len(talk.turns) == longest + 1 and talk.turns[inbound] is event:
            self._report(event, longest, list(talk.turns.values()))

    def _report(self, event: Event, most: int, turns: list[Event]) -> None:
        summary = f"{most + 1} turns have followed from each other, and no person has written"
        shown = [cited(turns[0], "the first"), cited(turns[-1], "the last")] if turns else []
        self.accuse(event, summary, f"an end after {most}, or a message of a person", *turns, shown=shown)

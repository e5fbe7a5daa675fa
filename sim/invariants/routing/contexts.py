"""Messages and changes that leave the conversation of their turn: P3, P4, P5."""

import re
from collections import defaultdict

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.events import Event, actions, gateway
from trunkline.core.message_tool.conversations import is_listed, same_conversation
from trunkline.core.values import Address, IntentKind, WorkKind
from trunkline.sim.events import hands, script, world
from trunkline.sim.events.actions import WireActed
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import IntentFacts
from trunkline.sim.invariants.base import Checker, EvidenceKind

#: turns that work in no conversation, and what a mark calls them
_NOWHERE = {WorkKind.HEARTBEAT: "heartbeat", WorkKind.CRON: "schedule", WorkKind.WAKE: "wake-up"}
_TASK = "a task"
#: what the id of the work of a task has behind that of its delegation
_TASK_OF = ".task"
_CHANNEL = re.escape("{channel}")


class _Decision(msgspec.Struct):
    """A decision of the gateway, and the configuration of that time."""

    event: Event
    body: actions.PolicyDecided
    configured: bool
    settings: world.AgentContexts


class _Turn(msgspec.Struct):
    """A turn and the conversations that it works in, according to the people who wrote."""

    agent: str
    work: WorkKind
    #: none: it works nowhere
    places: tuple[Address, ...]
    decisions: list[_Decision] = []


class _Crossing(msgspec.Struct, kw_only=True):
    """A crossing: what people see outside of the conversation of its turn."""

    facts: IntentFacts
    turn: _Turn
    place: Address
    #: the last decision on that conversation before it was prepared
    decided: _Decision | None


class _Contexts(Checker):
    """Base of the three checkers: turns with their places, and the decisions on what leaves these."""

    _settings: dict[str, world.AgentContexts] = {}
    _turns: dict[str, _Turn] = {}
    #: thread -> the conversation that it is in
    _parents: dict[tuple[str, str], str] = {}
    #: delegation -> the place that the agent named for its answer: there a turn without a place speaks at home
    _named: dict[str | None, Address] = {}

    def on_limits(self, event: Event, body: world.WorldLimits) -> None:
        self._settings = {settings.agent: settings for settings in body.contexts or ()}

    def on_place(self, event: Event, body: world.WorldPlace | world.ThreadOpened) -> None:
        if body.address.parent is not None:
            self._parents[body.address.channel, body.address.conversation] = body.address.parent

    def on_delegated(self, event: Event, body: hands.AgentDelegated) -> None:
        if body.reply_to is not None:
            self._named[event.delegation] = body.reply_to

    def _turn(self, turn: str | None) -> _Turn | None:
        """A turn that has started, with its places."""
        # Few turns write to another place, and only the places of these are looked up.
        found, start = self._turns.get(turn or ""), self.run.started.get(turn or "")
        if found is not None or start is None or not isinstance(start.body, gateway.TurnStarted):
            return found
        body, places = start.body, list[Address]()
        if body.work not in _NOWHERE:
            message = self._message_behind(start.inbound)
            origin = self.run.origin(message)
            # The answer of a callback may go elsewhere: to a bound conversation.
            named = self._named.get(self.run.callbacks.get(start.inbound or ""))
            known = (self.run.home(message), None if origin is None else origin[0], body.origin, named)
            places = [self._whole(place) for place in known if place is not None]
        made = self._turns[turn or ""] = _Turn(body.agent, body.work, tuple(places))
        return made

    def _message_behind(self, inbound: str | None) -> str | None:
        """The message that a piece of work is done for, through tasks and callbacks; as it is, if there is none."""
        run, found = self.run, inbound
        while found is not None and found not in run.received:
            found = run.delegated_by.get(run.callbacks.get(found) or found.removesuffix(_TASK_OF))
        return found or inbound

    def on_decision(self, event: Event, body: actions.PolicyDecided) -> None:
        turn = self._turn(event.turn)
        settings = self._settings.get("" if turn is None else turn.agent)
        if turn is not None and settings is not None:
            configured = self._configured(turn, self._whole(body.target), settings)
            turn.decisions.append(_Decision(event, body, configured, settings))

    def _configured(self, turn: _Turn, target: Address, settings: world.AgentContexts) -> bool:
        """Whether the configuration lets a turn write to a place."""
        if turn.places:
            crosses = all(place.channel != target.channel for place in turn.places)
            return settings.across if crosses else settings.within
        if settings.reach == "any" or any(is_listed(target, entry) for entry in settings.targets):
            return True
        routes = (event.body for event in self.run.routed.values()) if settings.reach == "last" else ()
        written = (route for route in routes if isinstance(route, gateway.RouteDecided) and route.agent == turn.agent)
        return any(route.reply_to is not None and same_conversation(route.reply_to, target) for route in written)

    def _whole(self, place: Address) -> Address:
        """A place with its parent, which not everybody who names it knows."""
        parent = self._parents.get((place.channel, place.conversation))
        return place if parent is None else msgspec.structs.replace(place, parent=parent)

    def _crossing(self, event: Event, requested: Address) -> _Crossing | None:
        """The crossing that an accepted request made out of the conversation of its turn; None if none is judged."""
        facts = self.run.intents.get(event.intent or "")
        if facts is None or facts.body.intent_kind is not IntentKind.TOOL or not _is_guarded(facts):
            return None
        turn, place = self._turn(facts.prepared.turn), self._whole(requested)
        if turn is None or turn.agent not in self._settings:
            return None
        if any(same_conversation(spoken, place) for spoken in turn.places):
            return None
        before = (decision for decision in reversed(turn.decisions) if decision.event.seq < facts.prepared.seq)
        decided = next(
            (decision for decision in before if same_conversation(self._whole(decision.body.target), place)), None
        )
        return _Crossing(facts=facts, turn=turn, place=place, decided=decided)

    def _shown(self, crossing: _Crossing, event: Event) -> str:
        at = self.run.name(crossing.place)
        if isinstance(event.body, WireActed):
            return f"{event.body.action.value} at {at}"
        return f"“{getattr(event.body, 'text', '')}” at {at}"

    def _unmarked(self, text: str) -> str:
        """The text without the mark of an uncertain repeat."""
        mark = "" if self.run.limits is None else self.run.limits.mark or ""
        return text.removeprefix(mark)

    def _from(self, turn: _Turn) -> str:
        return self.run.name(turn.places[0]) if turn.places else _NOWHERE.get(turn.work, _TASK)


def _is_guarded(facts: IntentFacts) -> bool:
    """Whether an intent is something that may not leave its conversation without a decision."""
    action = facts.body.action
    if action is None:
        # A message without a target goes where the turn answers.
        return facts.body.targeted
    return action.spec.guarded


class CrossingsAreDecided(_Contexts, symptoms=("leaked",)):
    """P3: Crossings are decided.

    What a turn says or changes outside of its conversation was allowed by a recorded decision, and what is allowed and
    what is denied is as configured.
    """

    evidence = EvidenceKind.MISPLACED

    def on_decided(self, event: Event, body: actions.PolicyDecided) -> None:
        self.on_decision(event, body)
        turn = self._turn(event.turn)
        made = turn.decisions[-1] if turn is not None and turn.decisions else None
        if turn is None or made is None or made.event is not event or body.allowed or not made.configured:
            return
        if not turn.places and made.settings.reach == "last":
            # Which conversation was the last is not known to the millisecond.
            return
        if not turn.places and self.run.hooks.may_go(event.intent, body.target):
            # A hook moved an answer, which has the place that the schedule gives it.
            return
        summary = f"{body.action} from {self._from(turn)} is denied, but the configuration allows it"
        self.accuse(event, summary, f"{body.action} to {self.run.name(body.target)} is allowed", shown="denied")

    def on_seen(self, event: Event, body: WireAccepted | WireActed) -> None:
        crossing = self._crossing(event, body.requested)
        if crossing is None:
            return
        self.exercised += 1
        decided = crossing.decided
        if decided is not None and (decided.configured or not decided.body.allowed):
            # What was denied is judged by P5.
            return
        why = "nothing decided that it may" if decided is None else "the configuration does not allow it"
        origin, wrong = self._from(crossing.turn), crossing.facts.prepared if decided is None else decided.event
        expected, shown = f"nothing from {origin} at {self.run.name(crossing.place)}", self._shown(crossing, event)
        causes, summary = (wrong, crossing.facts.prepared), f"{event.intent} left {origin}, and {why}"
        self.accuse(event, summary, expected, *causes, shown=shown, first_wrong=wrong.seq)


class MarksAreSeen(_Contexts, symptoms=("leaked",)):
    """P4: Marks are seen.

    A message from another context shows where it comes from, wherever the configuration says so.
    """

    def on_accepted(self, event: Event, body: WireAccepted) -> None:
        crossing = self._crossing(event, body.requested)
        if crossing is None or (body.parts is not None and body.parts.sticker is not None and not body.text):
            return
        seen = {
            accept.body.chunk: accept.body for accept in crossing.facts.accepts if isinstance(accept.body, WireAccepted)
        }
        if len(seen) < crossing.facts.body.chunks:
            # A long mark may be cut where a short message ends.
            return
        chunks = [seen[number] for number in sorted(seen)]
        embed = next(
            (chunk.parts.embed for chunk in chunks if chunk.parts is not None and chunk.parts.embed is not None), None
        )
        whole = "".join(self._unmarked(chunk.text) for chunk in chunks)
        self._judge(event, crossing, (whole, *body.poll[:1]), embed)

    def on_edited(self, event: Event, body: WireActed) -> None:
        crossing = self._crossing(event, body.requested) if body.action is Action.EDIT else None
        if crossing is not None:
            self._judge(event, crossing, (body.text,), None)

    def _judge(self, event: Event, crossing: _Crossing, texts: tuple[str, ...], embed: str | None) -> None:
        decided, turn = crossing.decided, crossing.turn
        settings = self._settings[turn.agent] if decided is None else decided.settings
        if not _is_marked(turn, crossing.place, settings):
            return
        # Messages without a decision are judged by P3, those denied by P5.
        if decided is None or not decided.body.allowed:
            return
        self.exercised += 1
        label = ".+" if turn.places else re.escape(_bare(_NOWHERE.get(turn.work, _TASK)))
        if embed is not None and re.fullmatch(f"From{label}", _bare(embed)):
            return
        marked = f"{_pattern(settings.prefix, label)}.*{_pattern(settings.suffix, label)}"
        if any(re.fullmatch(marked, _bare(text), re.DOTALL) for text in texts):
            return
        wanted = " … ".join(part for part in (settings.prefix.strip(), settings.suffix.strip()) if part)
        summary = f"{event.intent} does not show that it comes from {self._from(turn)}"
        causes, shown = (decided.event, crossing.facts.prepared), self._shown(crossing, event)
        has_mark = decided.body.mark or decided.body.mark_after or decided.body.mark_embed
        wrong = event if has_mark else decided.event
        self.accuse(event, summary, f"the mark “{wanted}”", *causes, shown=shown, first_wrong=wrong.seq)


def _is_marked(turn: _Turn, place: Address, settings: world.AgentContexts) -> bool:
    if not turn.places:
        return settings.marks_nowhere
    across = all(spoken.channel != place.channel for spoken in turn.places)
    return settings.marks_across if across else settings.marks_within


def _pattern(template: str, label: str) -> str:
    return re.escape(_bare(template)).replace(_CHANNEL, _bare(label))


def _bare(text: str) -> str:
    """A text without white space, which cuts and platforms may take away."""
    return "".join(text.split())


class DeniedIsNotDone(_Contexts, symptoms=("leaked",)):
    """P5: Denied is not done.

    What the cross-context policy denied to a turn is not on the wire, nor is its text anywhere else.
    """

    evidence = EvidenceKind.MISPLACED

    #: turn -> the texts that were denied to it, with the denials
    _denied: defaultdict[str, dict[str, Event]] = defaultdict(dict)

    def on_counted(self, event: Event, body: actions.PolicyDecided) -> None:
        self.on_decision(event, body)
        self.exercised += not body.allowed

    def on_withheld(self, event: Event, body: script.TextDenied) -> None:
        turn = event.turn or ""
        self._denied[turn][_bare(body.text)] = event
        for facts in self.run.intents.values():
            if facts.prepared.turn == turn and facts.accepts:
                self._judge_text(facts.accepts[-1], turn)

    @on(gateway.TurnStarted, after=(script.TextDenied,))
    def _begins(self, event: Event, _body: gateway.TurnStarted) -> None:
        # It may run again because its process died; by now the configuration may allow the text.
        self._denied.pop(event.turn or "", None)

    def on_seen(self, event: Event, body: WireAccepted | WireActed) -> None:
        crossing = self._crossing(event, body.requested)
        decided = None if crossing is None else crossing.decided
        if crossing is None or decided is None or decided.body.allowed:
            if self._denied and isinstance(body, WireAccepted):
                self._elsewhere(event)
            return
        prepared, shown = crossing.facts.prepared, self._shown(crossing, event)
        summary = f"{event.intent} was denied, and people see it nevertheless"
        expected = f"nothing at {self.run.name(crossing.place)} from this turn"
        self.accuse(event, summary, expected, decided.event, prepared, shown=shown, first_wrong=prepared.seq)

    def _elsewhere(self, event: Event) -> None:
        """A message that no decision denied. Its text may have been denied, in another place."""
        facts = self.run.intents.get(event.intent or "")
        turn = "" if facts is None else facts.prepared.turn or ""
        if turn in self._denied:
            self._judge_text(event, turn)

    def _judge_text(self, event: Event, turn: str) -> None:
        facts = self.run.intents[event.intent or ""]
        seen = {
            accept.body.chunk: accept.body.text for accept in facts.accepts if isinstance(accept.body, WireAccepted)
        }
        whole = "".join(self._unmarked(seen[number]) for number in sorted(seen))
        denied = self._denied[turn].get(_bare(whole))
        if denied is None:
            return
        summary = f"{event.intent} says what {turn} was not allowed to say elsewhere"
        shown, causes = f"“{whole}” at {self.run.name(facts.body.address)}", (denied, facts.prepared)
        wrong = facts.prepared.seq
        self.accuse(event, summary, "nobody sees the text", *causes, shown=shown, first_wrong=wrong)

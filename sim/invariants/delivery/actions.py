"""Actions of the message tool and its answers: each takes effect once, where it was meant: A1, A2, A3 and E4."""

import json
from collections.abc import Iterator

from trunkline.core.channels import rules_for
from trunkline.core.events import Event
from trunkline.core.message_tool.parsing.params import PARAMS
from trunkline.core.values import Address
from trunkline.sim.events import actions, hands, script, wire, world
from trunkline.sim.index.intent_facts import Lane
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.invariants.base import Checker, EvidenceKind, cited

#: channel, account, conversation, and the platform's id of a message in it
_Message = tuple[str, str, str, str]


class ActionOnce(Checker, symptoms=("twice",)):
    """A1: An action takes effect once.

    Each request of a change takes effect at most once, however often it is repeated; and all changes together take
    effect at most as often as agents asked for them.
    """

    evidence = EvidenceKind.COPIES

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


class MeantMessageOnly(Checker, symptoms=("wrong place",)):
    """A2: The message that was meant.

    An edit, a deletion, a reaction or a pin concerns the message that the agent meant, in its conversation, and edits
    and deletions concern messages of the account only, unless it moderates the conversation.
    """

    evidence = EvidenceKind.MISPLACED

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


#: refusals that blame a place which cannot be read, or a call without one
_OF_PLACE = ("bad-target", "ambiguous-target", "no-target", "unknown-channel", "unknown-account", "bad-action")
#: parameters of which a message has at least one
_CONTENT = ("message", "media", "path", "filePath", "buffer", "card", "components", "pollQuestion", "stickerId")
#: parameters that name a place
_NAMES = ("to", "target", "channel", "account", "accountId", "messageId")
#: the arguments of `Turn.send` that have other names there than on the wire
_SENDS_TAKE = ("action", "account", "thread", "session", "reply_to", "dry_run", "label")
#: statuses of what was done, or would be
_WELL = ("queued", "done", "dry-run")
_WORLD = "what the configuration and the world say"


class ToolsAnswerTheTruth(Checker, symptoms=("wrong place",)):
    """A3: Tools answer the truth.

    What the message tool answers its agent is so: queued means a message or a change of that turn at the place that the
    agent named, a dry run has sent nothing, each target of a broadcast has its own answer, and what the configuration
    takes from an agent is refused.
    """

    def on_told(self, event: Event, body: actions.AgentTold) -> None:
        self.exercised += 1
        for wrong, expected in self._wrong(event, body):
            what = f"{body.action} of {body.agent} is answered with {body.status}, and {wrong}: {body.asked}"
            self.accuse(event, what, expected)

    def _wrong(self, event: Event, body: actions.AgentTold) -> Iterator[tuple[str, str]]:
        asked = json.loads(body.asked)
        targets, previews = len(asked.get("targets", ())), body.status == "dry-run"
        facts = self.run.intents.get(body.named or "")
        if bool(asked.get("dryRun")) is not previews and (previews or body.status in ("queued", "suppressed")):
            yield "it asked for the opposite", "dry-run for a dry run, and only for one"
        if body.each and (len(body.each) % targets if targets else 1):
            yield f"{len(body.each)} targets have an answer", f"one for each of {targets}, on each channel"
        if body.status == "queued" and not body.each and (facts is None or facts.prepared.turn != event.turn):
            yield "there is no such message", f"a message of {event.turn} that is stored"
        for place in (body.place, None if facts is None else facts.body.address):
            if body.status in _WELL and place is not None and not self._is_there(place, body, asked):
                yield f"it is about {self.run.name(place)}", self.run.name(body.aim or body.at)
                break
        if body.status in _WELL and is_off(self.run, body):
            yield "its configuration does not allow it", f"a refusal: {body.action} is disabled"

    def _is_there(self, place: Address, body: actions.AgentTold, asked: dict[str, object]) -> bool:
        """Whether a call names a place; without a name, whether the place is of the conversation of the turn."""
        aim, at = body.aim, body.at
        if aim is not None and place.lane == aim.lane:
            return True
        # A target that is the conversation of the turn keeps its topic, by another account too.
        same = aim and at and (aim.channel, aim.conversation, aim.thread) == (at.channel, at.conversation, None)
        if aim is not None and at is not None and same and place.lane == (*aim.lane[:3], at.thread):
            return True
        if "messageId" in asked or self.run.hooks.may_go(body.named, place):
            return True
        if body.aim is not None:
            return False
        if body.at is None or any(asked.get(name) for name in _NAMES):
            return True
        rooms = {body.at.conversation, body.at.parent}
        return place.lane[:2] == body.at.lane[:2] and (place.conversation in rooms or place.parent in rooms)


def is_off(run: RunFacts, body: actions.AgentTold) -> bool:
    """Whether the configuration takes an action from its agent, or closes it on its channel."""
    config, where = run.config, body.place or body.aim or body.at
    if config is None:
        return False
    tool = config.message_tool(body.agent)
    if body.action in tool.disabled_actions or (body.action == "broadcast" and not tool.broadcast.enabled):
        return True
    if where is None:
        return False
    rules = rules_for(where.channel)
    entry = next((rules.action(name) for name in rules.actions if name.value == body.action), None)
    return (
        entry is not None
        and entry.gate is not None
        and not config.channel(where.channel).actions.get(entry.gate, entry.on)
    )


class RefusedForAReason(Checker, symptoms=("lost",)):
    """E4: Refused for a reason.

    An agent or a client is refused what it asks only if something is wrong with it by the configuration or the world: a
    place that exists is understood, a text is a text, an action is off, a hand is there, may be used, and is free, and
    a result has a place to go to.
    """

    #: hands that have ever worked; and the open delegations of each session
    _hands: set[str] = set()
    #: accounts without an adapter since the start of a process
    _away: set[tuple[str, ...]] = set()
    _open: dict[str, set[str]] = {}

    def on_came_or_went(self, _event: Event, body: script.FaultFired | world.PlatformConnected) -> None:
        if isinstance(body, world.PlatformConnected):
            self._away.discard((body.channel, body.account))
        elif body.fault.startswith("boot"):
            self._away.add(tuple(body.detail.split(":")))

    def on_answered(self, event: Event, body: script.ClientAnswered) -> None:
        request = self.run.speech.clients.get(event.cause or 0)
        asked = None if request is None else request.body
        if body.status != "refused" or not isinstance(asked, script.ClientRequested) or asked.aim is None:
            return
        self.exercised += 1
        most = None if self.run.config is None else self.run.config.delivery.max_text
        there = bool(asked.key) and (most is None or len(asked.text or "") <= most)
        there = there and asked.aim.lane[:2] in self.run.accounts.keys() - self._away
        there = there and asked.aim.conversation.isprintable()
        if there and (asked.text or "").strip() and not asked.more:
            self.accuse(event, f"a client is refused a text for {self.run.name(asked.aim)}: {body.detail}", _WORLD)

    def on_told(self, event: Event, body: actions.AgentTold) -> None:
        if body.status != "refused":
            return
        self.exercised += 1
        asked = json.loads(body.asked)
        if body.reason == "nothing-to-send":
            wrong = any(str(asked.get(name, "")).strip() for name in _CONTENT)
        elif body.reason == "action-disabled":
            wrong = self.run.config is not None and (body.aim or body.at) is not None and not is_off(self.run, body)
        else:
            wrong = body.reason in _OF_PLACE and self._is_sound(body, asked)
        if wrong:
            self.accuse(event, f"{body.agent} is refused {body.action}: {body.detail}", _WORLD)

    def _is_sound(self, body: actions.AgentTold, asked: dict[str, object]) -> bool:
        """Whether a call names a place of the world, or its own, and its channel has the action."""
        if any(_is_foreign(name, body.action) for name in asked):
            return False
        if any(asked.get(name) for name in ("buttons", "media", "silent", "card", "components", "buffer")):
            # Not every adapter can send that.
            return False
        where = body.aim or (None if any(asked.get(name) for name in _NAMES) else body.at)
        if where is None or where.lane[:2] not in self.run.accounts.keys() - self._away or body.action == "broadcast":
            return False
        return body.action == "send" or (
            body.reason in ("no-target", "unknown-channel") and body.action in rules_for(where.channel).actions
        )

    def on_began(self, _event: Event, body: hands.HandBegan) -> None:
        self._hands.add(body.hand)

    def on_delegated(self, event: Event, body: hands.AgentDelegated) -> None:
        config = self.run.config
        if config is None:
            return
        self.exercised += 1
        callers = config.hands.of(body.hand).callers
        barred = body.hand == body.agent or (callers is not None and body.agent not in callers)
        if not body.refused:
            self._open.setdefault(body.session_id, set()).add(event.delegation or "")
            if barred or not body.task.strip():
                self.accuse(
                    event, f"{body.agent} may not give “{body.task}” to {body.hand}, and it is accepted", _WORLD
                )
            return
        limits, task = config.hands.limits, body.task
        running = {name: self._running(names) for name, names in self._open.items()}
        right = {
            "self-delegation": body.hand == body.agent,
            "hand-not-allowed": barred,
            "unknown-hand": body.hand
            not in {*self._hands, *(agent.id for agent in config.agents if config.hands.agents)},
            "no-origin": body.at is None and body.reply_to is None,
            "session-cap": running.get(body.session_id, 0) >= limits.open_per_session,
            "gateway-cap": sum(running.values()) >= limits.open,
            "text-too-long": len(task) > limits.max_task,
            "bad-argument": body.reply_to is not None or not task.strip(),
            "parent-ended": self.run.hands.work_of.get(event.turn or "", "") not in self.run.received,
        }
        if not right.get(body.reason, True):
            self.accuse(event, f"{body.agent} is refused {body.hand} for “{task}”: {body.reason}", _WORLD)

    def _running(self, names: set[str]) -> int:
        return sum(self.run.hands.run_of(name).finished is None for name in names)


def _is_foreign(name: str, action: str) -> bool:
    """Whether an action does not take a parameter, which is a mistake of the agent."""
    param = PARAMS.get(name)
    known = name in _SENDS_TAKE if param is None else not param.actions or action in param.actions
    return not known

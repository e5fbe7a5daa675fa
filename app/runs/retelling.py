"""A scenario from a recording: its people, places, script and faults, and an agent that says what was answered.

Steps of a simulated run keep their times; around a gateway that is not ours they follow what is about a question.
"""

import json
import re
from typing import Any

from trunkline.core.events import Event, Trace
from trunkline.core.events.delivery import IntentPrepared
from trunkline.core.events.gateway import InboundReceived, TurnStarted
from trunkline.core.events.hands import DelegationAccepted
from trunkline.core.values import Address, ChatKind, IntentKind, Peer
from trunkline.sim.events.hands import AgentAnswered, AgentDelegated, AgentSends, HandAnswered
from trunkline.sim.events.model import ModelAnswered
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.world import PeerSaid, WorldAccount, WorldLimits, WorldPlace
from trunkline.sim.index.marks import answers_in, questions_in, unique_marks, without_marks
from trunkline.sim.scenario.edit import Tree
from trunkline.sim.scenario.model.scenario import SCENARIO_VERSION
from trunkline.sim.scenario.text_pattern import exact_pattern

#: seconds: shorter than any latency; too short for a step of its own
_GRAIN, _SOON = 1e-6, 0.005
#: what strikes the process -> the events of which the first ends it, and the field with the time until then
_PROCESS = {
    "crash": (("process.started", "gateway.launched"), "restart_after"),
    "restart": (("process.started", "gateway.launched"), "down"),
    "freeze": (("process.thawed",), "for"),
}
_PLACE = {"archived": "archive", "deleted": "delete", "unarchived": "unarchive"}
#: faults whose detail is the text that they strike
_TEXTS = ("send", "push", "hand", "model")
#: what is about a question, on the wire: a later step may wait for it
_ANCHORS = ("model.asked", "model.answered", "wire.accepted", "wire.responded")
_WORKS: dict[str, Tree] = {work: {work: True} for work in ("heartbeat", "wake")}


class Retelling:
    """The parts of a scenario, as far as a trace has them. `platform`: stands for the one of the recording."""

    def __init__(self, trace: Trace, platform: str = "") -> None:
        self._events, self._header, self._platform = trace.events, trace.header, platform
        self._wire = trace.header.side == "wire"
        #: what the trace has, and no step can be made of
        self.lacks = [f"how to end the process at {point}" for point in trace.header.crashes]
        self._people, self._platforms, self._gateway, self._hands = Tree(), Tree(), Tree(), Tree()
        self._names = dict[tuple[str, ...], str]()
        self._rules, self._doing = dict[str, dict[str, list[Any]]](), dict[str | None, list[Any]]()
        self._began, self._said = dict[str | None, Event](), dict[str | None, Event]()
        self._steps = list[tuple[float, int, Tree]]()
        said = dict.fromkeys(event.inbound or "" for event in self._events if isinstance(event.body, PeerSaid))
        self._ids = {mark: name for name, mark in unique_marks(said).items()} if self._wire else {}
        for event in self._events:
            self._take(event)

    def tree(self) -> Tree:
        """The scenario."""
        named = [agent["id"] for agent in self._gateway.get("agents", ())] or ["main"]
        # On the wire the answer may be what is lacking.
        other = [{"do": [{"reply": "An answer."} if self._wire else {"silent": True}], "may_miss": True}]
        rules = {
            agent: [{"when": json.loads(when), "do": do} for when, do in own.items()]
            for agent, own in self._rules.items()
        }
        parts: Tree = {
            "scenario": SCENARIO_VERSION,
            "title": self._header.title or self._header.scenario,
            "source": self._header.source,
            "tags": ["recorded", *self._platforms],
            "gateway": self._gateway,
            "world": {"people": self._people, **self._platforms},
            "cast": {"agents": {agent: [*rules.get(agent, ()), *other] for agent in dict.fromkeys([*named, *rules])}},
            "script": [step for _, _, step in sorted(self._steps, key=lambda item: item[:2])],
        }
        if self._hands:
            parts["cast"]["hands"] = self._hands
        return {name: part for name, part in parts.items() if part}

    def _take(self, event: Event) -> None:
        body = event.body
        match body:
            case WorldAccount() if not self._header.of_gateway:
                self._platforms.setdefault(body.channel, {}).setdefault("accounts", {})[body.account] = {}
            case WorldPlace():
                self._place(body.address, body.name)
            case WorldLimits() if body.config and not self._wire:
                self._gateway = json.loads(body.config)
            case PeerSaid():
                self._say(event, body.address, body.peer, {"secret": body.secret} if body.secret else {})
            case InboundReceived() if self._header.of_gateway:
                self._say(event, body.address, body.peer, {})
            case FaultFired():
                self._fault(event, body.fault, body.detail, body.lasts)
            case _:
                self._act(event)

    def _act(self, event: Event) -> None:
        """Take what the agent, its model or a hand did."""
        body = event.body
        match body:
            case TurnStarted():
                self._began[event.turn], self._doing[event.turn] = event, []
            case DelegationAccepted():
                self._began[event.delegation] = event
                self._hands.setdefault(body.hand, {"takes": 3600})
            case AgentDelegated() if event.turn in self._doing:
                self._doing[event.turn].append({"delegate": {"hand": body.hand, "task": _template(body.task)}})
            case AgentSends() if event.turn in self._doing:
                to = {"to" if "/" in body.to or "@" in body.to else "target": body.to} if body.to else {}
                self._doing[event.turn].append({"send": {"text": _template(body.text), **to}})
            case AgentAnswered() if event.turn in self._doing:
                began = self._began[event.turn]
                think = round(event.at - began.at, 6)
                said = {"silent": True} if body.text is None else {"reply": _template(body.text)}
                do = [{"think": think}] if think > _SOON else []
                do = [*self._doing[event.turn], *do, {"fail": body.failed} if body.failed else said]
                of = self._began.get(began.delegation)
                hand = of.body.hand if of is not None and isinstance(of.body, DelegationAccepted) else "*"
                when = _WORKS.get(body.work, {"callback": hand})
                if body.work == "message":
                    when = {"text": exact_pattern(body.given), **self._in(body.place)}
                self._rule(body.agent, when, do)
            case IntentPrepared() if self._header.of_gateway and body.intent_kind is IntentKind.REPLY:
                began, asked = self._began.get(event.turn), self._said.get(event.inbound)
                if asked is not None and began is not None and isinstance(began.body, TurnStarted):
                    when = {"text": exact_pattern(_text(asked)), **self._in(body.address)}
                    self._rule(began.body.agent, when, [{"reply": _template(body.text)}])
            case ModelAnswered() if self._wire and (asked := self._said.get(self._question(event))):
                when = {"text": f"*{exact_pattern(without_marks(_text(asked)))}*"}
                self._rule("main", when, [{"reply": _template(without_marks(body.text))}])
            case HandAnswered() if not body.agent:
                takes = round(event.at - self._events[(event.cause or event.seq) - 1].at, 6)
                how = {"result": _template(body.text)} if body.outcome == "ok" else {"fails": body.text}
                if "result" not in self._hands.get(body.hand, {}):
                    self._hands[body.hand] = {"takes": takes, **how}
            case _:
                pass

    def _rule(self, agent: str, when: Tree, do: list[Any]) -> None:
        # The newest goes first: on the wire a prompt may have earlier questions too. What was answered first stays.
        self._rules[agent] = {json.dumps(when): do} | self._rules.get(agent, {})

    def _in(self, address: Address | None) -> Tree:
        name = None if address is None else self._names.get(address.lane)
        return {"in": name} if name else {}

    def _place(self, address: Address, name: str) -> None:
        channel = self._platform or address.channel
        account = "" if address.account == "default" else f":{address.account}"
        self._names[address.lane] = f"{channel}{account}/{name}"
        room, _, thread = name.partition("/")
        if name.startswith("@"):
            self._people.setdefault(name[1:], {})
            self._names[channel, address.conversation] = name[1:]
        elif not thread or not self._said or self._header.of_gateway:
            rooms = self._platforms.setdefault(channel, {}).setdefault("rooms", {})
            threads = rooms.setdefault(room, {}).setdefault("threads", [])
            threads += [thread] if thread and thread not in threads else []

    def _say(self, event: Event, address: Address, peer: Peer, more: Tree) -> None:
        channel, recorded = self._platform or address.channel, self._header.of_gateway
        key = _slug(peer.name or peer.id)
        # In a recording two people may have one name; in a scenario one person is on several platforms.
        key = f"{key}-{len(self._people)}" if recorded and key in self._people else key
        key = self._names.setdefault((channel, peer.id), key)
        self._people[key] = {"name": peer.name} if peer.name not in ("", key) else {}
        self._platforms.setdefault(channel, {})
        if address.lane not in self._names:
            room, thread = (
                address.parent or address.conversation,
                address.thread or address.parent and address.conversation,
            )
            room = self._names.setdefault((channel, "room", room), f"room{len(self._names)}")
            self._place(
                address, f"@{key}" if address.kind is ChatKind.DIRECT else f"{room}/{_slug(thread)}" if thread else room
            )
        said = without_marks(_text(event)) if self._wire else _text(event)
        self._said.setdefault(event.inbound, event)
        named = {} if recorded else {"id": event.inbound}
        self._step(event.at, {**named, "as": key, **self._in(address), "say": said, **more}, self._anchor(event))

    def _step(self, at: float, step: Tree, anchor: Tree | None = None, order: int = 1) -> None:
        """Add a step at a time of the recording; with `anchor`, at an event."""
        first = 0.0 if self._header.seeded else next((event.at for event in self._said.values()), at)
        since = max(0.0, round(at - first, 6))
        self._steps.append((since, order, {**(anchor or {"at": since}), **step}))

    def _question(self, event: Event) -> str:
        """The id of the message that an event is about, by the marks in its text; empty for none."""
        marks = [mark.question for mark in answers_in(_text(event))] or list(questions_in(_text(event)))
        return self._ids.get(marks[-1], "") if marks else ""

    def _anchor(self, event: Event, kinds: tuple[str, ...] = _ANCHORS) -> Tree | None:
        """The event about a question that a later one followed on the wire; none: there is none."""
        before = [each for each in self._events[: event.seq - 1] if each.kind in kinds and self._question(each)]
        if not before:
            return None
        last, question = before[-1], self._question(before[-1])
        nth = sum(each.kind == last.kind and self._question(each) == question for each in before)
        when: Tree = {"event": last.kind, "question": question, **({"nth": nth} if nth > 1 else {})}
        delay = round(event.at - last.at, 3)
        return {"when": {**when, "delay": delay} if delay > _SOON else when}

    def _fault(self, event: Event, fault: str, detail: str, lasts: float | None) -> None:
        on, _, do = fault.partition("/")
        said = max((each.at for each in self._said.values()), default=0.0)
        if fault in _PROCESS:
            ends, field = _PROCESS[fault]
            end = next((each.at for each in self._events[event.seq :] if each.kind in ends), event.at + 1)
            step: Tree = {field: round(end - event.at, 6)}
            kind = detail.removeprefix("at ")
            if not kind:
                self._step(event.at, {fault: step}, self._anchor(event))
                return
            nth = sum(each.kind == kind and each.at > said for each in self._events[: event.seq])
            anchor = self._anchor(event, (kind,)) or {"when": {"event": kind, "nth": max(nth, 1)}}
            self._step(0.0 if self._wire else said, {fault: step | anchor}, order=0)
        elif fault in _PLACE:
            place, _, locked = detail.partition(", ")
            self._step(
                event.at,
                {"in": place, _PLACE[fault]: True, **({"locked": True} if locked else {})},
                self._anchor(event),
            )
        elif do and (on in _TEXTS or not self._wire):
            about, texts = self._question(event), on in _TEXTS
            which = {"question": about} if about else {"text": exact_pattern(detail)} if texts else {}
            struck: Tree = {"on": on, "do": do, **which, **({} if lasts is None else {"for": lasts})}
            self._step(0.0 if about else said if texts else event.at - _GRAIN, {"fault": struck}, order=0)
        else:
            self.lacks.append(f"how to repeat the fault {fault} ({detail})")


def _text(event: Event) -> str:
    """The text of an event; of a fault, what it struck."""
    return str(getattr(event.body, "text", "") or getattr(event.body, "detail", ""))


def _template(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "somebody"

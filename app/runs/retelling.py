"""A scenario from a recording: its people, places, script and faults, and an agent that says what was answered.

Steps of a simulated run keep their times; around a gateway that is not ours they follow what is about a question.
"""

from typing import Any

import msgspec

from trunkline.core.events import Event, Trace, delivery, gateway
from trunkline.core.values import Address, ChatKind, IntentKind, Peer
from trunkline.sim.events import attach, hands, model, script, world
from trunkline.sim.index.marks import answers_in, questions_in, unique_marks, without_marks
from trunkline.sim.scenario.edit import Tree
from trunkline.sim.scenario.model.scenario import SCENARIO_VERSION

#: seconds: shorter than any latency; too short for words of its own
_GRAIN, _SOON = 1e-6, 0.005
#: what strikes a process -> the field with the time until it is back, and the events that say so
_DOWN = {"crash": "restart_after", "restart": "down", "freeze": "for"}
_BACK = ("process.started", "gateway.launched", "process.thawed")
_CHANGES = {"archived": "archive", "deleted": "delete", "unarchived": "unarchive"}
#: faults whose detail is the text that they strike
_TEXTS = ("send", "push", "hand", "model")
#: what is about a question on the wire, so that a later step may wait for it
_ANCHORS = ("model.asked", "model.answered", "wire.accepted", "wire.responded")


class Retelling:
    """The parts of a scenario, as far as a trace has them. `platform`: stands for the one of the recording."""

    def __init__(self, trace: Trace, platform: str = "") -> None:
        self._events, self._header, self._platform = trace.events, trace.header, platform
        self._wire = trace.header.side == "wire"
        #: of the command that attached the gateway; and what the trace has, and no step can be made of
        self.options: tuple[str, ...] = ()
        self.lacks = [f"how to end the process at {point}" for point in trace.header.crashes]
        self._people, self._platforms, self._gateway, self._hands = Tree(), Tree(), Tree(), Tree()
        self._names, self._rules = dict[tuple[str, ...], str](), dict[str, dict[tuple[Any, ...], list[Any]]]()
        #: beginnings of turns and delegations, what agents did in turns, and the messages of people
        self._began, self._did = dict[str | None, Event](), dict[str | None, list[Any]]()
        self._said, self._steps = dict[str | None, Event](), list[tuple[float, int, Tree]]()
        said = dict.fromkeys(event.inbound or "" for event in self._events if isinstance(event.body, world.PeerSaid))
        self._ids = {mark: name for name, mark in unique_marks(said).items()} if self._wire else {}
        for event in self._events:
            self._take(event)

    def tree(self) -> Tree:
        """The scenario."""
        named = [agent["id"] for agent in self._gateway.get("agents", ())] or ["main"]
        # On the wire an answer may be what is lacking.
        other = {"do": [{"reply": "An answer."} if self._wire else {"silent": True}], "may_miss": True}
        # The newest goes first: on the wire a prompt may have earlier questions too.
        rules = {
            agent: [*({"when": dict(when), "do": do} for when, do in list(own.items())[::-1]), other]
            for agent in dict.fromkeys([*named, *self._rules])
            for own in [self._rules.get(agent, {})]
        }
        parts: Tree = {
            "scenario": SCENARIO_VERSION,
            "title": self._header.title or self._header.scenario,
            "source": self._header.source,
            "tags": ["recorded", *self._platforms],
            "gateway": self._gateway,
            "world": {"people": self._people, **self._platforms},
            "cast": {"agents": rules, "hands": self._hands} if self._hands else {"agents": rules},
            "script": [step for _, _, step in sorted(self._steps, key=lambda item: item[:2])],
        }
        return {name: part for name, part in parts.items() if part}

    def _take(self, event: Event) -> None:
        body, recorded = event.body, self._header.of_gateway
        match body:
            case world.WorldAccount() if not recorded:
                self._platforms.setdefault(body.channel, {}).setdefault("accounts", {})[body.account] = {}
            case world.WorldPlace():
                self._place(body.address, body.name)
            case world.WorldLimits() if body.config and not self._wire:
                self._gateway = msgspec.json.decode(body.config, type=Tree)
            case world.PeerSaid():
                self._say(event, body.address, body.peer, {"secret": body.secret} if body.secret else {})
            case gateway.InboundReceived() if recorded:
                self._say(event, body.address, body.peer, {})
            case script.FaultFired():
                self._fault(event, body)
            case attach.GatewayAttached():
                self.options = body.options
            case _:
                self._act(event)

    def _act(self, event: Event) -> None:
        """Take what the agent, its model or a hand did."""
        body, did = event.body, self._did.setdefault(event.turn, [])
        match body:
            case gateway.TurnStarted():
                self._began[event.turn] = event
                did.clear()
            case _ if event.kind == "delegation.accepted":
                self._began[event.delegation] = event
                self._hands.setdefault(getattr(body, "hand", ""), {"takes": 3600})
            case hands.AgentDelegated():
                did.append({"delegate": {"hand": body.hand, "task": _template(body.task)}})
            case hands.AgentSends():
                to = {"to" if "/" in body.to or "@" in body.to else "target": body.to} if body.to else {}
                did.append({"send": {"text": _template(body.text), **to}})
            case hands.AgentAnswered():
                began = self._began.get(event.turn, event)
                think = round(event.at - began.at, 6)
                said = {"silent": True} if body.text is None else {"reply": _template(body.text)}
                said = {"fail": body.failed} if body.failed else said
                hand = getattr(self._began.get(began.delegation, began).body, "hand", "*")
                when: Tree = {"callback": hand} if body.work == "callback" else {body.work.value: True}
                if body.work == "message":
                    when = {"text": body.given, **self._in(body.place)}
                self._rule(body.agent, when, [*did, *([{"think": think}] if think > _SOON else []), said])
            case delivery.IntentPrepared() if self._header.of_gateway and body.intent_kind is IntentKind.REPLY:
                agent = getattr(self._began.get(event.turn, event).body, "agent", "main")
                if event.inbound in self._said:
                    when = {"text": _text(self._said[event.inbound]), **self._in(body.address)}
                    self._rule(agent, when, [{"reply": _template(body.text)}])
            case model.ModelAnswered() if asked := self._said.get(self._question(event)):
                when = {"text": f"*{without_marks(_text(asked))}*"}
                self._rule("main", when, [{"reply": _template(without_marks(body.text))}])
            case hands.HandAnswered() if "result" not in self._hands.get(body.hand, {"result": ""}):
                takes = round(event.at - self._events[(event.cause or event.seq) - 1].at, 6)
                how = "result" if body.outcome == "ok" else "fails"
                self._hands[body.hand] = {"takes": takes, how: _template(body.text)}
            case _:
                pass

    def _rule(self, agent: str, when: Tree, do: list[Any]) -> None:
        # What was answered first stays.
        self._rules.setdefault(agent, {}).setdefault(tuple(when.items()), do)

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
        self._platforms.setdefault(channel, {})
        key = _slug(peer.name or peer.id)
        # In a recording two people may have one name; in a scenario one person is on several platforms.
        key = f"{key}-{len(self._people)}" if recorded and key in self._people else key
        key = self._names.setdefault((channel, peer.id), key)
        self._people[key] = {"name": peer.name} if peer.name not in ("", key) else {}
        if address.lane not in self._names:
            above = address.parent or address.conversation
            room = self._names.setdefault((channel, "room", above), f"room{len(self._names)}")
            thread = address.thread or (address.parent and address.conversation)
            room = f"{room}/{_slug(thread)}" if thread else room
            self._place(address, f"@{key}" if address.kind is ChatKind.DIRECT else room)
        self._said.setdefault(event.inbound, event)
        said = without_marks(_text(event)) if self._wire else _text(event)
        more = more if recorded else {"id": event.inbound, **more}
        self._step(event.at, {"as": key, **self._in(address), "say": said, **more}, self._anchor(event))

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
        before = [each for each in self._events[: event.seq - 1] if each.kind in kinds and self._wire]
        last, question = next(((each, about) for each in before[::-1] if (about := self._question(each))), (event, ""))
        if not question:
            return None
        nth = sum(each.kind == last.kind and self._question(each) == question for each in before)
        when: Tree = {"event": last.kind, "question": question, **({"nth": nth} if nth > 1 else {})}
        delay = round(event.at - last.at, 3)
        return {"when": {**when, "delay": delay} if delay > _SOON else when}

    def _fault(self, event: Event, fired: script.FaultFired) -> None:
        fault, detail = fired.fault, fired.detail
        on, _, do = fault.partition("/")
        texts, about, said = on in _TEXTS, self._question(event), max((e.at for e in self._said.values()), default=0.0)
        if fault in _DOWN:
            back = next((each.at for each in self._events[event.seq :] if each.kind in _BACK), event.at + 1)
            step: Tree = {_DOWN[fault]: round(back - event.at, 6)}
            if not detail:
                self._step(event.at, {fault: step}, self._anchor(event))
                return
            kind = detail.removeprefix("at ")
            nth = sum(each.kind == kind and each.at > said for each in self._events[: event.seq])
            anchor = self._anchor(event, (kind,)) or {"when": {"event": kind, "nth": max(nth, 1)}}
            self._step(0.0 if self._wire else said, {fault: step | anchor}, order=0)
        elif fault in _CHANGES:
            place, _, locked = detail.partition(", ")
            more = {"locked": True} if locked else {}
            self._step(event.at, {"in": place, _CHANGES[fault]: True, **more}, self._anchor(event))
        elif do and (texts or not self._wire):
            which = {"question": about} if about and on == "send" else {"text": detail} if texts else {}
            if on == "model":
                which = {"text": f"*{without_marks(detail)}*"}
            struck: Tree = {"on": on, "do": do, **which, **({} if fired.lasts is None else {"for": fired.lasts})}
            self._step(0.0 if about else said if texts else event.at - _GRAIN, {"fault": struck}, order=0)
        else:
            self.lacks.append(f"how to repeat the fault {fault} ({detail})")


def _text(event: Event) -> str:
    """The text of an event; of a fault, what it struck."""
    return str(getattr(event.body, "text", "") or getattr(event.body, "detail", ""))


def _template(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _slug(name: str) -> str:
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in name.lower()).strip("-") or "somebody"

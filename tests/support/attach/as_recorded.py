"""A trace of the wire side as the prototype would have recorded the same run: one fact a line, and fewer of them."""

import json
from collections.abc import Callable
from typing import Any

from trunkline.core.action_catalogue import Action
from trunkline.core.events import Body, Event, Trace
from trunkline.core.reasons import Reason
from trunkline.core.values import Address
from trunkline.sim.events.attach import GatewayAttached, GatewayExited, GatewayLaunched, GatewayReady
from trunkline.sim.events.model import ModelAnswered, ModelAsked
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import (
    WireAccepted,
    WireCalled,
    WireDeduplicated,
    WireDeleted,
    WireEdited,
    WireRefused,
    WireResponded,
)
from trunkline.sim.events.world import (
    PeerSaid,
    PlatformConfirmed,
    PlatformConnected,
    PlatformPushed,
    ThreadClosed,
    ThreadOpened,
)

_COMMANDS = {"hermes": ["hermes", "run"], "openclaw": ["node", "gateway", "run", "--port", "48083"]}
#: what a fault of ours is called there
_DOES = {
    "reset": "lose-response",
    "half-answer": "lose-response",
    "drop": "hang",
    "rate-limit": "429",
    "refuse": "400",
    "error": "500",
    "html": "502",
    "slow": "delay",
}
_SENDS = {"telegram": "sendMessage", "discord": "POST /channels/:id/messages", "slack": "chat.postMessage"}
_EDITS = {"telegram": "editMessageText", "discord": "PATCH /channels/:id/messages/:id", "slack": "chat.update"}
_DELETES = {"telegram": "deleteMessage", "discord": "DELETE /channels/:id/messages/:id", "slack": "chat.delete"}
#: characters that were recorded of a prompt's end and of an answer's beginning
_TAIL, _ANSWER = 700, 120


def as_recorded(trace: Trace) -> list[bytes]:
    """The lines of a run that is known by its trace. Secrets, waits and closed networks have none."""
    recorder = _Recorder({event.cause for event in trace.events if isinstance(event.body, WireResponded)})
    for event in trace.events:
        recorder.take(event)
    return [json.dumps(line, ensure_ascii=False).encode() for line in recorder.lines]


class _Recorder:
    def __init__(self, responded: set[int | None]) -> None:
        #: requests to which a response was written
        self._responded = responded
        self.lines: list[dict[str, Any]] = []
        self._gateway = ""
        self._at = 0.0
        #: event -> the number of its line
        self._line_of: dict[int, int] = {}
        #: message of a person -> the number of its update
        self._updates: dict[str, int] = {}
        self._takes: dict[type[Body], Callable[[Event, Any], object]] = {
            GatewayAttached: self._attached,
            GatewayLaunched: self._launched,
            GatewayReady: lambda _, body: self._add("process.polls", after=round(body.after, 2)),
            GatewayExited: lambda _, body: self._add("process.exited", code=body.code),
            ProcessCrashed: lambda _, body: self._add("process.killed", why=body.why, processes=1),
            ProcessStopped: lambda _, body: self._add("process.stopped", code=0, why=body.why),
            ProcessFrozen: lambda _, body: self._add("process.frozen", why=body.why),
            ProcessThawed: lambda _e, _b: self._add("process.thawed"),
            PlatformConnected: self._connected,
            PeerSaid: self._said,
            PlatformPushed: self._pushed,
            PlatformConfirmed: self._confirmed,
            ThreadOpened: self._opened,
            ThreadClosed: lambda _, body: self._add("thread.closed", **_place(body.address), how=body.how),
            FaultFired: self._fault,
            WireCalled: self._called,
            WireAccepted: self._accepted,
            WireDeduplicated: self._deduplicated,
            WireRefused: self._refused,
            WireEdited: self._edited,
            WireDeleted: self._deleted,
            ModelAsked: self._asked,
            ModelAnswered: self._answered,
        }

    def take(self, event: Event) -> None:
        take = self._takes.get(type(event.body))
        self._at = event.at
        if take is not None:
            take(event, event.body)

    def _add(self, kind: str, **fields: Any) -> int:
        self.lines.append({"seq": len(self.lines) + 1, "at": round(self._at, 4), "kind": kind, **fields})
        return len(self.lines)

    def _call_of(self, event: Event) -> int:
        return self._line_of.get(event.cause or 0, 0)

    # ------------------------------------------------------------ the process, and what people say

    def _attached(self, _: Event, body: GatewayAttached) -> None:
        self._gateway = body.gateway.split()[0]

    def _launched(self, _: Event, _body: GatewayLaunched) -> None:
        self._add("process.started", command=_COMMANDS.get(self._gateway, [self._gateway]))

    def _connected(self, _: Event, body: PlatformConnected) -> None:
        if body.channel == "telegram":
            self._add("poll", platform="telegram", offset=0, timeout=10.0, confirmed=[], allowed=None)
            return
        self._add("ws.open", platform=body.channel)
        if body.channel == "discord":
            self._add("ws.identify", platform="discord", intents=1, properties={})

    def _said(self, _: Event, body: PeerSaid) -> None:
        update = self._updates.setdefault(body.message_id, 1000 + len(self._updates))
        more = {"update_id": update} if body.address.channel == "telegram" else {}
        self._add("peer.said", **_place(body.address), message_id=body.message_id, text=body.text, **more)

    def _pushed(self, _: Event, body: PlatformPushed) -> None:
        platform, message = body.address.channel, body.original_id
        if platform == "telegram":
            self._add("pushed", platform=platform, updates=[self._updates.get(message, 0)], offset=0)
        elif platform != "matrix":
            self._add("pushed", platform=platform, message_id=message, connections=1)

    def _confirmed(self, _: Event, body: PlatformConfirmed) -> None:
        platform, update = body.address.channel, self._updates.get(body.message_id, 0)
        if body.dropped:
            self._add("dropped", platform=platform, call=0, updates=[update])
        elif platform == "telegram":
            self._add("poll", platform=platform, offset=update + 1, timeout=10.0, confirmed=[update], allowed=None)

    def _opened(self, _: Event, body: ThreadOpened) -> None:
        self._add("thread.opened", **_place(body.address), call=0, parent=body.address.parent)

    # ------------------------------------------------------------ requests

    def _fault(self, event: Event, body: FaultFired) -> None:
        on, _, do = body.fault.partition("/")
        named = _DOES.get(do, do)
        if body.fault == "restart":
            self._add("process.stopping")
        elif on == "model":
            self._add("fault.fired", platform="model", method="chat", do=named)
        elif on in ("send", "act"):
            platform = str(self.lines[-1].get("platform"))
            self._add("fault.fired", platform=platform, method=_SENDS.get(platform, "send"), do=named)

    def _called(self, event: Event, body: WireCalled) -> None:
        platform, place = body.channel, body.address
        methods = {"send": _SENDS, "act": _DELETES if body.action is Action.DELETE else _EDITS}
        judged = body.what == "send" or body.action in (Action.EDIT, Action.DELETE)
        if place is None or not judged:
            self._line_of[event.seq] = self._add("call", platform=platform, method="getMe", params={})
            return
        params: dict[str, Any] = {"digest": body.digest}
        more: dict[str, Any] = {}
        match platform:
            case "telegram":
                params |= {"chat_id": place.conversation, "text": body.text, "message_id": body.message_id}
                params |= {"message_thread_id": place.thread} if place.thread else {}
            case "discord":
                params |= {"content": body.text}
                tail = f"/{body.message_id}" if body.message_id else ""
                more = {"path": f"/channels/{place.conversation}/messages{tail}"}
            case "slack":
                params |= {"channel": place.conversation, "text": body.text, "ts": body.message_id}
                params |= {"thread_ts": place.thread} if place.thread else {}
            case _:
                params |= {"body": body.text}
        method = methods[body.what].get(platform, f"PUT rooms/{place.conversation}/send/m.room.message/{event.seq}")
        self._line_of[event.seq] = self._add("call", platform=platform, method=method, params=params, **more)

    def _accepted(self, event: Event, body: WireAccepted) -> None:
        if event.cause is not None and event.cause not in self._responded and self.lines[-1]["kind"] != "fault.fired":
            # Its response was not written before the end of the process.
            self._add("fault.fired", platform=body.address.channel, method="send", do="kill")
        fields = {"message_id": body.provider_id, "text": body.text, "reply_to": body.reply_to}
        more = {"nonce": body.key} if body.address.channel == "discord" else {}
        self._add("accepted", **_place(body.address), call=self._call_of(event), **fields, **more)

    def _deduplicated(self, event: Event, body: WireDeduplicated) -> None:
        fields = {"message_id": body.provider_id, "nonce": body.key}
        self._add("deduplicated", **_place(body.address), call=self._call_of(event), **fields)

    def _refused(self, event: Event, body: WireRefused) -> None:
        if self.lines[-1]["kind"] == "fault.fired" and body.reason is not Reason.PLACE_GONE:
            return
        why = "message thread not found" if body.reason is Reason.PLACE_GONE else body.detail
        self._add("refused", **_place(body.address), call=self._call_of(event), why=why)

    def _edited(self, event: Event, body: WireEdited) -> None:
        if body.author == "bot" and not body.repeated:
            fields = {"message_id": body.message_id, "text": body.text}
            self._add("edited", **_place(body.address), call=self._call_of(event), **fields)

    def _deleted(self, event: Event, body: WireDeleted) -> None:
        if body.author == "bot" and not body.repeated:
            self._add("deleted", **_place(body.address), call=self._call_of(event), message_id=body.message_id)

    # ------------------------------------------------------------ the model

    def _asked(self, event: Event, body: ModelAsked) -> None:
        tail = "\n".join(body.said)[-_TAIL:]
        marks, answers = list(body.marks), [] if body.beside else list(body.marks)
        fields = {"stream": body.stream, "tools": body.tools, "roles": "su", "tail": tail, "system": ""}
        line = self._add("model.asked", main=not body.beside, marks=marks, answers=answers, **fields)
        self._line_of[event.seq] = line

    def _answered(self, event: Event, body: ModelAnswered) -> None:
        if body.status == 200:
            self._add("model.answered", call=self._call_of(event), text=body.text[:_ANSWER])
        elif self.lines[-1]["kind"] != "fault.fired":
            self._add("fault.fired", platform="model", method="chat", do=str(body.status))


def _place(address: Address) -> dict[str, Any]:
    """The chat and the thread of a place, as its platform spells them."""
    return {"platform": address.channel, "chat": address.conversation, "thread": address.thread}

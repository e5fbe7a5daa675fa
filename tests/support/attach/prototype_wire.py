"""Wires as the recorder of the prototype would have written them, one fact a line, for cases of which none was kept."""

import json
from typing import Any

from tests.support.attach.recorded.recorded_wire import read_recorded_wire
from trunkline.core.events import Trace

HERMES_RESTORED = (
    "[System note: The previous turn was interrupted by a gateway interruption; the gateway is now back online. Report "
    "to the user that the session was restored successfully and ask what they would like to do next. Do NOT re-execute "
    "old tool calls — skip any unfinished work from the conversation history.]"
)
OPENCLAW_RESTARTED = (
    "[System] Your previous turn was interrupted by a gateway restart while OpenClaw was waiting on tool/model work. "
    "Continue from the existing transcript and finish the interrupted response."
)
NOTES = {"hermes": HERMES_RESTORED, "openclaw": OPENCLAW_RESTARTED}
_COMMANDS = {"hermes": ["hermes", "run"], "openclaw": ["node", "gateway", "run", "--port", "48083"]}
_PLACES: dict[str, dict[str, tuple[int | str, int | str | None]]] = {
    "telegram": {
        "dm": (5550001, None),
        "dm2": (5550002, None),
        "general": (-1001234567890, None),
        "topic11": (-1001234567890, 11),
        "topic12": (-1001234567890, 12),
    },
    "discord": {
        "dm": ("840000000000010001", None),
        "dm2": ("840000000000010002", None),
        "general": ("820000000000000001", None),
        "topic11": ("850000000000000011", None),
        "topic12": ("850000000000000012", None),
    },
    "slack": {
        "dm": ("D0ANA00001", None),
        "general": ("C0OPS00001", None),
        "topic11": ("C0OPS00001", "1795000000.000001"),
        "topic12": ("C0OPS00001", "1795000000.000002"),
    },
}
_METHODS = {"telegram": "sendMessage", "discord": "POST /channels/:id/messages", "slack": "chat.postMessage"}
#: faults after which the request is not taken
_NOT_TAKEN = {"429", "500", "502", "reset-before", "kill-before"}


class PrototypeWire:
    """Writes the lines of one case. `gateway`: hermes or openclaw; `platform`: telegram, discord or slack."""

    def __init__(self, gateway: str, platform: str) -> None:
        self.gateway, self.platform = gateway, platform
        self.lines: list[dict[str, Any]] = []
        self.now = 0.0
        self.update = 1000
        self._messages = 100
        self._answers: dict[str, int] = {}

    @property
    def trace(self) -> Trace:
        return read_recorded_wire([json.dumps(line).encode() for line in self.lines])

    def add(self, kind: str, *, after: float = 0.5, **fields: Any) -> int:
        self.now += after
        self.lines.append({"seq": len(self.lines) + 1, "at": round(self.now, 4), "kind": kind, **fields})
        return len(self.lines)

    def _on(self, kind: str, *, after: float = 0.01, **fields: Any) -> int:
        return self.add(kind, after=after, platform=self.platform, **fields)

    # ------------------------------------------------------------ the process

    def start(self, *, drops: int | None = None) -> None:
        """It starts and connects. `drops`: the update that it has the platform forget."""
        self.add("process.started", command=_COMMANDS[self.gateway])
        if self.platform == "telegram":
            call = self._on("call", method="deleteWebhook", params={"drop_pending_updates": "true"})
            if drops is not None:
                self._on("dropped", call=call, updates=[drops])
            self._on("poll", offset=0, timeout=10.0, confirmed=[], allowed=None)
        else:
            self._on("ws.open")
            if self.platform == "discord":
                self._on("ws.identify", intents=1, properties={})
        self.add("process.polls", after=3.0)

    def kill(self, *, after: float = 0.1) -> None:
        self.add("process.killed", after=after, why="a case", processes=3)

    def stop(self, notice: str = "") -> None:
        self.add("process.stopping")
        if notice:
            self.send(notice)
        self.add("process.stopped", code=0)

    # ------------------------------------------------------------ people

    def ask(self, mark: str, where: str = "dm", *, taken: bool = True, confirmed: bool = True) -> Any:
        """Somebody asks. Returns the id of the message."""
        self.update += 1
        chat, thread = _PLACES[self.platform][where]
        message = self._new_message()
        update = {"update_id": self.update} if self.platform == "telegram" else {}
        self._on("peer.said", chat=chat, thread=thread, message_id=message, text=f"hello QZ{mark}", **update)
        if taken:
            self.hand_out(message)
            if confirmed and self.platform == "telegram":
                self._on("poll", offset=self.update + 1, timeout=10.0, confirmed=[self.update], allowed=None)
        return message

    def hand_out(self, message: Any = None) -> None:
        """The platform hands out the last message, or a given one."""
        if self.platform == "telegram":
            self._on("pushed", updates=[self.update], offset=self.update)
        elif self.platform == "discord":
            self._on("pushed", message_id=message, connections=1)
        else:
            self._on("pushed", envelope=f"env-{self._messages}", attempt=0)
            self._on("acked", envelope=f"env-{self._messages}")

    def answered(self, mark: str, where: str = "dm") -> None:
        """Asked and answered, as everything begins."""
        self.ask(mark, where)
        self.send(self.model(mark), where)
        self.now += 3.0

    def _new_message(self) -> Any:
        self._messages += 1
        forms = {"telegram": self._messages, "discord": f"86000000000000{self._messages}"}
        return forms.get(self.platform, f"1795000000.{self._messages:06}")

    # ------------------------------------------------------------ the model

    def model(self, *marks: str, tail: str = "", fault: str = "", answers: bool = True) -> str:
        """The model is asked, and answers. Returns what it says."""
        self._answers |= {mark: self._answers.get(mark, 0) + 1 for mark in marks}
        tail = tail or "\n".join(f"hello QZ{mark}" for mark in marks)
        asked = self.add(
            "model.asked", main=True, marks=list(marks), answers=list(marks), stream=True, tools=27, tail=tail
        )
        if fault:
            self.add("fault.fired", after=0.0, platform="model", method="chat", do=fault)
        said = " ".join(f"AZ{mark}-g{self._answers[mark]}" for mark in marks)
        said = said or "EXTRA-1 session restored, what next?"
        if answers:
            self.add("model.answered", after=0.1, call=asked, text=said[:120])
        return said

    def restored(self) -> None:
        """The gateway runs a turn of its own after a restart, and posts what the model says."""
        self.send(self.model(tail=NOTES[self.gateway]))

    # ------------------------------------------------------------ requests

    def send(
        self, text: str, where: str = "dm", *, fault: str = "", refused: str = "", nonce: str = "", known: Any = None
    ) -> Any:
        """A message is sent. `known`: the platform has it, by its nonce. Returns its id, if it is taken."""
        chat, thread = _PLACES[self.platform][where]
        fields = self._request(text, chat, thread, nonce)
        call = self._on("call", after=0.5, method=_METHODS[self.platform], **fields)
        if fault:
            self._on("fault.fired", after=0.0, method="send", do=fault)
        if refused:
            self._on("refused", after=0.0, call=call, chat=chat, thread=thread, why=refused)
        elif known is not None:
            self._on("deduplicated", after=0.0, call=call, chat=chat, message_id=known, nonce=nonce)
        elif fault not in _NOT_TAKEN:
            return self._accept(call, fields["params"], chat, thread, fault, nonce)
        if fault == "kill-before":
            self.kill()
        return None

    def _request(self, text: str, chat: Any, thread: Any, nonce: str) -> dict[str, Any]:
        if self.platform == "telegram":
            escaped = text.replace("-", "\\-") if self.gateway == "hermes" else text
            return {
                "params": {"chat_id": str(chat), "text": escaped} | ({"message_thread_id": thread} if thread else {})
            }
        if self.platform == "discord":
            return {"path": f"/channels/{chat}/messages", "params": {"content": text, "nonce": nonce}}
        return {"params": {"channel": chat, "text": text} | ({"thread_ts": thread} if thread else {})}

    def _accept(self, call: int, params: dict[str, Any], chat: Any, thread: Any, fault: str, nonce: str) -> Any:
        message = self._new_message()
        text = params.get("text") or params["content"]
        more = {"nonce": nonce} if self.platform == "discord" else {}
        self._on("accepted", after=0.0, call=call, chat=chat, thread=thread, message_id=message, text=text, **more)
        if self.platform == "discord":
            self._on("pushed", after=0.0, message_id=message, connections=1)
        if fault in ("kill", "kill-after"):
            self.kill(after=0.0 if fault == "kill" else 0.08)
        return message

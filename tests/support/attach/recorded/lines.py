"""The lines of a recorded wire, each as the events that a trace has for it: requests, and what the model is asked."""

import re
from typing import cast

import msgspec

from tests.support.attach.recorded.places import RecordedPlaces, relation_of, thread_of
from tests.support.attach.recorded.prompts import PromptReader, RecordedPrompt
from tests.support.attach.recorded.requests import REPLACES, called, sends
from tests.support.attach.recorded.world_lines import Line, WorldLines
from trunkline.core.errors import Refused
from trunkline.core.events import EventLog
from trunkline.core.reasons import Reason
from trunkline.core.values import Address
from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.events.model import ModelAnswered, ModelAsked
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import (
    WireAccepted,
    WireCalled,
    WireDeduplicated,
    WireDeleted,
    WireEdited,
    WireRefused,
    WireResponded,
    WireResponseLost,
)
from trunkline.sim.index.answer_parts import CUT
from trunkline.sim.index.marks import answers_in, questions_in
from trunkline.sim.platforms.api.request_checks import text_of_html
from trunkline.sim.platforms.api.telegram_markdown import text_of_markdown

#: of long answers the first 120 characters were recorded: what ends at such a length from here on may be cut
_ANSWER, _STEP = 80, 20
#: escapes of Telegram's Markdown
_ESCAPED = re.compile(r"\\([_*\[\]()~`>#+\-=|{}.!\\])")
#: faults after which a request has no response
_WITHHELD = frozenset({"lose-response", "reset-before", "kill", "kill-before", "hang"})
#: faults that refuse, and may pass
_REFUSALS = {"429": Reason.RATE_LIMITED, "500": Reason.PLATFORM_ERROR, "502": Reason.PLATFORM_ERROR}
#: why a place takes no messages; what is missing may also be the message that a request names
_GONE = re.compile(
    r"(?i)\b(thread|topic|chat|channel|conversation|room|group)\b.*\b(not found|closed|deleted|archived|locked|gone)\b"
    r"|deactivated|unknown channel|(thread|channel|chat)_not_found|topic_(closed|deleted)|is_archived"
)
_STATUS = {Reason.RATE_LIMITED: 429, Reason.PLATFORM_ERROR: 500}


class RecordedLines(WorldLines):
    """Takes the lines of one recording, in order, and records their events."""

    def __init__(self, log: EventLog, places: RecordedPlaces, profile: GatewayProfile | None) -> None:
        super().__init__(log, places)
        self._prompts = PromptReader(profile)
        #: seq of a line -> its event, its body and the fault that struck it
        self._calls: dict[int, tuple[int, WireCalled]] = {}
        #: seq of a line -> what the request asks for
        self._params: dict[int, Line] = {}
        self._faults: dict[int, str] = {}
        self._last_call = 0
        self._asked: dict[int, int] = {}
        self._last_asked: int | None = None
        self._answered: set[str] = set()
        self._prompted: set[str] = set()
        #: (chat, message) -> where it is, and its text
        self._messages: dict[tuple[str, str], tuple[Address, str]] = {}
        self._takes |= {
            "call": self._call,
            "fault.fired": self._fault,
            "accepted": self._accepted,
            "deduplicated": self._deduplicated,
            "refused": self._refused,
            "edited": self._edited,
            "deleted": self._deleted,
            "model.asked": self._model_asked,
            "model.answered": self._model_answered,
        }

    # ------------------------------------------------------------ requests

    def _call(self, line: Line) -> None:
        given = line.get("params")
        params = cast("Line", given) if isinstance(given, dict) else {}
        body = called(line, self._where)
        body = msgspec.structs.replace(body, text=_seen(body.channel, body.text, params))
        self._last_call = line["seq"]
        self._params[self._last_call] = params
        self._calls[self._last_call] = (self._on_wire(line, body), body)

    def _fault(self, line: Line) -> None:
        platform, do = str(line.get("platform") or ""), str(line.get("do") or "")
        method = str(line.get("method") or "")
        on = platform if platform == "model" else "confirm" if method == "confirm" else "send"
        if on == "model":
            self._record(FaultFired(fault=f"{on}/{do}", detail=method), self._last_asked)
            return
        at = self._calls.get(self._last_call) if on == "send" else None
        if at is not None and at[1].what == "act":
            on = "act"
        self._record(FaultFired(fault=f"{on}/{do}", detail=method), None if at is None else at[0])
        if at is None:
            return
        self._faults[self._last_call] = do
        reason = _REFUSALS.get(do) or (Reason.REFUSED if do == "400" else None)
        if reason is not None and at[1].address is not None:
            self._refuse(line, self._last_call, at[1].address, reason, f"by a fault: {do}")

    def _refuse(self, line: Line, call: int, address: Address, reason: Reason, detail: str) -> None:
        seq = self._calls[call][0] if call in self._calls else None
        retry = line.get("retry_after")
        body = WireRefused(
            address=address,
            reason=reason,
            chunk=1,
            attempt=1,
            detail=detail,
            retry_after=float(retry) if isinstance(retry, int | float) else None,
        )
        self._on_wire(line, body, seq)
        self._respond(line, call, _STATUS.get(reason, 400))

    def _respond(self, line: Line, call: int, status: int = 200) -> None:
        found = self._calls.get(call)
        if found is None or self._faults.get(call) in _WITHHELD:
            return
        seq, body = found
        done = WireResponded(
            channel=body.channel, method=body.method, status=status, address=body.address, text=body.text
        )
        self._on_wire(line, done, seq)

    def _accepted(self, line: Line) -> None:
        platform, call = str(line["platform"]), int(line.get("call") or 0)
        params = self._params.get(call, {})
        if platform == "matrix" and not self._posts(line, call, params):
            return
        # What Matrix calls the other event of a relation was recorded as a thread, whatever the relation is.
        thread = thread_of(params) if platform == "matrix" and relation_of(params)[0] else line.get("thread")
        address = self._where.address(platform, line.get("chat"), thread)
        self._place(line, address)
        text = _seen(platform, _text(line), params)
        message_id = str(line["message_id"])
        self._messages[str(line.get("chat")), message_id] = (address, text)
        reply = line.get("reply_to")
        body = WireAccepted(
            address=address,
            requested=address,
            text=text,
            provider_id=message_id,
            key=str(line.get("nonce") or line.get("txn") or f"call-{call}"),
            chunk=1,
            attempt=1,
            reply_to=None if reply is None else str(reply),
        )
        found = self._calls.get(call)
        seq = self._on_wire(line, body, None if found is None else found[0])
        if self._faults.get(call) in ("lose-response", "kill", "hang"):
            self._on_wire(line, WireResponseLost(address=address, chunk=1, attempt=1), seq)
        self._respond(line, call)

    def _posts(self, line: Line, call: int, params: Line) -> bool:
        """Whether an event that Matrix accepted is a new message; one that changes another is recorded as that."""
        found, (related, other) = self._calls.get(call), relation_of(params)
        if found is not None and not sends("matrix", found[1].method):
            return False
        if related != REPLACES or other is None:
            return True
        content = params.get("m.new_content")
        new = cast("Line", content).get("body") if isinstance(content, dict) else None
        self._edited({**line, "message_id": other, "text": line.get("text") if new is None else new, "thread": None})
        return False

    def _deduplicated(self, line: Line) -> None:
        call, key = int(line.get("call") or 0), str(line.get("nonce") or line.get("txn") or "")
        found = self._calls.get(call)
        address = None if found is None else found[1].address
        if line.get("chat") is not None:
            address = self._where.address(str(line["platform"]), line["chat"], line.get("thread"))
        if address is None:
            return
        body = WireDeduplicated(
            address=address, provider_id=str(line.get("message_id") or ""), key=key, chunk=1, attempt=1
        )
        self._on_wire(line, body, None if found is None else found[0])
        self._respond(line, call)

    def _refused(self, line: Line) -> None:
        address = self._where.address(str(line["platform"]), line.get("chat"), line.get("thread"))
        why = str(line.get("why") or "")
        reason = Reason.PLACE_GONE if _GONE.search(why) else Reason.REFUSED
        self._refuse(line, int(line.get("call") or 0), address, reason, why)

    def _of_message(self, line: Line) -> tuple[str, Address, str, int | None]:
        """A message that is changed: its id, where it is, its text until now, and the request."""
        message_id = str(line["message_id"])
        known = self._messages.get((str(line.get("chat")), message_id))
        address = self._where.address(str(line["platform"]), line.get("chat"), line.get("thread"))
        found = self._calls.get(int(line.get("call") or 0))
        where, before = (address, "") if known is None else known
        return message_id, where, before, None if found is None else found[0]

    def _edited(self, line: Line) -> None:
        message_id, address, before, cause = self._of_message(line)
        text = _seen(address.channel, _text(line), self._params.get(int(line.get("call") or 0), {}))
        self._messages[str(line.get("chat")), message_id] = (address, text)
        self._on_wire(line, WireEdited(address=address, message_id=message_id, text=text, before=before), cause)
        self._respond(line, int(line.get("call") or 0))

    def _deleted(self, line: Line) -> None:
        message_id, address, before, cause = self._of_message(line)
        self._on_wire(line, WireDeleted(address=address, message_id=message_id, before=before), cause)
        self._respond(line, int(line.get("call") or 0))

    # ------------------------------------------------------------ the model

    def _model_asked(self, line: Line) -> None:
        given = msgspec.convert({name: line[name] for name in line if line[name] is not None}, RecordedPrompt)
        said = dict.fromkeys(mark for _, body in self._said.values() for mark in questions_in(body.text))
        waiting = [mark for mark in said if mark not in self._prompted]
        recorded = given.answers if given.marks is None else given.marks
        marks = self._prompts.marks(recorded, given.tail, answered=self._answered, waiting=waiting)
        main = given.tools != 0 if given.main is None else given.main
        if main:
            self._prompted |= set(marks)
        body = ModelAsked(
            model="",
            said=(given.tail,) if given.tail else (),
            marks=marks,
            beside=not main,
            stream=given.stream,
            tools=given.tools or 0,
            tail=given.tail,
        )
        self._asked[line["seq"]] = self._last_asked = self._record(body, node="model")

    def _model_answered(self, line: Line) -> None:
        text = str(line.get("text") or "")
        self._answered |= {mark.question for mark in answers_in(text)}
        cut = CUT if len(text) >= _ANSWER and len(text) % _STEP == 0 else ""
        body = ModelAnswered(status=int(line.get("status") or 200), text=text + cut)
        self._record(body, self._asked.get(int(line.get("call") or 0)), node="model")


def _text(line: Line) -> str:
    """The text of a message. A message without any, such as a picture, was recorded with the word for nothing."""
    text = str(line.get("text") or "")
    return "" if text == "null" else text


def _seen(platform: str, text: str, params: Line) -> str:
    """A text as people see it, by what its request says about its markup."""
    if platform != "telegram":
        return text
    mode = str(params.get("parse_mode") or "").lower()
    try:
        if mode == "html":
            return text_of_html(text)
        if mode == "markdownv2":
            return text_of_markdown(text)
    except Refused:
        # The recorder took what the platform itself would have refused.
        pass
    return _ESCAPED.sub(r"\1", text)

"""The result that an agent gets from the message tool. It says ``ok`` only for what is done or durable."""

from enum import StrEnum
from typing import Any

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentId


class ActionStatus(StrEnum):
    """How an action stands when the tool returns."""

    #: durable: it will be carried out in its turn, or its end is noted in the transcript
    QUEUED = "queued"
    #: carried out, or answered
    DONE = "done"
    #: only checked: nothing was stored, sent or asked
    DRY_RUN = "dry-run"
    #: not carried out, for `reason`: a hook cancelled it, or nothing of it is visible
    SUPPRESSED = "suppressed"
    #: refused or failed, for `reason`; only for a target of a broadcast, else the tool raises
    FAILED = "failed"


class ActionResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one action."""

    action: Action
    status: ActionStatus
    #: ``core`` (the queue), ``adapter`` (answered by the platform) or ``dry-run``
    handled_by: str
    channel: str = ""
    #: the place it concerns
    place: Address | None = None
    #: names the message or change in later calls: as `messageId`, before the platform has given it an id
    intent: IntentId | None = None
    #: the session that remembers it
    session_key: str | None = None
    #: the platform's ids, if they are known already
    message_ids: tuple[str, ...] = ()
    #: the platform's answer to a question, as JSON
    data: str | None = None
    reason: Reason | None = None
    detail: str = ""
    #: what it says; only of a call of an earlier run (`Turn.done_before`)
    said: str | None = None
    #: of a broadcast: one for each target, in order
    results: "tuple[ActionResult, ...]" = ()

    @property
    def ok(self) -> bool:
        """Whether it is done, durable, or a dry run that would be; of a broadcast: for every target."""
        if self.results:
            return all(one.ok for one in self.results)
        return self.status in (ActionStatus.QUEUED, ActionStatus.DONE, ActionStatus.DRY_RUN)

    def for_model(self) -> dict[str, Any]:
        """The result as a tool-calling model gets it: JSON, names in camelCase."""
        shown: dict[str, Any] = {"ok": self.ok, "status": self.status.value, "action": self.action.value}
        optional: dict[str, Any] = {
            "handledBy": self.handled_by,
            "channel": self.channel,
            "to": "" if self.place is None else str(self.place),
            "messageId": self.message_ids[0] if self.message_ids else self.intent,
            "messageIds": list(self.message_ids),
            "session": self.session_key,
            "data": None if self.data is None else msgspec.json.decode(self.data),
            "reason": None if self.reason is None else self.reason.value,
            "error": "" if self.ok else self.detail,
            "results": [one.for_model() for one in self.results],
        }
        return shown | {name: value for name, value in optional.items() if value not in (None, "", [])}

"""Outcomes of a message that a program handed to the gateway (`Gateway.receive`), as values."""

from enum import StrEnum

import msgspec

from trunkline.core.reasons import Reason
from trunkline.core.values import InboundId, SessionId


class InboundStatus(StrEnum):
    """The status of a received message."""

    #: it is durable, and starts or joins a turn
    ADMITTED = "admitted"
    #: its id came before: nothing is stored, and the receipt is about the first message
    DUPLICATE = "duplicate"
    #: it starts no turn, and nothing is stored
    DROPPED = "dropped"


class RouteNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Why a message went to its agent and session, as it was decided at its admission."""

    #: the tier that decided, e.g. ``binding.peer``, or ``default``
    matched_by: str
    #: the route rule that matched, or the session binding; none: no rule did
    rule: str | None = None
    #: what the session is shared by, e.g. ``per-account-channel-peer``
    scope: str = ""
    #: number of the deciding configuration
    revision: int = 1


class InboundReceipt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The receipt of a message. Session, agent and route are those of the first message with its id."""

    status: InboundStatus
    #: id of the stored message; none: nothing is stored
    inbound: InboundId | None = None
    #: why it was dropped, or is a duplicate
    reason: Reason | None = None
    #: what is wrong with a dropped message
    detail: str = ""
    agent: str = ""
    session_key: str = ""
    session_id: SessionId | None = None
    #: none: nothing was decided, or a version before this one stored it
    route: RouteNote | None = None
    #: a duplicate says something else than the first message with its id, or is of another person
    differs: bool = False


class TurnNote(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """How the turn of a message ended, as it is stored with it."""

    #: ``replied``, ``silent`` or ``failed``
    outcome: str
    #: why it is silent, or has failed
    reason: Reason | None = None
    detail: str = ""

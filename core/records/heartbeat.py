"""A heartbeat that was admitted: what was decided when it began, and what its agent is to deal with."""

import msgspec

from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentId


class HeartbeatRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Why a heartbeat runs and where its text goes: fixed at its admission, and the same when it runs again."""

    #: the reason of the wake-up, e.g. ``interval`` or ``cron:daily``
    wake: str
    #: when the schedule wanted it; none: something else woke the agent
    due: float | None = None
    #: where its text goes; none: nowhere, for the reason `why`
    target: Address | None = None
    why: Reason | None = None


class SystemEvent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something that an agent's next heartbeat is to deal with. `source`: what reported it, e.g. ``cron:daily``."""

    n: int
    text: str
    source: str
    at: float


class HeartbeatText(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The text of a heartbeat, and where it is said: as the agent returned it, without its token."""

    agent: str
    address: Address
    text: str
    intent: IntentId

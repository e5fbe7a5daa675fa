"""A task that a person or a program gives to a hand, outside of any turn."""

from __future__ import annotations

import msgspec

from trunkline.core.values import Address, Peer


class ClientTask(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request to delegate for an agent, whose answer to the result goes to `to`, in the session of that place."""

    #: idempotency key: the same task under the same key is one delegation
    key: str
    hand: str
    task: str
    #: a target as text, or an exact place
    to: Address | str
    #: the channel of a target; none: the only one that is served
    channel: str | None = None
    #: none: the default agent
    agent: str | None = None
    #: the caller's own name for it
    label: str = ""
    #: seconds that the run may take; none: as the hand is configured
    timeout: float | None = None
    #: for whom it is done
    asked_by: Peer | None = None

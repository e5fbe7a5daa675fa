"""The life cycle of a binding, as a table (seed 002: active, ending, ended; invariant B1).

`ending` takes nothing new: inbound messages go their default route, completions are not routed to it. What is under
way for it is finished, and then it has ended. What has ended never comes back; binding again makes a new record.
"""

from __future__ import annotations

from enum import StrEnum

from trunkline.core.bindings.records import BindingStatus
from trunkline.core.errors import IllegalTransition


class BindingEvent(StrEnum):
    """What can happen to a binding."""

    #: something was said in it
    TOUCH = "touch"
    #: a message for it went out under another identity, or the identity was found again
    IDENTITY = "identity"
    #: somebody unbinds it, or it expires, while something is under way for it
    DRAIN = "drain"
    #: what was under way is finished
    DRAINED = "drained"
    #: it is over at once: unbound or expired with nothing under way, moved to another session, its place is gone
    END = "end"


_S, _E = BindingStatus, BindingEvent

BINDING_TRANSITIONS: dict[BindingStatus, dict[BindingEvent, BindingStatus]] = {
    _S.ACTIVE: {
        _E.TOUCH: _S.ACTIVE,
        _E.IDENTITY: _S.ACTIVE,
        _E.DRAIN: _S.ENDING,
        _E.END: _S.ENDED,
    },
    _S.ENDING: {
        _E.TOUCH: _S.ENDING,
        _E.IDENTITY: _S.ENDING,
        _E.DRAINED: _S.ENDED,
        _E.END: _S.ENDED,
    },
    _S.ENDED: {},
}


def next_binding_status(status: BindingStatus, event: BindingEvent) -> BindingStatus:
    """The status after an event. Raises `IllegalTransition` for one that the table does not allow."""
    after = BINDING_TRANSITIONS[status].get(event)
    if after is None:
        raise IllegalTransition(f"{event.value!r} on a binding that is {status.value!r}")
    return after

"""The state machine of a binding, as a table (invariant B1).

An ending binding accepts nothing new: inbound messages take their default route, and completions are not routed to it.
When its work in progress is finished, it ends. An ended binding never returns; binding again makes a new record.
"""

from enum import StrEnum

from trunkline.core.errors import IllegalTransition


class BindingStatus(StrEnum):
    """The state of a binding; `trunkline.core.states.binding` has the table of transitions."""

    ACTIVE = "active"
    #: accepts nothing new; work in progress is finished
    ENDING = "ending"
    ENDED = "ended"


class BindingEvent(StrEnum):
    """An event in the life of a binding."""

    #: a message in the bound conversation
    TOUCH = "touch"
    #: a message was sent under another identity, or the identity was restored
    IDENTITY = "identity"
    #: it is unbound or expires while work is in progress
    DRAIN = "drain"
    #: the work in progress is finished
    DRAINED = "drained"
    #: it ends at once: unbound or expired without work in progress, rebound, or its place is gone
    END = "end"


_S, _E = BindingStatus, BindingEvent

BINDING_TRANSITIONS: dict[BindingStatus, dict[BindingEvent, BindingStatus]] = {
    _S.ACTIVE: {_E.TOUCH: _S.ACTIVE, _E.IDENTITY: _S.ACTIVE, _E.DRAIN: _S.ENDING, _E.END: _S.ENDED},
    _S.ENDING: {_E.TOUCH: _S.ENDING, _E.IDENTITY: _S.ENDING, _E.DRAINED: _S.ENDED, _E.END: _S.ENDED},
    _S.ENDED: {},
}


def next_binding_status(status: BindingStatus, event: BindingEvent) -> BindingStatus:
    """The status after an event. Raises `IllegalTransition` for one that the table does not allow."""
    after = BINDING_TRANSITIONS[status].get(event)
    if after is None:
        raise IllegalTransition(f"{event.value!r} on a binding that is {status.value!r}")
    return after

"""Permissions to bind and unbind conversations by chat commands, and the replies."""

from collections.abc import Sequence

from trunkline.core.config import ControlConfig
from trunkline.core.errors import BindingError
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.values import Address, Peer


def person(place: Address, peer: Peer) -> str:
    """The name of a person in bindings and in the configuration: ``<channel>:<id>``."""
    return f"{place.channel}:{peer.id}"


def is_owner(who: str, config: ControlConfig, *, claimed: bool) -> bool:
    """Whether a person may bind and unbind every conversation. `claimed`: only a client says who they are."""
    return who in config.owners and not claimed


def check_focus(who: str, config: ControlConfig, *, claimed: bool) -> None:
    """Raise `BindingError` unless the person is an owner: a session holds the messages of others."""
    if not is_owner(who, config, claimed=claimed):
        raise BindingError(f"only an owner of this gateway may do that{_unproven(who, config)}", Reason.NOT_PERMITTED)


def check_unfocus(who: str, had: SessionBindingRecord, config: ControlConfig, *, claimed: bool) -> None:
    """Raise `BindingError` unless the person is an owner or bound the conversation."""
    binder = had.bound_by == who and not (claimed and who in config.owners)
    if not is_owner(who, config, claimed=claimed) and not binder:
        whose = f"only an owner or {had.bound_by}, who bound it, may do that"
        raise BindingError(f"{whose}{_unproven(who, config)}", Reason.NOT_PERMITTED)


def _unproven(who: str, config: ControlConfig) -> str:
    """The remedy for an owner whose token proves nobody."""
    if who not in config.owners:
        return ""
    return f", and nothing proves that this is one: the token of this message needs `people: [{who}]` or `operate`"


def choose_target(argument: str, main: str, known: Sequence[SessionBindingRecord]) -> str:
    """The key of the session named by an argument: a key, ``main`` for the key `main`, or the label of bound work.

    Raises `BindingError` for an empty or ambiguous argument.
    """
    if not argument:
        raise BindingError(
            "name a session: /focus <session key>, or the name of work in progress", Reason.UNKNOWN_SESSION
        )
    if argument.lower() == "main":
        return main
    found = {
        record.target_session_key
        for record in known
        if argument in (record.label, record.delegation, record.binding_id)
    }
    if len(found) > 1:
        there = ", ".join(sorted(found))
        raise BindingError(f"{argument!r} is the name of several sessions: {there}", Reason.UNKNOWN_SESSION)
    return next(iter(found), argument)


def focus_reply(record: SessionBindingRecord) -> str:
    """The reply to a successful ``/focus``."""
    return f"This conversation belongs to the session {record.target_session_key} now. /unfocus ends that."


def unfocus_reply(records: Sequence[SessionBindingRecord]) -> str:
    if not records:
        return "This conversation is bound to no session."
    return "; ".join(f"The session {record.target_session_key} is left" for record in records) + "."


def bindings_reply(
    records: Sequence[SessionBindingRecord], here: SessionBindingRecord | None, *, all_of_them: bool
) -> str:
    """The reply to ``/agents``: all bindings for an owner, only this conversation's for others."""
    shown = records if all_of_them else [record for record in records if here is not None and record == here]
    if not shown:
        return "Nothing is bound here." if not all_of_them else "No conversation is bound to a session."
    return "\n".join(_line(record, here) for record in shown)


def _line(record: SessionBindingRecord, here: SessionBindingRecord | None) -> str:
    sign = "*" if here is not None and record.binding_id == here.binding_id else "-"
    what = record.label or record.target_kind.value
    return f"{sign} {what}: {record.target_session_key} in {record.conversation} ({record.status.value})"


def refusal_reply(error: BindingError) -> str:
    """The reply to a refused command."""
    return f"Not done: {error.facts}."

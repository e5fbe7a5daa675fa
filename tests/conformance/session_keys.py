"""The area of session keys: one operation of the `openclaw` key forms for each `op`."""

from collections.abc import Callable
from typing import Any

from tests.conformance.upstream.key_builder import build_key
from tests.conformance.upstream.key_context import MessageContext, context_key, explicit_key, group_of_context
from tests.conformance.upstream.key_store import lookup, migrate_key, migrate_store
from tests.conformance.upstream.key_text import (
    agent_of,
    chat_type_of,
    flags,
    history_key,
    key_shape,
    thread_parent,
    to_request_key,
    to_store_key,
    with_thread,
)
from tests.support.profiles import parse_openclaw
from trunkline.core.config import SessionConfig
from trunkline.core.errors import KeyFormatError
from trunkline.core.keys import StoredKey
from trunkline.core.profile_rules import Profile
from trunkline.core.profiles.openclaw.keys import KIND_TOKENS, account_id, agent_id, main_text

Fields = dict[str, Any]
Operation = Callable[[Fields, Profile], Fields]


def run(case: Fields, profile: Profile) -> Fields:
    """What our code answers. Raises `LookupError` for an operation that is not known."""
    given = case["given"]
    operation = _OPERATIONS.get(given["op"])
    if operation is None:
        raise LookupError(f"unknown op {given['op']!r}; known: {', '.join(_OPERATIONS)}")
    try:
        return operation(given, profile)
    except KeyFormatError as error:
        return {"error": str(error)}


def _text(value: object) -> str | None:
    """Ids may be given as numbers."""
    return None if value is None else str(value)


def _session(given: Fields) -> SessionConfig:
    """Settings; what is null is not given. Links whose ids are no list are skipped."""
    links = given.get("identity_links") or {}
    fields: Fields = {
        # Upstream's default, where ours isolates peers.
        "dm_scope": given.get("dm_scope") or "main",
        "identity_links": {
            name: tuple(entry for entry in ids if isinstance(entry, str))
            for name, ids in links.items()
            if isinstance(ids, list)
        },
    }
    fields |= {name: given[name] for name in ("group_scope", "main_key") if given.get(name)}
    return SessionConfig.model_validate(fields)


def _build(given: Fields, profile: Profile) -> Fields:
    kind = given.get("peer_kind")
    key = build_key(
        given.get("agent_id"),
        given.get("channel"),
        account=given.get("account_id"),
        kind=None if kind is None else KIND_TOKENS[kind],
        peer=_text(given.get("peer_id")),
        session=_session(given),
        profile=profile,
    )
    return {"session_key": key}


def _main(given: Fields, profile: Profile) -> Fields:
    return {"session_key": main_text(given.get("agent_id"), given.get("main_key"))}


def _thread(given: Fields, profile: Profile) -> Fields:
    thread = with_thread(
        given["base_session_key"],
        _text(given.get("thread_id")),
        given.get("parent_session_key"),
        suffix=given.get("use_suffix") is not False,
    )
    return {"session_key": thread.key, "parent_session_key": thread.parent}


def _parse(given: Fields, profile: Profile) -> Fields:
    parsed = parse_openclaw(given.get("session_key"), profile)
    return {"parsed": None} if parsed is None else {"agent_id": parsed.agent, "rest": parsed.rest}


def _shape(given: Fields, profile: Profile) -> Fields:
    return {"shape": key_shape(given.get("session_key"), profile).value}


def _to_store(given: Fields, profile: Profile) -> Fields:
    key = to_store_key(given.get("request_key"), given.get("agent_id") or "", given.get("main_key") or "", profile)
    return {"session_key": key}


def _to_request(given: Fields, profile: Profile) -> Fields:
    return {"request_key": to_request_key(given.get("session_key"), profile)}


def _agent_of(given: Fields, profile: Profile) -> Fields:
    return {"agent_id": agent_of(given.get("session_key"), profile, given.get("default_agent_id"))}


def _agent_id(given: Fields, profile: Profile) -> Fields:
    return {"agent_id": agent_id(given.get("value"))}


def _account_id(given: Fields, profile: Profile) -> Fields:
    return {"account_id": account_id(given.get("value"))}


def _thread_parent(given: Fields, profile: Profile) -> Fields:
    return {"parent_session_key": thread_parent(given.get("session_key"))}


def _flags(given: Fields, profile: Profile) -> Fields:
    found = flags(given.get("session_key"), profile)
    return {
        "is_subagent": found.subagent,
        "is_acp": found.acp,
        "is_cron": found.cron,
        "is_cron_run": found.cron_run,
        "subagent_depth": found.subagent_depth,
    }


def _chat_type(given: Fields, profile: Profile) -> Fields:
    kind = chat_type_of(given.get("session_key"))
    return {"chat_type": "unknown" if kind is None else kind.value}


def _history(given: Fields, profile: Profile) -> Fields:
    kind = KIND_TOKENS[given["peer_kind"]]
    peer = _text(given.get("peer_id"))
    return {"history_key": history_key(given.get("channel"), given.get("account_id"), kind, peer)}


def _migrate(given: Fields, profile: Profile) -> Fields:
    key = migrate_key(given["legacy_key"], *_owner(given), shared=_shared(given), profile=profile)
    return {"session_key": key}


def _migrate_store(given: Fields, profile: Profile) -> Fields:
    migrated = migrate_store(_rows(given), *_owner(given), shared=_shared(given), profile=profile)
    return {"store": {row.key: row.session_id for row in migrated.rows}, "legacy_keys": list(migrated.legacy)}


def _lookup(given: Fields, profile: Profile) -> Fields:
    found = lookup(given["session_key"], _rows(given), profile)
    return {
        "normalized_key": found.key,
        "session_id": None if found.row is None else found.row.session_id,
        "legacy_keys": list(found.legacy),
    }


def _owner(given: Fields) -> tuple[str, str]:
    return given.get("agent_id") or "", given.get("main_key") or ""


def _shared(given: Fields) -> bool:
    return given.get("scope") == "global"


def _rows(given: Fields) -> list[StoredKey]:
    return [
        StoredKey(key=key, session_id=entry.get("session_id") or "", updated_at=entry.get("updated_at") or 0)
        for key, entry in given["store"].items()
        if isinstance(entry, dict)
    ]


def _context(given: Fields) -> MessageContext:
    return MessageContext(
        sender=given.get("from") or "",
        chat_type=given.get("chat_type") or "",
        provider=given.get("provider") or given.get("surface") or "",
        sender_id=_text(given.get("sender_id")) or "",
        session_key=given.get("explicit") or "",
    )


def _explicit(given: Fields, profile: Profile) -> Fields:
    return {"session_key": explicit_key(given["session_key"], _context(given), profile)}


def _group_of_context(given: Fields, profile: Profile) -> Fields:
    group = group_of_context(_context(given), profile)
    if group is None:
        return {"group": None}
    return {"key": group.key, "channel": group.channel, "group_id": group.id, "chat_type": group.kind.value}


def _context_key(given: Fields, profile: Profile) -> Fields:
    key = context_key(_context(given), given.get("main_key") or "", shared=_shared(given), profile=profile)
    return {"session_key": key}


_OPERATIONS: dict[str, Operation] = {
    "build": _build,
    "main": _main,
    "thread": _thread,
    "parse": _parse,
    "shape": _shape,
    "to_store": _to_store,
    "to_request": _to_request,
    "agent_of": _agent_of,
    "agent_id": _agent_id,
    "account_id": _account_id,
    "thread_parent": _thread_parent,
    "flags": _flags,
    "chat_type": _chat_type,
    "history": _history,
    "migrate": _migrate,
    "migrate_store": _migrate_store,
    "lookup": _lookup,
    "explicit": _explicit,
    "group_of_context": _group_of_context,
    "context_key": _context_key,
}

"""The session map: from a session key to its durable session, which is created at most once.

The same peer has the same session across restarts; different peers share a session only if configured.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import msgspec

from trunkline.core.channels import ParsedTarget, rules_for
from trunkline.core.config import DmScope, GatewayConfig
from trunkline.core.env import Env
from trunkline.core.events import Body
from trunkline.core.events.gateway import SessionCreated, SessionLeft, SessionMoved
from trunkline.core.keys import Migration, SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import NewSession, Participant, SessionRow
from trunkline.core.routing.index import index_of
from trunkline.core.routing.scopes import place_key
from trunkline.core.routing.session_keys import linked_name
from trunkline.core.values import Address, ChatKind, Peer, SessionEntry, SessionId

#: prefix of the name of linked people; not a channel name
_LINKED = "*"


def entry_for(address: Address) -> SessionEntry:
    """The session entry of a place: the same for inbound and outbound messages."""
    rules = rules_for(address.channel)
    target = ParsedTarget(kind=address.kind, id=address.conversation, understood="")
    placed = rules.place(target, address.thread, None)
    # A thread that is a conversation is named by its own id, even if its parent is known.
    to = rules.write(msgspec.structs.replace(address, parent=None)).target
    return SessionEntry(
        provider=address.channel,
        surface=address.channel,
        sender=placed.sender,
        to=to,
        chat_type=address.kind,
        account=address.account,
        # The thread that its key has: a session outlives its calls.
        thread=None if rules.key_thread(address) is None else address.thread,
        originating_channel=address.channel,
        originating_to=to,
    )


def person_in_shared(agent: str, address: Address, peer: Peer, config: GatewayConfig) -> Participant | None:
    """The sender who joins a session shared by the DM scope ``main``; None for other conversations (invariant S3)."""
    # Avoid computing the key for gateways that never use that scope.
    may_share = config.session.dm_scope is DmScope.MAIN or index_of(config).has_own_scopes
    if address.kind is not ChatKind.DIRECT or not may_share or not place_key(agent, address, config).is_main:
        return None
    today = partial(_today, config=config)
    return Participant(name=today(f"{address.channel}:{peer.id}"), today=today)


def _today(name: str, config: GatewayConfig) -> str:
    """The linked name of a person, else the platform's id, from either form."""
    if name.startswith(_LINKED):
        return name
    channel, _, peer = name.partition(":")
    linked = linked_name(rules_for(channel), peer, config.session.identity_links, config.rules)
    return f"{_LINKED}{linked}" if linked else name


def todays_key(key: SessionKey, config: GatewayConfig, accounts: Mapping[str, str]) -> SessionKey:
    """The key of an older key's conversation under the current configuration; unchanged if it cannot be determined.

    An account missing in the older key is the channel's default (`accounts`).
    """
    if key.is_main or key.linked or key.channel is None or key.kind is None:
        return key
    address = Address(
        channel=key.channel,
        account=key.account or accounts.get(key.channel, "default"),
        kind=key.kind,
        conversation=_own_id(key, config),
        thread=None if key.thread is None else key.thread[1],
    )
    return place_key(key.agent, address, config)


def _own_id(key: SessionKey, config: GatewayConfig) -> str:
    """The peer's id of a key. OpenClaw writes a linked person's name instead, for which any of their ids works."""
    if key.kind is ChatKind.DIRECT:
        for name, ids in config.session.identity_links.items():
            if name.strip().lower() == key.peer and ids:
                own = next((alias for alias in ids if alias.startswith(f"{key.channel}:")), ids[0])
                return own.removeprefix(f"{key.channel}:")
    return key.peer


def migration_events(migration: Migration) -> Iterator[Body]:
    """The events of a key migration: moved, left and unreadable sessions."""
    for move in migration.moves:
        yield SessionMoved(
            old_key=move.old,
            session_key=move.new,
            session_id=move.session_id,
            reason=Reason.KEY_MIGRATED,
            detail=move.why,
        )
    for merge in migration.merged:
        for left in merge.left:
            yield SessionLeft(
                old_key=left.key,
                old_session_id=left.session_id,
                session_key=merge.key,
                reason=Reason.KEYS_MERGED,
                detail=merge.why,
            )
    for row in migration.unreadable:
        yield SessionLeft(
            old_key=row.key,
            old_session_id=row.session_id,
            session_key="",
            reason=Reason.BAD_SESSION_KEY,
            detail=row.why,
        )


def new_session(
    env: Env,
    key: str,
    agent: str,
    address: Address | None,
    key_of: Callable[[Address], str] | None = None,
    *,
    person: Participant | None = None,
    codec: str = "v1",
) -> NewSession:
    """The session to create if its key has none yet."""
    return NewSession(
        key=key,
        agent=agent,
        id=SessionId(env.ids.new("session", key)),
        address=address,
        entry_of=entry_for,
        key_of=key_of,
        participant=person,
        codec=codec,
    )


def session_created(row: SessionRow, agent: str, address: Address | None, by: str) -> SessionCreated:
    """The event of a new session."""
    return SessionCreated(
        agent=agent,
        session_key=row.key,
        session_id=row.id,
        generation=row.generation,
        address=address,
        by=by,
        entry=None if address is None else entry_for(address),
    )


def session_moved(row: SessionRow, before: str, session: str) -> SessionMoved:
    """The event of a session whose key changed with the configured scopes."""
    return SessionMoved(old_key=before, session_key=row.key, session_id=session, reason=Reason.SCOPE_CHANGED)

"""Keys and sessions that several modules of the kit use."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from tests.contract.store_kit.bench import Opened, same
from tests.support.factories import direct, intent, receipt, session, work
from trunkline.core.config import SessionConfig
from trunkline.core.errors import UnknownName
from trunkline.core.keys import Migration, SessionKey, StoredKey, plan_migration
from trunkline.core.records.rows import Admission, NewSession, Participant, SessionRow, Settlement
from trunkline.core.routing import session_key_for
from trunkline.core.store.commands import AckChunk, Admit, EnsureSession, MigrateKeys
from trunkline.core.values import Address, SessionId

ANA, BEN, ANA_TELEGRAM = direct("100"), direct("200"), direct("900", channel="telegram")
ANA_ANYWHERE = "main:*:*:direct:100"
MAIN = "main:main"
Keys = Callable[[Address], str]


def keys(scope: str = "per-account-channel-peer", agent: str = "main", **links: tuple[str, ...]) -> Keys:
    """The keys that a configuration gives places."""
    config = SessionConfig.model_validate({"dm_scope": scope, "identity_links": links})
    return lambda place: str(session_key_for(agent, place, config))


ISOLATED, PER_PEER, SHARED = keys(), keys("per-peer"), keys("main")


def new(place: Address, key_of: Keys, name: str, agent: str = "main", **fields: Any) -> NewSession:
    """The session of a place under a configuration."""
    given = {"key": key_of(place), "agent": agent, "address": place, "key_of": key_of, **fields}
    return NewSession(id=SessionId(f"s-{name}"), **given)


async def says(it: Opened, name: str, place: Address, key_of: Keys, agent: str = "main", **fields: Any) -> SessionRow:
    """A message called `name` is admitted; its session."""
    asked = new(place, key_of, name, agent, **fields)
    item = work(name, session_key=asked.key, agent=agent, place=place, reply_to=place)
    admission: Admission = await it.store.write(Admit(work=item, identity=f"id-{name}", session=asked, now=2.0), same)
    assert admission.session is not None
    return admission.session


def row(key: str, name: str, **fields: Any) -> SessionRow:
    return SessionRow(key=key, id=SessionId(f"s-{name}"), **{"generation": 1, "created": False, **fields})


async def mirrors(it: Opened, name: str, key: str, key_of: Keys, place: Address = ANA) -> Settlement:
    """Deliver an intent that is to be mirrored into the session of a place, as `key` was decided before."""
    await it.enqueue(intent(name, address=place, mirror_key=key))
    asked = new(place, key_of, name, key=key)
    return await it.store.write(
        AckChunk(
            intent=intent(name, address=place, mirror_key=key),
            receipt=receipt(),
            mirror=asked,
            now=3.0,
            mirror_due=False,
        ),
        same,
    )


def known(name: str) -> str:
    """Identity links that link no one."""
    return name


async def joins(it: Opened, person: str, today: Callable[[str], str] = known, key: str = MAIN) -> int:
    """A participant writes in a session; returns the number of participants to report."""
    asked = session(key, f"s-{person}", address=None, participant=Participant(name=person, today=today))
    return (await it.store.write(EnsureSession(session=asked, now=1.0), same)).people


OLD, OLDER, KEY_1 = "agent:main:telegram:direct:1", "agent:main:telegram:dm:1", "main:telegram:default:direct:1"


def today(key: SessionKey) -> SessionKey:
    """Every conversation goes through the default account."""
    if key.peer == "gone":
        raise UnknownName("nobody serves that")
    return key if key.is_main else msgspec.structs.replace(key, account="default")


def plan(rows: Sequence[StoredKey]) -> Migration:
    return plan_migration(rows, today)


async def stored(it: Opened, key: str, name: str, at: float, codec: str = "openclaw", **fields: Any) -> None:
    """A session that was used last at a time."""
    agent = fields.setdefault("agent", "main")
    asked = session(key, f"s-{name}", codec=codec, address=fields.pop("address", None), **fields)
    item = work(name, session_key=key, agent=agent)
    # It was made long before.
    await it.store.write(EnsureSession(session=asked, now=0.5), same)
    await it.store.write(Admit(work=item, identity=f"id-{name}", session=asked, now=at), same)


async def migrate(it: Opened, how: Callable[[Sequence[StoredKey]], Migration] = plan) -> Migration | None:
    return await it.store.write(MigrateKeys(codec="v1", plan=how, now=99.0), same)

"""Old keys of an ``openclaw`` store: what they become, and how they are found under any spelling."""

import re
from collections.abc import Sequence

import msgspec

from tests.support.profiles import fold_key
from trunkline.core.keys.canonical import StoredKey, freshest
from trunkline.core.profile_rules import Profile
from trunkline.core.profiles.openclaw.keys import DEFAULT_MAIN_KEY, UNKNOWN, agent_id, main_key_name, main_text

GLOBAL = "global"
_JID = "@g.us"


class MigratedStore(msgspec.Struct, frozen=True, kw_only=True):
    """A store whose keys are all canonical."""

    rows: tuple[StoredKey, ...]
    #: keys that were not canonical, in the order of the store
    legacy: tuple[str, ...]
    #: the latest direct conversation from before keys named their kind: it becomes the main session of a store that
    #: has none
    main_seed: StoredKey | None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a store has under a key."""

    key: str
    row: StoredKey | None
    #: other spellings, which a write is to remove
    legacy: tuple[str, ...]


def migrate_key(
    key: str, agent: str, main_key: str = DEFAULT_MAIN_KEY, *, shared: bool = False, profile: Profile = Profile.OPENCLAW
) -> str:
    """What a key of any age becomes in the store of `agent`. `shared`: all conversations share one global session."""
    trimmed = key.strip()
    folded = trimmed.lower()
    if folded in ("", GLOBAL, UNKNOWN):
        return folded
    main = main_text(agent, main_key)
    # As upstream has it, these names count only as they are written here.
    if trimmed in (DEFAULT_MAIN_KEY, main_key_name(main_key), main, main_text(agent)):
        return GLOBAL if shared else main
    if folded.startswith("agent:"):
        return fold_key(trimmed, profile)
    if trimmed.startswith("group:") and not trimmed.removeprefix("group:").strip():
        return trimmed
    return fold_key(f"agent:{agent_id(agent)}:{_rest(trimmed)}", profile)


def _rest(trimmed: str) -> str:
    """What follows the agent in the new key of an unscoped one. WhatsApp groups are known by their ids."""
    folded = trimmed.lower()
    if trimmed.startswith("group:"):
        group = trimmed.removeprefix("group:").strip()
        return f"{'whatsapp' if _JID in folded else UNKNOWN}:group:{group}"
    if _JID in folded and ":" not in trimmed:
        return f"whatsapp:group:{trimmed}"
    if _JID in folded and folded.startswith("whatsapp:") and not _names_kind(trimmed):
        group = re.sub(r"\Agroup:", "", trimmed.partition(":")[2].strip(), flags=re.IGNORECASE).strip()
        return f"whatsapp:group:{group}"
    return trimmed


def _names_kind(key: str) -> bool:
    return ":group:" in key or ":channel:" in key


def migrate_store(
    rows: Sequence[StoredKey],
    agent: str,
    main_key: str = DEFAULT_MAIN_KEY,
    *,
    shared: bool = False,
    profile: Profile = Profile.OPENCLAW,
) -> MigratedStore:
    """A store with canonical keys.

    Of two that meet the newest stays; of equally new ones the canonical, else the first.
    """
    meeting: dict[str, list[StoredKey]] = {}
    legacy: list[str] = []
    for row in rows:
        key = migrate_key(row.key, agent, main_key, shared=shared, profile=profile)
        meeting.setdefault(key, []).append(row)
        if key != row.key:
            legacy.append(row.key)
    kept = (msgspec.structs.replace(freshest(met, key), key=key) for key, met in meeting.items())
    direct = [row for row in rows if _is_old_direct(row.key.strip())]
    return MigratedStore(rows=tuple(kept), legacy=tuple(legacy), main_seed=freshest(direct) if direct else None)


def _is_old_direct(key: str) -> bool:
    """Whether a key is that of one person, from before keys said so."""
    folded = key.lower()
    if not key or key == GLOBAL or key.startswith(("agent:", "group:")) or folded.startswith("subagent:"):
        return False
    group = _JID in folded and (":" not in key or folded.startswith("whatsapp:"))
    return not group and not _names_kind(key)


def lookup(key: str, rows: Sequence[StoredKey], profile: Profile = Profile.OPENCLAW) -> Found:
    """What a store has under a key in any spelling: the newest; of equally new ones the canonical, then as asked."""
    asked, canonical = key.strip(), fold_key(key, profile)
    spelled = [row for row in rows if fold_key(row.key, profile) == canonical]
    legacy = [row.key for row in spelled if row.key != canonical]
    legacy.sort(key=lambda spelling: spelling != asked)
    return Found(
        key=canonical, row=freshest(spelled, canonical, asked) if spelled else None, legacy=tuple(dict.fromkeys(legacy))
    )

"""Converts any known form of session keys to canonical ``v1`` keys, and plans the migration of a session map.

A session key may come from a client, from a scenario, or from a store written by an earlier configuration or by another
gateway. `canonical_key` reads all of these; `plan_migration` decides which stored key becomes which, and why. Both are
pure: the store carries out a plan.

``agent:main:slack:direct:u1`` is ambiguous: OpenClaw's key of agent ``main``, or ours of an agent ``agent``. It is read
as OpenClaw's, unless only our reading has a known platform in the platform's position.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from trunkline.core.errors import KeyFormatError, UsageError
from trunkline.core.keys.codec import KeyCodec
from trunkline.core.keys.v1 import SessionKey, encode_v1, parse_v1
from trunkline.core.profile_rules import Profile, profile_rules
from trunkline.core.values import ChatKind


class StoredKey(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a session map."""

    key: str
    session_id: str
    #: when the session was last used, seconds
    updated_at: float


def freshest(rows: Sequence[StoredKey], *preferred: str) -> StoredKey:
    """The row to keep: the newest; of equally new rows, a row with a preferred spelling, else the first."""
    newest = max(row.updated_at for row in rows)
    ties = [row for row in rows if row.updated_at == newest]
    return next((row for key in preferred for row in ties if row.key == key), ties[0])


#: first word of a key -> the profile in whose form it is, of those that keep the case of an id if the text still has it
FOREIGN_FORMS = {"agent": Profile.OPENCLAW_2026_08}
_KIND_AT = 3


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A session that gets another key."""

    old: str
    new: str
    session_id: str
    why: str


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """Several sessions of one conversation, of which one is kept."""

    key: str
    kept: StoredKey
    #: the others; their transcripts stay stored, but no key leads to them
    left: tuple[StoredKey, ...]
    why: str


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    """A session whose key names no conversation; it stays unchanged."""

    key: str
    session_id: str
    why: str


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    """The plan for every row: each is moved, left in a merge, untouched or unreadable."""

    moves: tuple[Move, ...]
    merged: tuple[Merge, ...]
    untouched: tuple[StoredKey, ...]
    unreadable: tuple[Unreadable, ...]

    @property
    def changes(self) -> bool:
        """Whether any row changes."""
        return bool(self.moves or self.merged)

    def report(self) -> str:
        """One line per changed or unreadable row, and a summary."""
        lines = [f"move   {move.old} -> {move.new} (session {move.session_id}): {move.why}" for move in self.moves]
        for merge in self.merged:
            left = ", ".join(f"{row.session_id} of {row.key}" for row in merge.left)
            lines.append(f"merge  {merge.key}: keeps session {merge.kept.session_id}, leaves {left}: {merge.why}")
        lines += [f"stays  {row.key!r} (session {row.session_id}): {row.why}" for row in self.unreadable]
        left_behind = sum(len(merge.left) for merge in self.merged)
        lines.append(
            f"{len(self.moves)} moved, {left_behind} left by {len(self.merged)} merges, "
            f"{len(self.untouched)} untouched, {len(self.unreadable)} unreadable"
        )
        return "\n".join(lines)

    def __str__(self) -> str:
        """The report."""
        return self.report()


def canonical_key(text: str) -> SessionKey:
    """The key that a text means: ``v1``, even padded or in upper case, or a form of another gateway.

    Raises `KeyFormatError` naming the accepted forms. The text of the result is read as the same key.
    """
    own = _own(text)
    if own is not None and not _is_claimed(own):
        return own
    codec = foreign_codec(text)
    foreign = None if codec is None else codec.our_key(text)
    if foreign is None:
        forms = (form for codec in (KeyCodec, *map(_codec, FOREIGN_FORMS)) for form in codec.forms)
        raise KeyFormatError(f"{text!r}: expected one of {'; '.join(forms)}")
    if _is_claimed(foreign):
        why = f"would be read as another key; no agent should be called {foreign.agent!r}"
        raise KeyFormatError(f"{text!r}: {foreign} {why}")
    return foreign


def foreign_codec(text: str) -> KeyCodec | None:
    """The codec of the other gateway in whose form a text is, by its first word; None: in none of a known gateway."""
    word = next(filter(None, text.strip().split(":")), "").lower()
    return _codec(word) if word in FOREIGN_FORMS else None


def _codec(word: str) -> KeyCodec:
    return profile_rules(FOREIGN_FORMS[word])[KeyCodec]


def _is_claimed(key: SessionKey) -> bool:
    """Whether the text of a key of ours would be read as a key of another gateway."""
    return key.agent in FOREIGN_FORMS and not key.is_main and _codec(key.agent).claims(key)


def _own(text: str) -> SessionKey | None:
    """A text read as ``v1``: unchanged, else trimmed and in lower case, else with ``dm`` for ``direct``."""
    folded = text.strip().lower()
    parts = folded.split(":")
    if parts[_KIND_AT:][:1] == ["dm"]:
        parts[_KIND_AT] = ChatKind.DIRECT.value
    for spelling in (text, folded, ":".join(parts)):
        try:
            return parse_v1(spelling)
        except KeyFormatError:
            continue
    return None


def plan_migration(rows: Sequence[StoredKey], place: Callable[[SessionKey], SessionKey]) -> Migration:
    """Plan which stored key becomes which.

    `place` returns the key that the current configuration derives for the conversation of a key, and may raise
    `UsageError`. Of rows with the same new key, the newest is kept; of equally new ones, the one that already has the
    key, else the first. The plan names all others.
    """
    meeting: dict[str, list[StoredKey]] = {}
    read: dict[str, SessionKey] = {}
    unreadable: list[Unreadable] = []
    for row in rows:
        try:
            read[row.key] = canonical_key(row.key)
            text = encode_v1(place(read[row.key]))
        except UsageError as error:
            unreadable.append(Unreadable(key=row.key, session_id=row.session_id, why=error.facts or str(error)))
            continue
        meeting.setdefault(text, []).append(row)
    moves: list[Move] = []
    merged: list[Merge] = []
    untouched: list[StoredKey] = []
    for new, met in meeting.items():
        kept = freshest(met, new)
        if kept.key == new:
            untouched.append(kept)
        else:
            why = _why_moved(kept.key, read[kept.key], new)
            moves.append(Move(old=kept.key, new=new, session_id=kept.session_id, why=why))
        if len(met) > 1:
            merged.append(_merge(new, kept, met, read))
    return Migration(moves=tuple(moves), merged=tuple(merged), untouched=tuple(untouched), unreadable=tuple(unreadable))


def _merge(key: str, kept: StoredKey, met: Sequence[StoredKey], read: Mapping[str, SessionKey]) -> Merge:
    left = tuple(row for row in met if row is not kept)
    if any(row.updated_at == kept.updated_at for row in left):
        why = "equally new, and this one has the key already" if kept.key == key else "equally new, and the first"
    else:
        why = f"the newest, used at {kept.updated_at:g}, the next at {max(row.updated_at for row in left):g}"
    reasons = (f"{row.key}: {_why_moved(row.key, read[row.key], key)}" for row in left if row.key != key)
    return Merge(key=key, kept=kept, left=left, why="; ".join((why, *reasons)))


def _why_moved(old: str, read: SessionKey, new: str) -> str:
    """A sentence about why a key changes."""
    reasons: list[str] = []
    canonical = encode_v1(read)
    if old != canonical == old.strip().lower():
        reasons.append("padding or upper case is gone")
    elif old != canonical:
        foreign = old.strip().lower().partition(":")[0] in FOREIGN_FORMS
        reasons.append(f"{'the upstream gateway wrote' if foreign else 'an older form of'} {canonical}")
    if canonical != new:
        reasons.append(_why_placed(read, parse_v1(new)))
    return "; ".join(reasons)


def _why_placed(read: SessionKey, placed: SessionKey) -> str:
    """How the key differs under the current configuration."""
    changed = [
        f"{name} {_shown(before)} is now {_shown(after)}"
        for name in SessionKey.__struct_fields__
        if (before := getattr(read, name)) != (after := getattr(placed, name)) and name != "linked"
    ]
    return f"by the configuration {', '.join(changed) or 'the peer is a linked person'}"


def _shown(value: str | tuple[str, str] | None) -> str:
    return " ".join(value) if isinstance(value, tuple) else value or "(none)"

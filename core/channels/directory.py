"""Finds a target by its name among the entries of a platform's directory. Pure: the adapter knows the entries."""

import re
from collections.abc import Iterable

import msgspec

from trunkline.core.channels.adapter import Resolved
from trunkline.core.channels.rules import KIND_WORDS
from trunkline.core.errors import AmbiguousTarget
from trunkline.core.values import ChatKind

#: what is an id, and no name: a number or a mention
_ID = re.compile(r"\+?[\d\s()-]+|<[@#].*>")
#: how many names an error lists
_SHOWN = 5


class DirectoryEntry(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    #: the target text that means it, e.g. ``user:1``
    target: str
    kind: ChatKind
    #: what people call it, e.g. ``Ana Lima``
    name: str = ""
    #: its unique name, if it has one beside the id, e.g. ``ana.lima``
    handle: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.lower().lstrip("#@") for one in (self.name, self.handle) if one.strip())


def find_in_directory(text: str, entries: Iterable[DirectoryEntry], channel: str) -> Resolved | None:
    """The entry that a target names; None: no entry, or the text is an id. Raises `AmbiguousTarget` for several.

    An entry has the name, or, if none has it, contains it; case does not count. ``@name`` and ``user:name`` mean a
    person, ``#name``, ``channel:name`` and ``group:name`` a conversation with several people.
    """
    direct, name = _read(text, channel)
    if not name or _ID.fullmatch(name):
        return None
    fitting = [one for one in entries if direct is None or (one.kind is ChatKind.DIRECT) is direct]
    found = [one for one in fitting if name in one.names]
    if not found:
        found = [one for one in fitting if any(name in other for other in one.names)]
    by_target = {one.target: one for one in found}
    if len(by_target) > 1:
        shown = [f"{one.target} ({one.name or one.handle})" for one in by_target.values()][:_SHOWN]
        more = ", ..." if len(by_target) > _SHOWN else ""
        facts = f'"{text.strip()}" for {channel}. Provide a unique name or an explicit id: {", ".join(shown)}{more}'
        raise AmbiguousTarget(facts)
    return next((Resolved(target=one.target, kind=one.kind) for one in by_target.values()), None)


def _read(text: str, channel: str) -> tuple[bool | None, str]:
    """Whether a target means a person or several people, if it says so, and the name in lower case."""
    rest = text.strip().lower().removeprefix(f"{channel}:")
    word, colon, after = rest.partition(":")
    if colon and word in KIND_WORDS:
        kind = KIND_WORDS[word]
        return (None if word == "conversation" else kind is ChatKind.DIRECT), after.strip()
    if rest[:1] in ("@", "#"):
        return rest[0] == "@", rest[1:].strip()
    return None, rest.strip()

"""Places: the names of conversations in scenario files, and their resolution in the world.

``platform/room``, ``platform/room/thread``, ``platform/@person``, ``platform/@person/call``, each with
``platform:account`` for one of several bot accounts. If only one platform has that place, the platform may be omitted:
``ops/deploy``, ``@ana``. The account defaults to the only one that can see the place, else to the one called
``default``.
"""

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import islice

import msgspec
from msgspec.structs import replace

from trunkline.core.channels import rules_for
from trunkline.core.config.files.problems import shown
from trunkline.core.errors import UnknownName
from trunkline.core.values import Address
from trunkline.sim.scenario.model.world import CALLS, PLATFORMS, PlatformSpec, ThreadSpec, WorldSpec

_GRAMMAR = "platform/room, platform/room/thread or platform/@person"
_CROWD = re.compile(r"p([1-9][0-9]{0,4})")


class PlaceRef(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation of the world as one bot account sees it: a room, a thread, a direct conversation, or a call."""

    platform: str
    account: str
    room: str | None = None
    #: a thread of the room, or a call of the person
    thread: str | None = None
    person: str | None = None

    @property
    def key(self) -> str:
        """The full canonical form: ``discord:default/ops/deploy``."""
        return f"{self.platform}:{self.account}/{self.tail}"

    @property
    def tail(self) -> str:
        """The part after the platform: ``ops/deploy``, ``@ana``."""
        if self.person is not None:
            return f"@{self.person}" if self.thread is None else f"@{self.person}/{self.thread}"
        return f"{self.room}/{self.thread}" if self.thread is not None else f"{self.room}"

    def __str__(self) -> str:
        return self.key


class PlaceError(UnknownName):
    """No such place. `message` says what was expected and found; `hint` suggests valid places."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.message = message
        self.hint = hint


def is_person(name: str, world: WorldSpec) -> bool:
    """Whether the world has this person, by name or as one of the crowd ``p1``, ``p2``, ..."""
    crowd = _CROWD.fullmatch(name)
    return name in world.people or (crowd is not None and int(crowd[1]) <= world.crowd.count)


def resolve_place(text: str, world: WorldSpec) -> PlaceRef:
    """The conversation that a text names. Raises `PlaceError` if it names none or several."""
    head, _, tail = text.partition("/")
    platform, colon, account = head.partition(":")
    if platform in world.platforms and (tail or colon):
        return _on_platform(text, platform, account if colon else None, tail, world)
    if colon or (platform in PLATFORMS and tail):
        there = ", ".join(world.platforms) or "none"
        raise PlaceError(f"expected a platform of the world, found {shown(platform)}", f"there are: {there}")
    parts = _parts(text, text, calls=any(name in CALLS for name in world.platforms))
    hits = [name for name, spec in world.platforms.items() if _misses(spec, parts, world) is None]
    if len(hits) > 1:
        options = " or ".join(f"{name}/{text}" for name in hits)
        raise PlaceError(f"{shown(text)} is ambiguous", f"write {options}")
    if not hits:
        raise PlaceError(f"expected a place of the world, found {shown(text)}", _near(text, world))
    return _on_platform(text, hits[0], None, text, world)


def place_if_known(text: object, world: WorldSpec) -> PlaceRef | None:
    """`resolve_place` for checks that skip what is no place, which is reported as such elsewhere."""
    try:
        return resolve_place(text, world) if isinstance(text, str) else None
    except PlaceError:
        return None


def is_session_key(text: str) -> bool:
    """Whether a reference to a session is a session key; otherwise it is a place."""
    return ":" in text and "/" not in text


def all_places(world: WorldSpec) -> Iterator[str]:
    """Every room, thread and named person of the world, as ``platform/...``."""
    for name, spec in world.platforms.items():
        for room, settings in spec.rooms.items():
            yield f"{name}/{room}"
            yield from (f"{name}/{room}/{thread}" for thread in settings.threads)
        yield from (f"{name}/@{person}" for person in world.people)
        yield from (f"{name}/@{person}/{call}" for person, calls in spec.calls.items() for call in calls)


def with_threads(world: WorldSpec, opened: Iterable[tuple[PlaceRef, str]]) -> WorldSpec:
    """The world plus threads that the gateway will open, each given with its room."""
    platforms = world.platforms
    by_room: dict[tuple[str, str], dict[str, ThreadSpec]] = {}
    for room, thread in opened:
        by_room.setdefault((room.platform, str(room.room)), {})[thread] = ThreadSpec()
    for (platform, name), threads in by_room.items():
        spec = platforms[platform]
        settings = spec.rooms[name]
        more = settings.model_copy(update={"threads": threads | settings.threads})
        platforms[platform] = spec.model_copy(update={"rooms": {**spec.rooms, name: more}})
    return world.with_platforms(platforms)


def _on_platform(text: str, platform: str, account: str | None, tail: str, world: WorldSpec) -> PlaceRef:
    spec = world.platforms[platform]
    parts = _parts(tail, text, calls=platform in CALLS)
    if account is not None and account not in spec.accounts:
        there = f"there are: {', '.join(spec.accounts)}"
        raise PlaceError(f"expected an account of {platform}, found {shown(account)}", there)
    if missing := _misses(spec, parts, world):
        raise PlaceError(f"expected a place of the world, found {shown(text)}: no {missing} there", _near(text, world))
    members = _members(spec, parts)
    if account is None:
        account = _choose(text, platform, tail, members)
    elif account not in members:
        there = f"its members: {', '.join(members) or 'none'}"
        raise PlaceError(f"the account {shown(account)} is not a member of the room {shown(parts[0])}", there)
    if parts[0].startswith("@"):
        call = parts[1] if len(parts) > 1 else None
        return PlaceRef(platform=platform, account=account, person=parts[0][1:], thread=call)
    return PlaceRef(platform=platform, account=account, room=parts[0], thread=parts[1] if len(parts) > 1 else None)


def _choose(text: str, platform: str, tail: str, members: list[str]) -> str:
    """The default account for a place."""
    if len(members) == 1:
        return members[0]
    if "default" in members:
        return "default"
    if not members:
        raise PlaceError(f"no account of {platform} is a member of {shown(tail)}")
    options = " or ".join(f"{platform}:{member}/{tail}" for member in members)
    raise PlaceError(f"{shown(text)} is ambiguous: several accounts can see it", f"write {options}")


def _parts(tail: str, text: str, *, calls: bool) -> list[str]:
    """The parts of a place. Only a person on a platform with calls has a second one."""
    parts = tail.split("/")
    no_call = parts[0].startswith("@") and len(parts) > 1 and not calls
    if not all(parts) or len(parts) > 2 or parts[0] == "@" or no_call:
        raise PlaceError(f"expected {_GRAMMAR}, found {shown(text)}")
    return parts


def _misses(spec: PlatformSpec, parts: list[str], world: WorldSpec) -> str | None:
    """The part of a place that a platform lacks; None if it has the place."""
    if parts[0].startswith("@"):
        person = parts[0][1:]
        if not is_person(person, world):
            return f"person {shown(person)}"
        return None if len(parts) == 1 or parts[1] in spec.calls.get(person, ()) else f"call {shown(parts[1])}"
    room = spec.rooms.get(parts[0])
    if room is None:
        return f"room {shown(parts[0])}"
    if len(parts) > 1 and parts[1] not in room.threads:
        return f"thread {shown(parts[1])} in the room {shown(parts[0])}"
    return None


def _members(spec: PlatformSpec, parts: list[str]) -> list[str]:
    room = None if parts[0].startswith("@") else spec.rooms[parts[0]]
    if room is None or room.accounts is None:
        return list(spec.accounts)
    return [account for account in spec.accounts if account in room.accounts]


def _near(text: str, world: WorldSpec) -> str:
    """The places most similar to a text, in full; all places if they are few and none is similar."""
    spelled: dict[str, str] = {}
    for place in islice(all_places(world), 1000):
        spelled.setdefault(place.casefold(), place)
        spelled.setdefault(place.partition("/")[2].casefold(), place)
    word = text.casefold()[:200]
    close = get_close_matches(word, spelled, n=4, cutoff=0.8) or get_close_matches(word, spelled, n=2)
    found = list(dict.fromkeys(spelled[word] for word in close))[:3]
    if found:
        return f"nearest: {', '.join(found)}"
    known = list(islice(all_places(world), 13))
    return f"there are: {', '.join(known)}" if 0 < len(known) <= 12 else ""


def as_target(place: Address) -> str | None:
    """A place as one target text, for calls with several targets; None if the platform's targets name no thread."""
    rules = rules_for(place.channel)
    if place.parent is not None and rules.thread_is_conversation:
        return rules.write(replace(place, parent=None)).target
    written = rules.write(place)
    return written.target if written.thread is None or written.thread in written.target.split(":") else None

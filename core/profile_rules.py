"""Profiles: whose rules a gateway follows, by name, and the objects that hold these rules.

The rooms of the core follow our own rules. Where another gateway decides otherwise, a room has a class with a small
method for that decision, and `ProfileRules` holds the objects that take the place of ours. So no room knows another
gateway by name (docs/architecture.md, "Profiles: the rules of another gateway").
"""

from collections.abc import Generator
from contextlib import contextmanager
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Self, TypeVar, cast

from trunkline.core.errors import UsageError

R = TypeVar("R")


class Profile(StrEnum):
    """A set of rules."""

    #: our own: isolated peers, one key for a conversation in every direction, typed errors
    TRUNKLINE = "trunkline"
    #: OpenClaw of 2026-03-26 (v2026.3.24)
    OPENCLAW = "openclaw"
    #: OpenClaw of August 2026, where it differs from March
    OPENCLAW_2026_08 = "openclaw-2026-08"

    @classmethod
    def _missing_(cls, value: object) -> "Profile | None":
        rules = _known.get(value) if isinstance(value, str) else None
        return None if rules is None else rules.name

    @classmethod
    def named(cls, name: str) -> Self:
        """The profile of a name, also of one that no member has."""
        if name in cls._value2member_map_:
            return cls(name)
        own = str.__new__(cls, name)
        own._name_ = own._value_ = name
        return own


class ProfileRules(dict[type, object]):
    """The rules of one profile: ours, apart from the objects that take the place of ours.

    `rules[Kind]` is the object that decides for a class of rules: the one given for it or for a subclass, else an
    instance of the class itself. Every message asks several times, so this is a look-up in a dict and no call.
    `base`: the rules that these differ from, if those are not ours.
    """

    if TYPE_CHECKING:

        def __getitem__(self, kind: type[R]) -> R: ...

    def __init__(self, name: str, *own: object, base: "ProfileRules | None" = None) -> None:
        super().__init__(base or {})
        self.name = Profile.named(name)
        for rules in own:
            self.update(dict.fromkeys(type(rules).__mro__[:-1], rules))

    def __missing__(self, kind: type[R]) -> R:
        self[kind] = made = kind()
        return made

    #: rules are equal if they are the same, and known by name
    __eq__ = object.__eq__
    __hash__ = object.__hash__  # pyright: ignore[reportAssignmentType] -- a dict has none


OURS = ProfileRules(Profile.TRUNKLINE)
#: module and name of the rules that ship; a module is imported when a configuration names its profile
_SHIPPED = {
    Profile.OPENCLAW: ("trunkline.core.profiles.openclaw.bundles", "MARCH"),
    Profile.OPENCLAW_2026_08: ("trunkline.core.profiles.openclaw.bundles", "AUGUST"),
}
#: by name: ours, those that were registered, and those that were imported
_known: dict[str, ProfileRules] = {OURS.name: OURS}


def profile_rules(profile: Profile) -> ProfileRules:
    found = _known.get(profile)
    if found is None:
        module, name = _SHIPPED[profile]
        found = _known[profile] = cast("ProfileRules", getattr(import_module(module), name))
    return found


def register_profile(rules: ProfileRules) -> None:
    """Let configurations name these rules as their `profile`, in the whole process.

    Registering the same object again changes nothing. Raises `UsageError` for a name that other rules have.
    """
    if rules.name in _SHIPPED or _known.setdefault(rules.name, rules) is not rules:
        raise UsageError(f"a profile {rules.name.value!r} exists already: choose another name")


@contextmanager
def registered_profile(rules: ProfileRules) -> Generator[ProfileRules, None, None]:
    """Register rules for a `with` block, as tests do."""
    register_profile(rules)
    try:
        yield rules
    finally:
        _known.pop(rules.name, None)

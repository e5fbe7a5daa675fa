"""The rules of every channel: those of the modules in `platforms`, and those that a program registers for its own.

These are ours. A profile with other rules has a `ChannelRulebook`.
"""

import re
from collections.abc import Collection, Generator
from contextlib import contextmanager
from copy import copy
from difflib import get_close_matches
from functools import lru_cache

from trunkline.core.channels import platforms
from trunkline.core.channels.rules import ChannelRules
from trunkline.core.declared import classes_in
from trunkline.core.errors import ChannelConflict, UsageError
from trunkline.core.values import Address, ChatKind, Receipt

_KNOWN = {kind.channel: kind() for kind in classes_in(platforms.__path__, platforms.__name__, ChannelRules, "channel")}
#: rules that were registered; they take precedence
_registered: dict[str, ChannelRules] = {}
#: the generic rules of channels without rules of their own
_generic = lru_cache(maxsize=256)(ChannelRules)
_NAME = re.compile(r"[a-z][a-z0-9_.-]*")


def rules_for(channel: str) -> ChannelRules:
    """The rules of a channel: registered, else of its module, else the generic ones."""
    return _registered.get(channel) or _KNOWN.get(channel) or _generic(channel)


def nearest_channel(name: str) -> str | None:
    """The known channel that a name probably stands for: one with that prefix for its targets, or a similar one."""
    known = known_channels()
    by_prefix = (channel for channel in known if name in rules_for(channel).prefixes)
    return next(by_prefix, None) or next(iter(get_close_matches(name, known, n=1)), None)


class ChannelRulebook:
    """The rules of every channel under one profile.

    `kinds`: subclasses of ours, each for the channel that it names; one without a name is for channels without rules of
    their own. `base`: what the rules of all other channels inherit from, in place of `ChannelRules`. `mute`: channels
    to which nothing can be sent, whatever serves them.
    """

    def __init__(
        self, *kinds: type[ChannelRules], base: type[ChannelRules] = ChannelRules, mute: Collection[str] = ()
    ) -> None:
        self._kinds = {kind.channel: kind for kind in kinds}
        self._base = base
        self._mute = mute
        self._theirs = lru_cache(maxsize=256)(self._remade)

    def of(self, channel: str) -> ChannelRules:
        ours = rules_for(channel)
        return self._theirs(ours) if self._kinds else ours

    def delivers(self, channel: str) -> bool:
        """Whether anything can be sent to a channel."""
        return channel not in self._mute

    def _remade(self, ours: ChannelRules) -> ChannelRules:
        """The same rules with a class of this profile. What a program overrides in rules of its own stays."""
        own, shipped = type(ours), _KNOWN.get(ours.channel)
        kind = self._kinds.get("") if own is ChannelRules else self._kinds.get(ours.channel)
        if kind is None or not (own is ChannelRules or isinstance(ours, type(shipped))):
            kind = self._base
        made = copy(ours)
        made.__class__ = kind if issubclass(kind, own) else type(own.__name__, (own, kind), {})
        return made


def known_channels() -> tuple[str, ...]:
    """The channels that have rules of their own, sorted by name."""
    return tuple(sorted({*_KNOWN, *_registered}))


def register_channel(rules: ChannelRules, *, replace: bool = False) -> None:
    """Use these rules for their channel, in the whole process. Call it before a `Gateway` is made.

    Rules decide session keys, so all programs that open a store must register the same ones. Registering the same
    object again changes nothing. Raises `ChannelConflict` if the channel has other rules and `replace` is not set, and
    `UsageError` for what are no rules, or have no usable name.
    """
    if not isinstance(rules, ChannelRules):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers need not be typed
        raise UsageError(f"{rules!r:.80} is no ChannelRules: register an instance of a subclass")
    name = rules.channel
    if not isinstance(name, str) or not _NAME.fullmatch(name):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(
            f"{type(rules).__name__}.channel is {name!r:.80}: give a name in lower case, of letters, digits, - and _"
        )
    there = _registered.get(name) or _KNOWN.get(name)
    if there is None or there is rules or replace:
        _registered[name] = rules
        return
    facts = f"{name} has the rules {type(there).__qualname__} already: choose another name, or pass replace=True"
    raise ChannelConflict(facts)


@contextmanager
def registered_channel(rules: ChannelRules, *, replace: bool = False) -> Generator[ChannelRules, None, None]:
    """Register rules for a `with` block, as tests do; afterwards the channel has the rules from before."""
    before = _registered.get(rules.channel)
    register_channel(rules, replace=replace)
    try:
        yield rules
    finally:
        if before is None:
            _registered.pop(rules.channel, None)
        else:
            _registered[rules.channel] = before


def is_misplaced(asked: Address, receipt: Receipt) -> bool:
    """Whether a receipt shows another place than the requested one.

    A direct conversation may have several ids on its platform, so only its thread is compared.
    """
    if receipt.address == asked:
        return False
    found, rules = receipt.address, rules_for(asked.channel)
    if found.thread != asked.thread:
        return True
    if asked.kind is ChatKind.DIRECT:
        return False
    return rules.fold(asked.kind, found.conversation) != rules.fold(asked.kind, asked.conversation)

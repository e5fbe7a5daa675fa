"""The names of scenario files that no file declares: those of Trunkline, and those of plug-ins.

A name of a plug-in has a dot, as in ``acme.shouts``: the name of the plug-in, then its own. None of ours has one.
"""

from collections.abc import Collection
from dataclasses import dataclass

from trunkline.core.config.files.problems import advice, shown
from trunkline.core.errors import UsageError


class PluginError(UsageError):
    """The plug-in cannot be used."""

    def __reduce__(self) -> tuple[type["PluginError"], tuple[str]]:
        """An error of a worker process reaches its parent with the same message."""
        return type(self), (self.facts,)


@dataclass(frozen=True, kw_only=True)
class Names:
    """The names for a file to use; None: unknown, so not checked."""

    bugs: Collection[str] | None = None
    invariants: Collection[str] | None = None
    #: what only plug-ins add: agents, hands, hooks, faults, fake platforms
    agents: Collection[str] | None = None
    hands: Collection[str] | None = None
    hooks: Collection[str] | None = None
    faults: Collection[str] | None = None
    fakes: Collection[str] | None = None


UNCHECKED = Names()
#: an invariant that is gone -> the one that judges its promise now
MERGED = {"D6": "D4", "S2": "S3", "S5": "S4", "T4": "W2"}


def plugin_of(name: str) -> str:
    """The plug-in of a name; empty for a name of ours."""
    return name.partition(".")[0] if "." in name else ""


def unknown_word(what: str, word: str, known: Collection[str] | None) -> tuple[str, str] | None:
    """The message about an unknown name, and a hint; None for a known one."""
    if known is None or word in known:
        return None
    hint = advice(word, known) if known else "there are none"
    own = plugin_of(word)
    if own and own not in map(plugin_of, known):
        hint = f"the plug-in {own!r} may be missing: install it, or name its module with --plugin"
    return f"expected {what}, found {shown(word)}", hint


def unknown_invariant(word: str, known: Collection[str] | None) -> tuple[str, str] | None:
    """The message about an unknown invariant, and a hint; None for a known one."""
    wrong = unknown_word("an invariant", word, known)
    return wrong if wrong is None or word not in MERGED else (wrong[0], f"{MERGED[word]} judges its promise now")

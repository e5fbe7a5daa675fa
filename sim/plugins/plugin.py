"""A plug-in: one value with everything that a package outside this project adds to the simulator.

The names of its objects begin with its own and a dot, as in ``acme.shouts``. None of ours has a dot, so a new version
of Trunkline never takes a name away from a plug-in.
"""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from trunkline.core.agent import Agent
from trunkline.core.decisions import Decisions
from trunkline.core.hands.port import HandTask
from trunkline.core.values import Address
from trunkline.sim.bugs.base import Bug
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.invariants.base import Checker
from trunkline.sim.platforms import FakePlatform
from trunkline.sim.scenario.names import PluginError, plugin_of

#: version of the seams in this module; a change that breaks plug-ins raises it
SEAM = 1
_NAME = re.compile(r"[a-z][a-z0-9_-]*")
#: a whole name of an object: without the signs that places and paths have
_OWN = re.compile(r"[a-z][a-z0-9_-]*\.[A-Za-z0-9_.-]+")


class Hand(Protocol):
    """A hand of a plug-in."""

    async def run(self, task: HandTask) -> str:
        """Work on a task; returns the result. Raises `trunkline.HandError` for one that it cannot do."""
        ...


class FaultRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request, for a fault of a plug-in to strike or to let pass."""

    #: what it is: ``send``, ``act``, ``lookup``, ``thread``, ``push`` or ``hand``
    on: str
    #: the text of a message, or the task of a hand
    text: str = ""
    place: Address | None = None
    #: number of the attempt, of a send or a change
    attempt: int = 0
    #: number of the request among those that this fault was asked about, from 1
    number: int


#: a hook of a plug-in: it gets a message before it is stored, and answers as `trunkline.SendingHook`; or its outcome
HookCall = Callable[[Any], Awaitable[object]]
#: chooses one of the ways of a scenario's `do`, with its seconds; None: the request passes
Strike = Callable[[FaultRequest], tuple[str, float] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A plug-in: the objects that a package adds, with names for scenarios and the command line.

    Agents, hands and hooks are made for each gateway process, by calling what is given here: what one keeps ends with
    its process, and never reaches another run. A class is such a function.
    """

    name: str
    #: the seam that it is written for: the `SEAM` of the Trunkline with which it was tested
    seam: int
    #: shown beside its objects
    version: str = ""
    bugs: Sequence[Bug] = ()
    invariants: Sequence[type[Checker]] = ()
    agents: Mapping[str, Callable[[], Agent]] = field(default_factory=dict[str, Callable[[], Agent]])
    hands: Mapping[str, Callable[[], Hand]] = field(default_factory=dict[str, Callable[[], Hand]])
    hooks: Mapping[str, Callable[[], HookCall]] = field(default_factory=dict[str, Callable[[], HookCall]])
    faults: Mapping[str, Strike] = field(default_factory=dict[str, Strike])
    fakes: Sequence[type[FakePlatform]] = ()
    #: the package that its code is in; known when it is loaded
    home: str = ""

    @property
    def title(self) -> str:
        """Name and version, as reports show the origin of an object."""
        return f"{self.name} {self.version}".rstrip()


def check_plugin(plugin: Plugin) -> None:
    """Raise `PluginError` for an unusable plug-in: the object, the mistake and the remedy."""
    name = plugin.name
    if plugin.seam != SEAM:
        newer = "Trunkline" if str(plugin.seam) > str(SEAM) else "version of it"
        facts = f"{name} is written for seam {plugin.seam}, and this Trunkline has {SEAM}"
        raise PluginError(f"{facts}: get a newer {newer}")
    if not _NAME.fullmatch(str(name)):
        raise PluginError(f"{name!r}: a plug-in is called by letters in lower case, digits, - and _")
    try:
        objects = list(_objects(plugin))
    except (AttributeError, TypeError) as error:
        raise PluginError(f"{name}: a field has a value of a wrong type: {error}: see Plugin") from error
    seen: set[tuple[str, str]] = set()
    for kind, own, wrong in objects:
        what = f"{name}: {kind} {own!r}"
        if wrong:
            raise PluginError(f"{what} {wrong}")
        if plugin_of(own) != name or not _OWN.fullmatch(own):
            raise PluginError(f"{what}: its name must begin with '{name}.': call it '{name}.{own}'")
        if (kind, own) in seen:
            raise PluginError(f"{what} is there twice: rename one")
        seen.add((kind, own))
    for bug in plugin.bugs:
        _try_out(bug, name)


def _objects(plugin: Plugin) -> Iterator[tuple[str, str, str]]:
    """The objects of a plug-in: kind, name, and the mistake in it."""
    for bug in plugin.bugs:
        yield "bug switch", getattr(bug, "name", repr(bug)), _no("Bug") if not isinstance(bug, Bug) else ""  # pyright: ignore[reportUnnecessaryIsInstance]
    for checker in plugin.invariants:
        yield "invariant", getattr(checker, "id", repr(checker)), _wrong_checker(checker)
    for fake in plugin.fakes:
        yield "fake platform", getattr(fake, "channel", repr(fake)), _wrong_fake(fake)
    for table, method in (("agents", "turn"), ("hands", "run"), ("hooks", "__call__")):
        for name, make in getattr(plugin, table).items():
            yield table[:-1], name, _wrong_maker(make, method)
    for name, strike in plugin.faults.items():
        yield "fault", name, _unfit(strike, 1)


def _no(kind: str) -> str:
    return f"is no {kind} of trunkline.sim.plugins: give one"


def _wrong_checker(checker: object) -> str:
    if not (isinstance(checker, type) and issubclass(checker, Checker)):
        return f"{_no('Checker')}, the class and not an object of it"
    for name in ("id", "title", "sentence"):
        if not isinstance(getattr(checker, name, None), str):
            return f"has no {name}: say it in the class"
    names = dict.fromkeys(checker._methods.values())  # pyright: ignore[reportPrivateUsage] -- what it takes
    if not names:
        return "takes no events, so it could never fail: mark a method with `on`"
    return next((f"{name}: {wrong}" for name in names if (wrong := _unfit(getattr(checker, name), 3))), "")


def _wrong_fake(fake: object) -> str:
    if not (isinstance(fake, type) and issubclass(fake, FakePlatform)):
        return f"{_no('FakePlatform')}, the class and not an object of it"
    lacks = sorted(getattr(fake, "__abstractmethods__", ()))
    return f"lacks {lacks[0]}: define it" if lacks else ""


def _wrong_maker(make: object, method: str) -> str:
    if wrong := _unfit(make, 0):
        return f"{wrong} (give the class, or a function that makes it)"
    if isinstance(make, type) and not inspect.iscoroutinefunction(getattr(make, method, None)):
        return f"has no `async def {method}`: define it"
    return _unfit(getattr(make, method), 2) if isinstance(make, type) else ""


def _unfit(call: Any, arguments: int) -> str:
    """Why something cannot be called with so many arguments; empty: it can, or nothing is known of it."""
    if not callable(call):
        return f"is {type(call).__name__}, which cannot be called: give a function or a class"
    try:
        inspect.signature(call).bind(*[None] * arguments)
    except TypeError as error:
        return f"cannot be called with {arguments} arguments ({error}): change its parameters"
    except ValueError:
        return ""
    return ""


def _try_out(bug: Bug, plugin: str) -> None:
    """Install a switch once, in a wiring of no process: mistakes are found when the plug-in is loaded."""
    wiring, what = Wiring(generation=0), f"{plugin}: bug switch {bug.name!r}"
    if wrong := _unfit(bug.install, 1):
        raise PluginError(f"{what}: its `install` {wrong}")
    try:
        bug.install(wiring)
    except Exception as error:
        known = f"; the decisions are {', '.join(Decisions.__slots__)}" if "Decisions" in str(error) else ""
        raise PluginError(f"{what} cannot be installed: {type(error).__name__}: {error}{known}") from error
    for name in Decisions.__slots__:
        ours, theirs = (getattr(decisions, name) for decisions in (Decisions(), wiring.decisions))
        given = inspect.signature(ours).parameters.values() if theirs is not ours else ()
        needed = sum(known.default is known.empty and known.kind is not known.KEYWORD_ONLY for known in given)
        if theirs is not ours and (wrong := _unfit(theirs, needed)):
            raise PluginError(f"{what}: the decision {name} {wrong}")

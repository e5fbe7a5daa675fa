"""Guards around the code of plug-ins: an error raised there is one of the plug-in, and no finding about a gateway.

A gateway catches most errors of what it calls, as it should, and goes on. So a guard notes the error for the run, which
raises it at its end, and lets it pass. What a part is allowed to raise is not noted: errors of Trunkline, and whatever
comes out of our code, such as an error of an adapter that a switch wraps.
"""

import functools
import traceback
from collections.abc import Callable
from dataclasses import replace
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any, cast

from trunkline.core.errors import TrunklineError
from trunkline.core.events import Event
from trunkline.sim.bugs.base import Bug
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.index.projection import Handlers
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.invariants.base import Checker
from trunkline.sim.plugins.plugin import FaultRequest, Plugin, Strike
from trunkline.sim.scenario.names import PluginError
from trunkline.sim.scenario.step_rules import FAULTS

#: parts of a wiring that are called, and tables of such parts
_PARTS = ("make_adapter", "wrap_adapter", "wrap_events", "wrap_agent", "make_store", "make_gateway")
_TABLES = ("_changes", "_writes", "_reads")


def plugin_error(plugin: Plugin, what: str, error: Exception) -> PluginError:
    """An error of an object of a plug-in, with the place in its code."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno} in {frames[-1].name})" if frames else ""
    facts = f"{plugin.title}: {what} raised {type(error).__name__}: {error}{where}"
    return PluginError(f"{facts}: mend it, this run says nothing")


class PluginGuard:
    """Guards the code of one object of a plug-in. `note` takes its errors."""

    def __init__(self, plugin: Plugin, what: str, note: Callable[[PluginError], None]) -> None:
        self._plugin, self._what, self._note = plugin, what, note

    def look(self, error: Exception) -> None:
        """Note an error, unless our code below the object raised it."""
        innermost, home = "", self._plugin.home
        for frame, _ in traceback.walk_tb(error.__traceback__):
            name = str(frame.f_globals.get("__name__", ""))
            # Libraries raise for their callers.
            if name.startswith("trunkline.") or home in ("", name.partition(".")[0]):
                innermost = name
        if not isinstance(error, TrunklineError) and (innermost == __name__ or not innermost.startswith("trunkline.")):
            self._note(plugin_error(self._plugin, self._what, error))

    def call(self, call: Any) -> Any:
        """The same function, guarded; also one that is awaited."""
        if iscoroutinefunction(call):

            @functools.wraps(call)
            async def wait(*args: Any, **named: Any) -> Any:
                try:
                    return await call(*args, **named)
                except Exception as error:
                    self.look(error)
                    raise

            return wait

        @functools.wraps(call)
        def called(*args: Any, **named: Any) -> Any:
            try:
                return call(*args, **named)
            except Exception as error:
                self.look(error)
                raise

        return called

    def part(self, make: Any) -> Any:
        """A maker of parts, guarded with its results: with the methods of classes outside this project."""

        def made(*args: Any, **named: Any) -> Any:
            part = make(*args, **named)
            kind = cast("type[Any]", type(part))
            own = [base for base in kind.__mro__ if not base.__module__.startswith(("trunkline.", "builtins"))]
            names = {name for base in own for name, found in vars(base).items() if callable(found) and name[:2] != "__"}
            if names:
                methods = {name: self.call(getattr(kind, name)) for name in names}
                part.__class__ = type(
                    kind.__name__, (kind,), {"__slots__": (), "__module__": kind.__module__, **methods}
                )
            return part

        return self.call(made)


def guarded_bug(bug: Bug, plugin: Plugin) -> Bug:
    """A bug switch of a plug-in; the wiring notes the errors of its code."""

    def install(wiring: Wiring) -> None:
        what = f"bug switch {bug.name}"
        guard = PluginGuard(plugin, what, wiring.errors.append)
        before = {name: getattr(wiring, name) for name in _PARTS}
        tables = {name: dict(getattr(wiring, name)) for name in _TABLES}
        decided = wiring.decisions
        try:
            bug.install(wiring)
        except Exception as error:
            raise plugin_error(plugin, what, error) from error
        for name, part in before.items():
            if (now := getattr(wiring, name)) is not part:
                setattr(wiring, name, guard.part(now))
        for name, table in tables.items():
            calls: dict[Any, Any] = getattr(wiring, name)
            calls.update({kind: guard.call(do) for kind, do in calls.items() if do is not table.get(kind)})
        decisions = {name: getattr(wiring.decisions, name) for name in decided.__slots__}
        theirs = {name: decide for name, decide in decisions.items() if decide is not getattr(decided, name)}
        wiring.replace(**{name: guard.call(decide) for name, decide in theirs.items()})

    return replace(bug, install=install, origin=plugin.title)


def guarded_checker(checker: type[Checker], plugin: Plugin) -> type[Checker]:
    """A checker of a plug-in: once it has raised, nothing more is judged by it."""

    def guarded(self: Any, call: Callable[..., None]) -> Callable[..., None]:
        def see(*args: Any) -> None:
            if self.error is not None:
                return
            try:
                call(*args)
            except Exception as error:  # noqa: BLE001 -- whatever the code of others raises
                at = next((f" at #{given.seq} {given.kind}" for given in args if isinstance(given, Event)), "")
                self.error = plugin_error(plugin, f"invariant {checker.id}{at}", error)

        return see

    def init(self: Any, run: RunFacts) -> None:
        guarded(self, lambda: checker.__init__(self, run))()
        if self.error is not None:
            raise self.error

    def handlers(self: Any) -> Handlers:
        return {body: guarded(self, handle) for body, handle in checker.handlers(self).items()}

    methods: dict[str, Any] = {"__init__": init, "handlers": handlers, "origin": plugin.title}
    if checker.finish is not Checker.finish:

        def finish(self: Any, last: Event) -> None:
            guarded(self, checker.finish)(self, last)

        methods["finish"] = finish
    return type(checker.__name__, (checker,), {"__module__": checker.__module__, **methods})


def guarded_strike(name: str, strike: Strike, plugin: Plugin, note: Callable[[PluginError], None]) -> Strike:
    """A fault of a plug-in; where it raises, nothing is struck."""

    def choose(request: FaultRequest) -> tuple[str, float] | None:
        try:
            chosen = strike(request)
            if chosen is None:
                return None
            way, lasts = chosen
            if way not in FAULTS[request.on]:
                raise ValueError(f"{way!r} is none of {', '.join(FAULTS[request.on])}")
            return way, float(lasts)
        except Exception as error:  # noqa: BLE001 -- whatever the code of others raises
            note(plugin_error(plugin, f"fault {name}", error))
            return None

    return choose

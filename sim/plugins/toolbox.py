"""The toolbox of a run: the objects behind the names in its scenario, ours and those of its plug-ins.

It is a value that is handed in with the scenario, never a registry that a plug-in changes: two runs of one process may
have other plug-ins.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from trunkline.sim.bugs import BUGS, Bug
from trunkline.sim.invariants import CHECKERS, Checker
from trunkline.sim.platforms import PLATFORMS, FakePlatform
from trunkline.sim.plugins.guards import guarded_bug, guarded_checker
from trunkline.sim.plugins.plugin import Plugin, Strike, check_plugin
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.scenario.names import Names, PluginError, unknown_word

T = TypeVar("T")

#: the entry points of installed plug-ins
GROUP = "trunkline.plugins"
#: the value of a module that is its plug-in
ATTRIBUTE = "PLUGIN"
#: what is made or asked in each run, by its name
_TABLES = ("agents", "hands", "hooks", "faults")
#: in place of a module: without the plug-ins that are installed
NONE = "none"


@dataclass(frozen=True, kw_only=True)
class Toolbox(Names):
    """The objects of a run by their names."""

    bugs: Mapping[str, Bug] = field(default_factory=lambda: BUGS)
    invariants: Mapping[str, type[Checker]] = field(default_factory=lambda: {kind.id: kind for kind in CHECKERS})
    platforms: Mapping[str, type[FakePlatform]] = field(default_factory=lambda: PLATFORMS)
    agents: Mapping[str, Any] = field(default_factory=dict[str, Any])
    hands: Mapping[str, Any] = field(default_factory=dict[str, Any])
    hooks: Mapping[str, Any] = field(default_factory=dict[str, Any])
    faults: Mapping[str, Strike] = field(default_factory=dict[str, Strike])
    fakes: Mapping[str, type[FakePlatform]] = field(default_factory=dict[str, type[FakePlatform]])
    plugins: Mapping[str, Plugin] = field(default_factory=dict[str, Plugin])
    #: what the command named, by which another process gets the same plug-ins
    named: tuple[str, ...] = ()

    @property
    def checkers(self) -> tuple[type[Checker], ...]:
        """The checkers of all invariants, ours first."""
        return tuple(self.invariants.values())

    def find(self, what: str, name: str, table: Mapping[str, T]) -> T:
        """The object of a name. Raises `PluginError`."""
        wrong = unknown_word(what, name, table)
        if wrong is not None:
            raise PluginError("; ".join(wrong))
        return table[name]

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return load_toolbox, (self.named,)


def toolbox(plugins: Iterable[Plugin], named: Sequence[str] = ()) -> Toolbox:
    """The toolbox with the objects of plug-ins beside ours. Raises `PluginError` for an unusable one."""
    found: dict[str, Plugin] = {}
    for plugin in plugins:
        check_plugin(plugin)
        if found.setdefault(plugin.name, plugin) != plugin:
            raise PluginError(f"two plug-ins are called {plugin.name!r}: rename one, or uninstall it")
    own, every = Toolbox(), tuple(found.values())
    fakes = {fake.channel: fake for plugin in every for fake in plugin.fakes}
    checkers = {kind.id: guarded_checker(kind, plugin) for plugin in every for kind in plugin.invariants}
    return Toolbox(
        bugs={**own.bugs, **{bug.name: guarded_bug(bug, plugin) for plugin in every for bug in plugin.bugs}},
        invariants={**own.invariants, **checkers},
        platforms={**own.platforms, **fakes},
        fakes=fakes,
        **{kind: {name: made for plugin in every for name, made in getattr(plugin, kind).items()} for kind in _TABLES},
        plugins=found,
        named=tuple(named),
    )


#: without any plug-in
OURS = Toolbox()


def toolbox_of(file: ScenarioFile) -> Toolbox:
    return file.names if isinstance(file.names, Toolbox) else OURS


def load_toolbox(named: Sequence[str] = ()) -> Toolbox:
    """Ours, the plug-ins that are installed, and those of modules: `MODULE` or `MODULE:NAME`. Raises `PluginError`."""
    points = [] if NONE in named else sorted(entry_points(group=GROUP), key=lambda point: point.name)
    installed = [_load(point, f"the installed plug-in {point.name!r} ({point.value})") for point in points]
    values = {name: name if ":" in name else f"{name}:{ATTRIBUTE}" for name in named if name != NONE}
    given = [_load(EntryPoint(name, value, GROUP), f"--plugin {name}") for name, value in values.items()]
    # A module that is named although it is installed is the same plug-in.
    return toolbox((*installed, *given), named) if installed or given else OURS


def _load(point: EntryPoint, what: str) -> Plugin:
    """The plug-in of an entry point. Raises `PluginError`."""
    module, _, attribute = point.value.partition(":")
    try:
        found = getattr(import_module(module), attribute.strip(), None)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}."):
            facts = f"there is no module {error.name!r}: install its package, or name the folder in PYTHONPATH"
        else:
            facts = f"the module {module} cannot be imported: {type(error).__name__}: {error}: mend it"
        raise PluginError(f"{what}: {facts}") from error
    if not isinstance(found, Plugin):
        there = "is missing" if found is None else f"is {type(found).__name__}"
        raise PluginError(
            f"{what}: {module}.{attribute} {there}: write `{attribute} = Plugin(name=..., seam=...)` there"
        )
    return replace(found, home=module.partition(".")[0])

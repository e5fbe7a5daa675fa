"""A plug-in that cannot be used is refused when it is loaded: its name, the object, and what to do."""

import sys
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from tests.support.for_each import for_each
from tests.support.plugins import Counted, bug, plugin
from trunkline.sim.plugins import Checker, FakePlatform, PluginError, load_toolbox, toolbox


class _Idle(Checker):
    id, title, sentence = "t.Q1", "Idle", "Nothing is promised."


class _Narrow(Counted):
    def _accepted(self, _event: Any) -> None: ...  # pyright: ignore[reportIncompatibleMethodOverride]


class _Half(FakePlatform):
    channel = "t.half"


def _raises(_wiring: Any) -> None:
    raise ZeroDivisionError("no parts")


WRONG = {
    "seam of later": ({"seam": 2}, "t is written for seam 2, and this Trunkline has 1: get a newer Trunkline"),
    "seam of earlier": ({"seam": 0}, "t is written for seam 0, and this Trunkline has 1: get a newer version of it"),
    "name": ({"name": "T x"}, "'T x': a plug-in is called by letters in lower case, digits, - and _"),
    "no switch": ({"bugs": ["shouts"]}, "t: bug switch \"'shouts'\" is no Bug of trunkline.sim.plugins: give one"),
    "name of an object": (
        {"bugs": [bug(name="shouts")]},
        "t: bug switch 'shouts': its name must begin with 't.': call it 't.shouts'",
    ),
    "name of ours": (
        {"invariants": [type("D1", (Counted,), {"id": "D1"})]},
        "t: invariant 'D1': its name must begin with 't.': call it 't.D1'",
    ),
    "twice": ({"bugs": [bug(), bug()]}, "t: bug switch 't.bug' is there twice: rename one"),
    "decision that is none": (
        {"bugs": [bug(decision="plan_repli")]},
        "t: bug switch 't.bug' cannot be installed: TypeError: Decisions.__init__() got an unexpected keyword argument "
        "'plan_repli'; the decisions are canonical,",
    ),
    "signature of a decision": (
        {"bugs": [bug(lambda envelope: None)]},
        "t: bug switch 't.bug': the decision plan_reply cannot be called with 2 arguments (too many positional "
        "arguments): change its parameters",
    ),
    "install that raises": (
        {"bugs": [replace(bug(), install=_raises)]},
        "t: bug switch 't.bug' cannot be installed: ZeroDivisionError: no parts",
    ),
    "install without a wiring": (
        {"bugs": [replace(bug(), install=lambda: None)]},
        "t: bug switch 't.bug': its `install` cannot be called with 1 arguments",
    ),
    "object for a class": ({"invariants": ["x"]}, "t: invariant \"'x'\" is no Checker of trunkline.sim.plugins"),
    "checker without a sentence": (
        {"invariants": [type("Q", (Counted,), {"sentence": None})]},
        "t: invariant 't.Q1' has no sentence: say it in the class",
    ),
    "checker without events": (
        {"invariants": [_Idle]},
        "t: invariant 't.Q1' takes no events, so it could never fail: mark a method with `on`",
    ),
    "signature of a handler": (
        {"invariants": [_Narrow]},
        "t: invariant 't.Q1' _accepted: cannot be called with 3 arguments (too many positional arguments)",
    ),
    "agent without turns": ({"agents": {"t.clerk": dict}}, "t: agent 't.clerk' has no `async def turn`: define it"),
    "hand that needs more": (
        {"hands": {"t.search": lambda where: None}},
        "t: hand 't.search' cannot be called with 0 arguments (missing a required argument: 'where')",
    ),
    "fault that is a word": (
        {"faults": {"t.third": "drop"}},
        "t: fault 't.third' is str, which cannot be called: give a function or a class",
    ),
    "fake that is half": ({"fakes": [_Half]}, "t: fake platform 't.half' lacks new_id: define it"),
}


@for_each("name", WRONG)
def test_what_is_wrong_with_a_plugin_is_said_with_its_remedy(name):
    parts, says = WRONG[name]
    with pytest.raises(PluginError) as raised:
        toolbox([plugin(**parts)])
    # Python 3.13 knows what was probably meant.
    assert raised.value.facts.replace(". Did you mean 'plan_reply'?", "").startswith(says)


def test_two_plugins_of_one_name_are_refused_and_one_that_is_named_twice_is_one():
    assert list(toolbox([plugin(bugs=[one := bug()]), plugin(bugs=[one])]).plugins) == ["t"]
    with pytest.raises(PluginError, match="two plug-ins are called 't': rename one, or uninstall it"):
        toolbox([plugin(), plugin(version="2")])


def _module(name: str, **values: Any) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(values)
    return made


MODULES = {
    "nowhere": (None, "--plugin nowhere: there is no module 'nowhere': install its package, or name the folder in"),
    "empty": (_module("empty"), "--plugin empty: empty.PLUGIN is missing: write `PLUGIN = Plugin(name=..., seam=...)`"),
    "other": (_module("other", PLUGIN={}), "--plugin other: other.PLUGIN is dict: write `PLUGIN = Plugin("),
}


@for_each("name", MODULES)
def test_a_module_without_a_plugin_is_named(name, monkeypatch):
    module, says = MODULES[name]
    if module is not None:
        monkeypatch.setitem(sys.modules, name, module)
    with pytest.raises(PluginError) as raised:
        load_toolbox([name])
    # Python 3.13 knows what was probably meant.
    assert raised.value.facts.replace(". Did you mean 'plan_reply'?", "").startswith(says)


def test_a_module_that_cannot_be_imported_is_named(tmp_path, monkeypatch):
    (tmp_path / "half_made.py").write_text("import not_installed_here\n")
    (tmp_path / "broken_inside.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name, says in (
        ("half_made", "the module half_made cannot be imported: ModuleNotFoundError: No module named 'not_inst"),
        ("broken_inside", "the module broken_inside cannot be imported: ZeroDivisionError: division by zero: mend it"),
    ):
        with pytest.raises(PluginError) as raised:
            load_toolbox([name])
        assert f"--plugin {name}: {says}" in raised.value.facts


def test_another_name_in_a_module_can_be_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "named", _module("named", mine=plugin(bugs=[bug()])))
    loaded = load_toolbox(["named:mine"])
    assert (loaded.plugins["t"].home, loaded.bugs["t.bug"].origin, loaded.named) == ("named", "t", ("named:mine",))

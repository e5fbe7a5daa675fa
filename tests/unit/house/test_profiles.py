"""No room of the core decides by the name of a profile: what another gateway does otherwise is in its own folder."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.support.paths import ROOT
from tests.support.sources import offenders, parse
from trunkline.core.profiles.openclaw.bundles import AUGUST

#: What a condition may not name: a profile, its gateway, or the months that tell its versions apart.
PROFILE = re.compile(r"upstream|openclaw|\baugust|\bmarch|\bprofile\b", re.IGNORECASE)
#: The folder where these names are at home.
FOLDER = "core/profiles/"
#: Whether a profile was given, as an option or of a person on a platform, is no condition on which it is.
GIVEN = re.compile(r"(?:\w+\.)*profile is (?:not )?None\b")


def conditions(tree: ast.AST) -> Iterator[ast.expr]:
    """Everything on whose truth something depends."""
    for node in ast.walk(tree):
        match node:
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Assert(test=test):
                yield test
            case ast.comprehension(ifs=tests):
                yield from tests
            case ast.BoolOp(values=values):
                yield from values
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                yield node
            case ast.Match(subject=subject):
                yield subject
            case _:
                pass


def names_in(test: ast.expr) -> Iterator[str]:
    """The names and texts in a condition."""
    for node in ast.walk(test):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
            case ast.Constant(value=str(text)):
                yield text
            case _:
                pass


def on_profiles(tree: ast.AST) -> list[str]:
    """The conditions that depend on which profile it is, with their lines."""
    found = {
        f"line {test.lineno}: {ast.unparse(test)}"
        for test in conditions(tree)
        if any(PROFILE.search(name) for name in names_in(test)) and not GIVEN.match(ast.unparse(test))
    }
    return sorted(found)


def test_no_room_has_a_condition_on_a_profile() -> None:
    assert offenders(lambda module: [] if module.startswith(FOLDER) else on_profiles(parse(module)), "core") == []


@pytest.mark.parametrize(
    "source",
    [
        "if config.profile.upstream:\n    pass",
        "kind = a if profile is Profile.OPENCLAW else b",
        "found = [one for one in many if not profile.august]",
        "odd = known and config.profile == 'acme'",
        "match profile:\n    case _:\n        pass",
        "while hints.profile.upstream:\n    pass",
        "same = reads_like_openclaw(text) or other",
    ],
)
def test_a_condition_on_a_profile_is_found(source: str) -> None:
    assert on_profiles(ast.parse(source))


@pytest.mark.parametrize(
    "source",
    [
        "if config.rules[SendRules].keeps_failures:\n    pass",
        "if profile is not None and isinstance(given, dict):\n    pass",
        "rules = profile_rules(config.profile)",
        "if path.startswith('profiles/'):\n    pass",
    ],
)
def test_another_condition_passes(source: str) -> None:
    assert not on_profiles(ast.parse(source))


def test_the_architecture_page_lists_the_classes_that_profiles_replace() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("### Profiles: the rules of another gateway")[2].partition("`ProfileRules` (")[0]
    ours = {kind for kind in AUGUST if not kind.__module__.startswith("trunkline.core.profiles.")}
    assert set(re.findall(r"`([A-Z]\w+)`", table)) == {kind.__name__ for kind in ours}


def test_a_gateway_of_our_own_profile_loads_no_rules_of_another_one() -> None:
    code = (
        "import sys, trunkline; trunkline.Gateway; trunkline.GatewayConfig(); "
        "print([name for name in sys.modules if name.startswith('trunkline.core.profiles')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"

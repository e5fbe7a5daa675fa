"""The modules of the product, parsed once, for rules that are checked on the source itself."""

import ast
import functools
from collections.abc import Callable

from tests.support.paths import ROOT

PACKAGES = ("core", "sim", "app")


@functools.cache
def modules(*packages: str) -> list[str]:
    """The modules of these packages, or of all, by their paths in the clone."""
    return [
        path.relative_to(ROOT).as_posix()
        for package in packages or PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    ]


@functools.cache
def source_of(module: str) -> str:
    return (ROOT / module).read_text(encoding="utf-8")


@functools.cache
def parse(module: str) -> ast.Module:
    return ast.parse(source_of(module), module)


def offenders(rule: Callable[[str], list[str]], *packages: str) -> list[str]:
    """What a rule finds in the modules of these packages, each finding after the name of its module."""
    return [f"{module}: {found}" for module in modules(*packages) for found in rule(module)]

"""Scenarios that are made from tables: `python -m tests.families` writes `scenarios/families/`."""

import importlib
import pkgutil

from tests.families import tables
from tests.families.family import Family

#: the module of each table has its families
FAMILIES: tuple[Family, ...] = tuple(
    family
    for found in sorted(pkgutil.iter_modules(tables.__path__), key=lambda found: found.name)
    for family in importlib.import_module(f"{tables.__name__}.{found.name}").FAMILIES
)
#: the text of each file of `scenarios/families/`, by its name
FILES: dict[str, str] = {name: text for family in FAMILIES for name, text in family.files()}

"""The schema of configurations accepts what the pages show, and refuses what the server refuses."""

import functools
import json
import re
from typing import Any

import jsonschema_rs
import pytest
import yaml

from tests.support.for_each import for_each
from tests.support.paths import ROOT
from trunkline.app.cli.schema import gateway_schema_text
from trunkline.app.serve.config import ServeConfig
from trunkline.core.config.files.model_fields import fields_of, walk

_YAML = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
_PAGES = (ROOT / "README.md", ROOT / "docs" / "serving.md", *sorted((ROOT / "docs" / "platforms").glob("*.md")))


def configurations() -> list[tuple[str, dict[str, Any]]]:
    """The configurations of the pages: documents all of whose fields a configuration has."""
    found = []
    for page in _PAGES:
        for number, text in enumerate(_YAML.findall(page.read_text("utf-8"))):
            tree = yaml.safe_load(text)
            if isinstance(tree, dict) and set(tree) <= set(ServeConfig.model_fields):
                found.append((f"{page.stem}-{number}", tree))
    return found


@functools.cache
def schema() -> dict[str, Any]:
    return json.loads(gateway_schema_text())


@functools.cache
def valid() -> Any:
    return jsonschema_rs.validator_for(schema())


def test_it_accepts_what_the_pages_show() -> None:
    shown = configurations()
    assert len(shown) >= 10
    assert [name for name, tree in shown if not valid().is_valid(tree)] == []


@for_each(
    "tree",
    [
        {"acounts": []},
        {"accounts": [{"telegram": {"tokn": "$T"}}]},
        {"http": {"listen": 8420, "tls": {}}},
        {"gateway": {"agents": [{"name": "main"}]}},
        {"gateway": {"control": {"enabled": "yes"}}},
        {"finish_within": -1},
        {"record": 5},
    ],
    ids=str,
)
def test_it_refuses_what_the_server_refuses(tree: dict[str, Any]) -> None:
    assert not valid().is_valid(tree)
    with pytest.raises(ValueError):
        ServeConfig.model_validate(tree)


def test_every_field_has_its_text() -> None:
    homes = {ServeConfig.__name__: schema(), **schema()["$defs"]}
    missing = [
        f"{at}.{name}"
        for at, model in walk(ServeConfig)
        for name in fields_of(model)
        # A section has the text of its own type.
        if not {"description", "$ref"} & set(homes[model.__name__]["properties"][name])
    ]
    assert missing == []

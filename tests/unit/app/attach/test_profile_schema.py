"""The schema of gateway profiles accepts those that ship, and refuses what their reader refuses."""

import functools
import json
from typing import Any

import jsonschema_rs
import pytest
import yaml

from tests.support.for_each import for_each
from trunkline.app.cli.schema import profile_schema_text
from trunkline.core.config.files.model_fields import fields_of, walk
from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.attach.profile_files import ProfileError, load_profile_text, profile_path, shipped_profiles

SMALL = {"profile": 1, "name": "mine", "command": ["mine"], "platforms": {"telegram": {}}}


@functools.cache
def schema() -> dict[str, Any]:
    return json.loads(profile_schema_text())


@functools.cache
def valid() -> Any:
    return jsonschema_rs.validator_for(schema())


@pytest.mark.parametrize("name", shipped_profiles())
def test_it_accepts_each_profile_that_ships(name: str) -> None:
    valid().validate(yaml.safe_load(profile_path(name).read_text("utf-8")))


@for_each(
    "change",
    [
        {"profile": 2},
        {"name": "Mine"},
        {"command": []},
        {"platforms": {"icq": {}}},
        {"platforms": {}},
        {"notice": ["Sorry"]},
        {"needs": [{"program": "node", "at_least": "new"}]},
        {"settle": -1},
    ],
    ids=str,
)
def test_it_refuses_what_the_reader_refuses(change: dict[str, Any]) -> None:
    valid().validate(SMALL)
    load_profile_text(json.dumps(SMALL))
    assert not valid().is_valid({**SMALL, **change})
    with pytest.raises(ProfileError):
        load_profile_text(json.dumps({**SMALL, **change}))


def test_every_field_has_its_text() -> None:
    homes = {GatewayProfile.__name__: schema(), **schema()["$defs"]}
    for at, model in walk(GatewayProfile):
        for name in fields_of(model):
            assert homes[model.__name__]["properties"][name]["description"], f"{at}.{name}"

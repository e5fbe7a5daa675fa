"""The configuration on the page of each platform, tried: with it a person there gets an answer."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.pages import PLATFORM_PAGES, Block, blocks
from tests.support.serve.processes import serve, wait_for
from tests.support.wire.world_thread import WorldThread, world_on_thread
from trunkline.core.adapters.config import PLATFORMS
from trunkline.sim.wire.play.accounts import VERIFY, CallsGateway, account_on
from trunkline.sim.wire.server import WireListener

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

#: an account of the Cloud API, not of a linked device
SETTINGS = {"whatsapp": ", mode: direct"}


def first_configuration(page: Path) -> Block:
    """The one that a reader tries first."""
    return next(one for one in blocks(page.read_text("utf-8")) if one.language == "yaml" and "accounts:" in one.text)


def on_the_wire(section: dict[str, Any], listener: WireListener) -> tuple[dict[str, Any], dict[str, str]]:
    """The section of a page with the address of a fake, and its secrets under the names that the page gives them."""
    known = account_on(listener.server, listener.server.platform, "default")
    fake = known.config.model_dump(exclude_unset=True)[listener.server.platform.channel]
    secrets = {field: value["env"] for field, value in section.items() if isinstance(value, dict) and "env" in value}
    environ = {name: known.environ[fake[field]["env"]] for field, name in secrets.items()}
    return {**section, **{field: value for field, value in fake.items() if field not in secrets}}, environ


def test_each_platform_has_a_page() -> None:
    assert {page.stem for page in PLATFORM_PAGES} == set(PLATFORMS)


@pytest.mark.parametrize("page", PLATFORM_PAGES, ids=lambda page: page.stem)
def test_with_the_ten_lines_of_its_page_a_person_is_answered(page: Path, tmp_path: Path) -> None:
    platform, block = page.stem, first_configuration(page)
    assert len(block.text.splitlines()) <= 10
    config = yaml.safe_load(block.text)
    [account] = config["accounts"]
    with world_on_thread(platform, settings=SETTINGS.get(platform, "")) as world:
        account[platform], environ = on_the_wire(account[platform], world.listeners[platform])
        config["http"] = {"listen": "127.0.0.1:0"}
        (tmp_path / "gateway.json").write_text(json.dumps(config))
        with serve(tmp_path, "--config", "gateway.json", "--state", "state", environ=environ) as server:
            server.ready()
            call_the_gateway(world, platform, server.url)
            wait_for(lambda: f"{platform}:default" in server.log, lambda: server.log)
            world.say(f"{platform}/@ana", "hello")
            wait_for(lambda: world.seen(f"{platform}/@ana"), lambda: server.log)
            assert "hello" in world.seen(f"{platform}/@ana")[0]


def call_the_gateway(world: WorldThread, platform: str, url: str) -> None:
    """Register the address of the account at a platform that calls it, as the page says."""
    server = world.listeners[platform].server
    if not isinstance(server, CallsGateway):
        return
    world.wait(server.subscribe("default", f"{url}/v1/platforms/{platform}/default", VERIFY))

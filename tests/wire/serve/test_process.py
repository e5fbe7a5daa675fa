"""``trunkline serve`` in a process with real adapters: answers, stop, stand-by, and a token that is replaced."""

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.serve.processes import ServeProcess, ask, serve, token_of, wait_for
from tests.support.wire.served_accounts import account_of, accounts_of
from tests.support.wire.world_thread import WorldThread, world_on_thread
from trunkline.sim.run.world import World

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

FOUR = ("telegram", "discord", "slack", "matrix")
PLACES = ("@ana", "ops", "ops/deploy")


def configured(folder: Path, world: WorldThread, **more: object) -> tuple[str, ...]:
    config = {
        "store": "gateway.db",
        "http": {"listen": "127.0.0.1:0", "token_file": "token"},
        "accounts": accounts_of(folder, world.listeners),
        **more,
    }
    (folder / "gateway.json").write_text(json.dumps(config))
    return "--config", "gateway.json"


def states(server: ServeProcess, folder: Path) -> dict[str, Any]:
    status, answer = ask(f"{server.url}/v1/accounts", token_of(folder, "token"))
    assert status == 200, answer
    return {one["channel"]: one for one in answer["accounts"]}


def connected(server: ServeProcess, folder: Path) -> None:
    server.ready()
    wait_for(lambda: all(one["connected"] for one in states(server, folder).values()), lambda: server.log)


def answered(world: WorldThread, server: ServeProcess, place: str, count: int = 1) -> None:
    wait_for(lambda: len(world.seen(place)) >= count, lambda: server.log)


def settled(server: ServeProcess, folder: Path) -> None:
    def states_of_intents() -> set[str]:
        status, answer = ask(f"{server.url}/v1/queue", token_of(folder, "token"))
        assert status == 200, answer
        return {row["state"] for row in answer["rows"]}

    wait_for(lambda: states_of_intents() == {"delivered"}, lambda: server.log)


def test_people_on_four_platforms_are_answered_where_they_write(tmp_path: Path) -> None:
    with (
        world_on_thread(*FOUR) as world,
        serve(tmp_path, *configured(tmp_path, world, log={"level": "debug"})) as server,
    ):
        connected(server, tmp_path)
        everywhere = [f"{platform}/{place}" for platform in FOUR for place in PLACES]
        for place in everywhere:
            world.say(place, f"hello from {place}")
        for place in everywhere:
            answered(world, server, place)
        server.signal(signal.SIGTERM)
        assert server.ended() == 0, server.log
        for place in everywhere:
            [text] = world.seen(place)
            assert f"hello from {place}" in text.replace("\\", "")
        # Not even with every event in the log.
        for file in tmp_path.glob("*.*TOKEN"):
            assert file.read_text() not in server.log + server.output, file.name


def test_two_accounts_on_one_platform_answer_each_for_itself(tmp_path: Path) -> None:
    with world_on_thread("telegram", settings=", accounts: {default: {}, second: {}}") as world:
        listener = world.listeners["telegram"]
        accounts = [account_of(tmp_path, listener), account_of(tmp_path, listener, "second")]
        with serve(tmp_path, *configured(tmp_path, world, accounts=accounts)) as server:
            server.ready()
            world.say("telegram:default/@ana", "to the first")
            world.say("telegram:second/@ana", "to the second")
            for name, text in (("default", "to the first"), ("second", "to the second")):
                answered(world, server, f"telegram:{name}/@ana")
                assert [text in one for one in world.seen(f"telegram:{name}/@ana")] == [True]


def test_a_process_that_stands_by_takes_no_updates_and_then_takes_over(tmp_path: Path) -> None:
    with world_on_thread("telegram", "slack") as world:
        arguments = configured(tmp_path, world)
        with serve(tmp_path, *arguments) as first:
            connected(first, tmp_path)
            before = {name: world.connections(name) for name in ("telegram", "slack")}
            with serve(tmp_path, *arguments) as second:
                second.logged("stands by")
                world.say("telegram/@ana", "one")
                answered(world, first, "telegram/@ana")
                # An answer that people have seen may still be in doubt for the gateway, and then a notice would follow.
                settled(first, tmp_path)
                assert before == {name: world.connections(name) for name in before}
                assert {one["connected"] for one in states(second, tmp_path).values()} == {False}
                first.kill()
                world.say("telegram/@ana", "two")
                world.say("slack/ops", "three")
                answered(world, second, "telegram/@ana", 2)
                answered(world, second, "slack/ops")
                assert len(world.seen("telegram/@ana")) == 2


def test_a_token_that_is_revoked_is_seen_and_harms_nobody_else(tmp_path: Path) -> None:
    with world_on_thread("telegram", "discord") as world:
        # A revoked token is seen with the next poll.
        accounts = accounts_of(tmp_path, world.listeners)
        accounts[1]["telegram"]["poll_seconds"] = 2
        arguments = configured(tmp_path, world, accounts=accounts)
        with serve(tmp_path, *arguments) as server:
            connected(server, tmp_path)
            world.do(_rotate)
            wait_for(lambda: not states(server, tmp_path)["telegram"]["connected"], lambda: server.log)
            assert states(server, tmp_path)["telegram"]["failure"]["reason"] == "unauthorized"
            assert ask(f"{server.url}/v1/health/ready") == (200, {"status": "ready", "disconnected": 1})
            world.say("telegram/@ana", "are you there?")
            world.say("discord/ops", "and you?")
            answered(world, server, "discord/ops")
            # The new token is behind the same name.
            account_of(tmp_path, world.listeners["telegram"])
            _, reloaded = ask(f"{server.url}/v1/admin/reload", token_of(tmp_path, "token"), method="POST")
            assert reloaded["needs_restart"] == ["accounts[1].telegram.token"]
            server.signal(signal.SIGTERM)
            assert server.ended() == 0
        with serve(tmp_path, *arguments) as server:
            answered(world, server, "telegram/@ana")


def _rotate(world: World) -> None:
    world.platforms["telegram"].tokens.rotate("default", None)


def test_an_unreachable_platform_does_not_hold_up_the_start(tmp_path: Path) -> None:
    account = {"telegram": {"token": {"file": "t"}, "api_root": "http://127.0.0.1:9"}}
    (tmp_path / "t").write_text("7000001:AAtoken-of-nobody")
    (tmp_path / "gateway.json").write_text(
        json.dumps({"store": "g.db", "http": {"listen": "127.0.0.1:0", "token_file": "token"}, "accounts": [account]})
    )
    with serve(tmp_path, "--config", "gateway.json") as server:
        server.ready()
        wait_for(lambda: states(server, tmp_path)["telegram"]["failure"], lambda: server.log)
        assert states(server, tmp_path)["telegram"]["failure"]["reason"] == "not-sent"
        server.logged("the connection of telegram:default failed, opened again")
        server.signal(signal.SIGTERM)
        assert server.ended() == 0

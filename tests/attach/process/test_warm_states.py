"""States of gateways that have run before: made by one, awaited by the others, copied whole."""

import os
import socket
from pathlib import Path

import anyio
import pytest

from trunkline.core.errors import UsageError
from trunkline.sim.attach.process.warm_states import copy_state, first_conversation, leave_out, state_name, warm_state
from trunkline.sim.attach.profile_files import SHIPPED, load_profile
from trunkline.sim.scenario import load_text


def test_one_makes_a_state_and_the_others_wait_for_it(tmp_path: Path) -> None:
    made: list[Path] = []

    async def make(place: Path) -> None:
        made.append(place)
        await anyio.sleep(0.4)
        (place / "home").mkdir()
        (place / "home" / "memory").write_text("of a first conversation")

    async def main() -> None:
        async def want() -> None:
            state = await warm_state(tmp_path / "states", "toy-1", make)
            assert (state / "memory").read_text() == "of a first conversation"

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(want)

    anyio.run(main)
    assert len(made) == 1
    assert sorted(one.name for one in (tmp_path / "states").iterdir()) == ["toy-1", "toy-1.lock"]


def test_what_was_left_half_made_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "toy-1.making" / "home" / "half").mkdir(parents=True)

    async def make(place: Path) -> None:
        assert not list(place.iterdir())  # noqa: ASYNC240 -- a test
        (place / "home").mkdir()

    anyio.run(warm_state, tmp_path, "toy-1", make)
    assert list((tmp_path / "toy-1").iterdir()) == []


def test_a_folder_that_cannot_be_written_has_a_message(tmp_path: Path) -> None:
    (tmp_path / "states").write_text("a file")

    async def make(place: Path) -> None:
        raise AssertionError(place)

    with pytest.raises(UsageError, match="File exists: no state of a gateway can be kept there"):
        anyio.run(warm_state, tmp_path / "states", "toy-1", make)


def test_links_are_copied_as_links_and_sockets_not_at_all(tmp_path: Path) -> None:
    state = tmp_path / "state"
    (state / "deep").mkdir(parents=True)
    (state / "deep" / "file").write_text("words")
    (state / "link").symlink_to("deep/file")
    os.mkfifo(state / "pipe")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(state / "s"))
    copy_state(state, tmp_path / "home")
    assert sorted(one.name for one in (tmp_path / "home").iterdir()) == ["deep", "link"]
    assert (tmp_path / "home" / "link").readlink() == Path("deep/file")
    with pytest.raises(UsageError, match="no state can be copied"):
        copy_state(tmp_path / "nowhere", tmp_path / "home2")


def test_conversations_are_left_out(tmp_path: Path) -> None:
    for name in ("state.db", "state.db-wal", "sessions/one.json", "cache/models.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("words")
    leave_out(tmp_path, ["state.db*", "sessions", "not-there", "cache/*.db"])
    assert sorted(str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*")) == ["cache", "cache/models.json"]


def test_each_version_and_set_of_platforms_has_its_own_state() -> None:
    profile = load_profile(SHIPPED / "toy.yaml")
    names = {
        state_name(profile, "1.0", ["telegram"], "/a"),
        state_name(profile, "1.1", ["telegram"], "/a"),
        state_name(profile, "1.0", ["telegram", "discord"], "/a"),
        state_name(profile, "1.0", ["telegram"], "/b"),
        state_name(profile.model_copy(update={"command": ("other",)}), "1.0", ["telegram"], "/a"),
    }
    assert len(names) == 5
    assert state_name(profile, "1.0", ["b", "a"], "") == state_name(profile, "1.0", ["a", "b"], "")


def test_the_first_conversation_is_a_scenario_on_every_platform() -> None:
    file = load_text(first_conversation(["telegram", "discord", "slack", "matrix"]))
    assert len(file.scenario.script) == 4
    assert {str(step.place).partition("/")[0] for step in file.scenario.script} == set(file.scenario.world.platforms)

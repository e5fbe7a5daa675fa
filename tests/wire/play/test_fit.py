"""What is not played on the wire is listed with its reason, and nothing else is left out."""

import pytest

from tests.wire.play.table import TABLE, fitting, shipped, table
from trunkline.core.errors import UsageError
from trunkline.sim.scenario import load_text
from trunkline.sim.wire.play.fit import LONGEST, unfit
from trunkline.sim.wire.play.run import run_on_wire

FILE = """
scenario: 1
title: one message
world: {{people: [ana], {world}}}
cast: {{agents: {{main: [{{do: [{{reply: "yes"}}]}}]}}}}
script:
  - {{at: 0s, as: ana, in: {place}, say: hello}}
  - {step}
"""


def reasons(
    world: str = "telegram: {rooms: [ops]}",
    step: str = "{at: 1s, note: nothing}",
    place: str = "ops",
    bugs: tuple[str, ...] = (),
) -> tuple[str, ...]:
    return tuple(one.reason for one in unfit(load_text(FILE.format(world=world, step=step, place=place)), bugs))


def test_a_plain_scenario_fits() -> None:
    assert reasons() == ()


@pytest.mark.parametrize(
    ("world", "names"),
    [
        ("telegram: {rooms: [ops], cannot: [edit]}", "telegram without edit"),
        ("telegram: {rooms: [ops], idempotency: key}", "telegram with idempotency keys"),
        ("slack: {rooms: [ops], accounts: {default: {idempotency: lookup}}}", "slack with a look-up"),
        ("discord: {rooms: [ops], idempotency: none}", "discord without idempotency keys"),
        ("discord: {rooms: [ops], key_seconds: 60}", "forgets after 60 s"),
        ("discord: {rooms: [ops], mode: hybrid}", "discord with the transport hybrid"),
        ("telegram: {rooms: [ops], stable_ids: false}", "new ids"),
        ("telegram: {rooms: [ops], misplaces: true}", "room of a deleted thread"),
        ("imessage: {rooms: [ops]}", "have no server"),
    ],
)
def test_a_setting_that_the_real_platform_does_not_have_is_named(world: str, names: str) -> None:
    (found,) = reasons(world)
    assert names in found


def test_a_platform_that_stays_in_memory_may_have_any_settings() -> None:
    assert reasons("telegram: {rooms: [ops]}, imessage: {cannot: [edit]}", place="telegram/ops") == ()


@pytest.mark.parametrize("setting", ["idempotency: key", "mode: direct"])
def test_a_setting_that_is_the_usual_one_may_be_written(setting: str) -> None:
    assert reasons(f"discord: {{rooms: [ops], {setting}}}") == ()


@pytest.mark.parametrize(
    ("step", "names"),
    [
        ("{at: 1s, fault: {on: ready, do: error}}", "not ready"),
        ("{at: 1s, rotate: {platform: telegram}}", "token"),
        (f"{{at: {LONGEST + 1:g}s, note: late}}", f"at most {LONGEST:g} s"),
    ],
)
def test_a_step_that_no_socket_can_show_is_named(step: str, names: str) -> None:
    (found,) = reasons(step=step)
    assert names in found


def test_a_reason_is_named_once() -> None:
    step = "{at: 1s, fault: {on: ready, do: error}}\n  - {at: 2s, fault: {on: ready, do: error}}"
    assert len(reasons(step=step)) == 1


def test_a_defect_of_the_adapters_in_memory_does_not_fit() -> None:
    (found,) = reasons(bugs=("stale-token",))
    assert "stale-token" in found
    assert reasons(bugs=("recovery-resends-blindly",)) == ()


def test_a_connection_breaks_only_where_there_is_one() -> None:
    step = "{at: 1s, fault: {on: connect, do: error}}"
    assert reasons(step=step) == ()
    (found,) = reasons("whatsapp: {rooms: [ops]}", step)
    assert "whatsapp" in found


@pytest.mark.parametrize(
    ("world", "media", "names"),
    [
        ("discord: {rooms: [ops]}", "https://files.example/a.png", "discord fetches it"),
        ("telegram: {rooms: [ops]}", "https://files.example/a.png", None),
        ("telegram: {rooms: [ops]}", "a.png", "there is none"),
        ("discord: {rooms: [ops]}", "data:text/plain,hello", None),
    ],
)
def test_a_file_that_an_adapter_would_read_or_fetch_is_named(world: str, media: str, names: str | None) -> None:
    found = reasons(world, f'{{at: 1s, send: {{to: ops, text: hello, media: ["{media}"]}}}}')
    assert [names is not None and names in one for one in found] == [True] * (names is not None)
    assert reasons(world, f'{{at: 1s, send: {{to: ops, text: hello, dry_run: true, media: ["{media}"]}}}}') == ()


@pytest.mark.parametrize(("platform", "count"), [("whatsapp", 1), ("telegram", 0)])
def test_a_poll_of_a_client_on_a_platform_without_polls_is_named(platform: str, count: int) -> None:
    world = f"{platform}: {{rooms: [ops]}}"
    assert len(reasons(world, '{at: 1s, send: {to: ops, poll: {question: "?", options: [a, b]}}}')) == count


def test_an_action_that_does_not_exist_is_for_the_gateway_to_refuse() -> None:
    text = FILE.format(world="telegram: {rooms: [ops]}", step="{at: 1s, note: x}", place="ops")
    file = load_text(text.replace("do: [", "do: [{act: {action: nonsense}}, "))
    assert unfit(file) == ()


def test_what_does_not_fit_is_not_played() -> None:
    file = load_text(
        FILE.format(world="telegram: {rooms: [ops], cannot: [edit]}", step="{at: 1s, note: x}", place="ops")
    )
    with pytest.raises(UsageError, match="not on the wire: telegram without edit"):
        run_on_wire(file)


@pytest.mark.parametrize("speed", [0.0, -1.0, 1e9])
def test_a_speed_out_of_range_is_refused(speed: float) -> None:
    with pytest.raises(UsageError, match="speed"):
        run_on_wire(fitting()[0], speed=speed)


def test_the_table_names_every_scenario_that_is_left_out() -> None:
    assert table() == TABLE.read_text(), "python -m tests.wire.play.table writes it"
    assert len(fitting()) + len(TABLE.read_text().splitlines()) == len(shipped())

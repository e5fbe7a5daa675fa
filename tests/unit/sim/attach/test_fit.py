"""What of a scenario cannot be attached: each reason, all at once, before anything starts."""

import re
from pathlib import Path

import pytest

from tests.attach.play.tries import HEAD, scenario, toy
from tests.support.for_each import for_each
from tests.support.paths import ATTACH_FILES, ROOT
from trunkline.sim import load_scenario
from trunkline.sim.attach.fit import attach_unfit
from trunkline.sim.attach.kill_points import KILLABLE
from trunkline.sim.attach.profile_files import SHIPPED, load_profile
from trunkline.sim.scenario.load import load_text

REPORT = re.compile(r"[\w.-]+/[\w.-]+#\d+")
SAY = 'at: 0s, as: ana, in: "telegram/@ana", say: hello'


def why(*steps: str, more: str = "", head: str = HEAD) -> tuple[str, ...]:
    return attach_unfit(scenario(*(steps or (SAY,)), more=more, head=head), toy())


def test_a_scenario_of_people_platforms_and_processes_fits() -> None:
    steps = (
        SAY,
        "at: 0s, crash: {when: {event: model.asked}}",
        "at: 0s, in: telegram/ops/deploy, delete: true",
        "at: 0s, fault: {on: model, do: error, status: 503}",
        "at: 0s, rotate: {platform: telegram, revoke: true}",
    )
    assert why(*steps, more="expect: {exercised: [X1], accepted: []}") == ()


@for_each(
    ("step", "reason"),
    [
        ("at: 0s, send: {text: hi, to: telegram/ops}", "`send`: a client of the gateway sends"),
        ("at: 0s, wake: {agent: main, text: hi}", "`wake`: a turn without a message"),
        ("at: 0s, reload: {}", "`reload`: its configuration is replaced"),
        ("at: 0s, in: telegram/ops, reset: true", "`reset`: one of its sessions is reset"),
        ("at: 0s, queue: {do: purge}", "`queue`: an operator changes its queue"),
        ("at: 0s, crash: {when: {event: turn.started}}", "a step waits for turn.started, which is recorded inside"),
        ("at: 0s, when: {event: intent.settled}, note: x", "a step waits for intent.settled, which is recorded"),
        ("at: 0s, crash: {when: {event: hand.began}}", "a step waits for hand.began, which is recorded inside"),
        ("at: 0s, when: {event: client.told}, note: x", "a step waits for client.told, which is recorded inside"),
        ("at: 0s, crash: {when: {event: run.ended}}", "a step waits for run.ended, which is recorded before the first"),
        ("at: 0s, restart: {when: {event: run.phase}}", "a step waits for run.phase, which is recorded before the"),
        (
            "at: 0s, freeze: {when: {event: script.skipped}}",
            "a step waits for script.skipped, which is recorded before",
        ),
        ("at: 0s, crash: {when: {event: gateway.attached}}", "a step waits for gateway.attached, which is recorded"),
        ("at: 0s, when: {event: world.place}, note: x", "a step waits for world.place, which is recorded before the"),
        ("at: 0s, fault: {on: act, do: refuse-connection}", "a connection that is refused to one change"),
        ("at: 0s, fault: {on: store, do: error}", "a fault of the store, which is inside a gateway"),
        ("at: 0s, fault: {on: ready, do: error}", "a fault of the readiness of an account"),
        ("at: 0s, fault: {on: send, do: refuse-connection}", "a connection that is refused to one send"),
        ("at: 0s, fault: {on: send, do: reset, attempt: 2}", "a fault for one attempt"),
        ("at: 0s, freeze: {process: second}", "a second process on one store"),
    ],
)
def test_a_step_inside_a_gateway_is_named(step: str, reason: str) -> None:
    found = why(step)
    assert len(found) == 1, found
    assert found[0].startswith(reason)


@for_each(
    ("more", "reason"),
    [
        ("gateway: {delivery: {max_attempts: 2}}", "`gateway` (delivery) is the configuration of Trunkline"),
        ("expect: {transcripts: [{in: telegram/ops, lines: []}]}", "`expect.transcripts` is inside a gateway"),
        ("expect: {events: [{kind: turn.ended}]}", "`expect.events`: turn.ended is recorded inside a gateway"),
        ("expect: {exercised: [D1, X1]}", "`expect.exercised`: D1 need the inside of a gateway"),
        ("attach: {needs: [streaming]}", "`attach.needs` streaming: the profile toy does not have it"),
        ("stored: {sessions: [{key: 'main:main', id: s1}]}", "`stored` has sessions of Trunkline"),
    ],
)
def test_a_part_inside_a_gateway_is_named(more: str, reason: str) -> None:
    found = why(more=more)
    assert len(found) == 1, found
    assert found[0].startswith(reason)


def test_a_cast_that_does_more_than_answer_is_named() -> None:
    head = HEAD.replace('{do: [{reply: "Done."}]}', "{when: {wake: true}, do: [{silent: true}]}")
    assert why(head=head) == (
        "a rule of the cast for turns with `wake`: such turns are inside a gateway",
        "the agent's action `silent`: the scripted model only answers",
        "a rule of the cast without a reply: a model that says nothing leaves a question open",
    )
    assert why(head=HEAD.replace('"Done."', '"{n}: {text}"')) == (
        "the slot {n} of a reply: the scripted model knows {text} and {peer}",
    )


def test_what_a_profile_cannot_do_is_named() -> None:
    profile = toy()
    plain = profile.platforms["telegram"].model_copy(update={"abilities": ()})
    without = profile.model_copy(update={"platforms": {"telegram": plain}})
    thread = scenario("at: 0s, as: ana, in: telegram/ops/deploy, say: hello")
    assert attach_unfit(thread, without) == (
        "threads on telegram: the profile toy does not have them; if the gateway answers in them, add "
        "`abilities: [threads]` to `platforms.telegram` of the profile",
    )
    discord_head = HEAD.replace("telegram: {", "discord: {")
    discord = scenario("at: 0s, as: ana, in: discord/ops, say: hi", head=discord_head)
    assert attach_unfit(discord, profile) == ("discord: the profile toy is for telegram",)
    needs = scenario(
        "at: 0s, as: ana, in: discord/ops, say: hi", head=discord_head, more="attach: {needs: [streaming]}"
    )
    assert attach_unfit(needs, profile) == (
        "discord: the profile toy is for telegram",
        "`attach.needs` streaming: the profile toy does not have it",
    )


def test_everything_is_named_at_once() -> None:
    assert len(why("at: 0s, wake: {agent: main, text: hi}", "at: 0s, second: true", more="gateway: {turns: {}}")) == 3


@pytest.mark.parametrize("profile", ["hermes", "openclaw", "trunkline", "toy"])
def test_the_shipped_scenarios_fit_the_shipped_profiles(profile: str) -> None:
    """The toy has Telegram only, and Hermes no streaming: nothing else is in the way."""
    loaded = load_profile(SHIPPED / f"{profile}.yaml")
    found = {path.stem: attach_unfit(load_scenario(path), loaded) for path in ATTACH_FILES}
    others = [name for name, reasons in found.items() if any("the profile" not in reason for reason in reasons)]
    assert others == []
    assert sum(not reasons for reasons in found.values()) >= 30


@for_each("path", ATTACH_FILES, ids=lambda path: path.stem)
def test_a_shipped_scenario_names_its_public_report_and_has_a_story(path: Path) -> None:
    scenario = load_scenario(path).scenario
    assert REPORT.fullmatch(scenario.source)
    assert scenario.story.strip().endswith(".") and "attach" in scenario.tags


def test_the_documented_scenario_is_valid_and_fits() -> None:
    page = (ROOT / "docs" / "attach" / "scenarios.md").read_text()
    file = load_text(page.partition("```yaml\n")[2].partition("```")[0], "documented.yaml")
    assert attach_unfit(file, toy()) == ()


def test_the_page_has_every_event_at_which_one_can_kill() -> None:
    page = (ROOT / "docs" / "attach" / "scenarios.md").read_text()
    rows = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert rows == list(KILLABLE)

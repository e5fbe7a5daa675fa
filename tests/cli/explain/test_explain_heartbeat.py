"""`trunkline explain heartbeat`: when, where, what people see, and the schedule; and wrong use."""

from typing import Any

import pytest

from tests.support.cli.explanations import explanation
from tests.support.paths import ROOT

EXAMPLE = ROOT / "docs/examples/heartbeat.yaml"
NOON, NIGHT = "2026-11-23T12:30+01:00", "2026-11-23T20:30+01:00"


@pytest.fixture
def ask(trunkline, tmp_path):
    def asked(config: str | None, *options: str) -> dict[str, Any]:
        path = EXAMPLE
        if config is not None:
            path = tmp_path / "gateway.yaml"
            path.write_text(config)
        return explanation(trunkline, "heartbeat", "--config", path, *options)

    return asked


def test_a_run_in_the_active_hours(ask) -> None:
    answer = ask(None, "--agent", "watch", "--at", NOON)
    assert (answer["runs"], answer["reason"], answer["every"]) == (True, None, 3600.0)
    assert [one - answer["at"] for one in answer["next"]] == [1800.0, 5400.0, 9000.0]
    assert answer["target"] == {
        "channel": "telegram",
        "to": "-1001",
        "account": None,
        "reason": None,
        "sender": "-1001",
    }
    assert answer["shows"] == {"ok": False, "alerts": True, "indicator": True}
    assert [(one["id"], one["wake"]) for one in answer["schedule"]] == [("report", None), ("backup", "next-heartbeat")]


def test_a_night_is_slept_through(ask) -> None:
    answer = ask(None, "--agent", "watch", "--at", NIGHT)
    assert (answer["runs"], answer["reason"]) == (False, "quiet-hours")
    assert [one["guard"] for one in answer["guards"]] == ["enabled", "active-hours"]
    # From half past eight in the evening to eight in the morning.
    assert answer["next"][0] - answer["at"] == 11.5 * 3600


def test_an_agent_without_a_heartbeat_has_its_reason(ask) -> None:
    answer = ask(None, "--agent", "main", "--at", NOON)
    assert (answer["runs"], answer["reason"], answer["every"], answer["next"]) == (False, "disabled", None, [])


def test_the_last_place_of_the_session_is_a_part_of_the_question(ask) -> None:
    config = "heartbeat: {target: last}\nchannels: {telegram: {heartbeat: {show_ok: true}}}\n"
    nowhere = ask(config, "--at", NOON)
    assert (nowhere["reason"], nowhere["target"]["reason"]) == ("no-route", "no-route")
    answer = ask(config, "--at", NOON, "--last", "telegram:-100")
    assert answer["runs"]
    assert (answer["target"]["to"], answer["shows"]["ok"]) == ("-100", True)


def test_a_file_is_not_read_and_a_text_is(ask) -> None:
    answer = ask("heartbeat: {target: none, file: HEARTBEAT.md}", "--at", NOON)
    assert answer["runs"]
    assert answer["notes"] == [
        "HEARTBEAT.md is read before each run, and not here; if it holds nothing to do, the run is skipped"
    ]
    assert ask("heartbeat: {target: none, text: '# T'}", "--at", NOON)["reason"] == "empty-heartbeat-file"


def test_the_lines_are_for_people(trunkline) -> None:
    code, out, err = trunkline("explain", "heartbeat", "--config", EXAMPLE, "--agent", "watch", "--at", NIGHT)
    assert (code, err) == (0, "")
    for line in (
        "every     1h",
        "hours     08:00 to 20:00, user",
        "          ✗ active-hours  quiet-hours: It is outside of the active hours.",
        "next      2026-11-24T08:00:00+01:00 Europe/Zurich",
        "schedule  report: 0 9 * * MON-FRI, starts a turn, next 2026-11-24T09:00:00+01:00 Europe/Zurich",
        "          backup: every 6h, a text for the next heartbeat, next 2026-11-24T02:30:00+01:00 Europe/Zurich",
    ):
        assert line in out.splitlines()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--at", "noon"), "--at 'noon' is no time: write 2026-11-23T09:00, or 2026-11-23T09:00+01:00"),
        (("--agent", "nobody"), "no agent 'nobody'; there are: main, watch"),
        (("--last", "telegram"), "--last 'telegram': write <channel>:<target>"),
    ],
)
def test_wrong_use_is_an_error_with_its_remedy(trunkline, options: tuple[str, ...], says: str) -> None:
    code, out, err = trunkline("explain", "heartbeat", "--config", EXAMPLE, *options)
    assert (code, out) == (2, "")
    assert says in err


def test_an_invalid_configuration_is_refused(trunkline, tmp_path) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text("cron:\n  - {id: a, cron: 0 0 30 2 *, text: x}\n")
    code, out, err = trunkline("explain", "heartbeat", "--config", path)
    assert (code, out) == (2, "")
    assert "cron[0].cron: '0 0 30 2 *' never fires" in err

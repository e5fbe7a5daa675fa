"""`trunkline import openclaw`: what it prints, writes and refuses."""

import json
from pathlib import Path

import pytest

from tests.attach.openclaw.states import change, footprint, old_entry, queue_row, real_state, write_json
from trunkline.app.cli.import_ import openclaw
from trunkline.app.imports.openclaw.reading import read_state
from trunkline.app.report.openclaw_state import state_json, state_markdown, state_text
from trunkline.core.errors import UsageError

#: put together here, so that no tool takes them for real ones
TOKENS = (
    "700000001:" + "AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
    "xoxb-" + "17653672481-19874698323-pdFZKVeTuE8sk7oOcBrzbqgy",
    "xapp-" + "1-A0123456-1234567890-abcdef",
    "syt_" + "b3BlbmNsYXc_abcdefghijklmnop_1AbCdE",
    "MTk4NjIyNDgzNDcxOTI1MjQ4" + ".Cl2FMQ." + "ZnCjm1XVW7vRze4b7Cq4se7kKWs",
    "sk-" + "proj-abcdefghijklmnopqrstuv",
)


@pytest.mark.parametrize("token", TOKENS, ids=["telegram", "slack", "slack-app", "matrix", "discord", "model"])
def test_no_token_is_shown(tmp_path: Path, token: str) -> None:
    folder = real_state("killed-when-accepted", tmp_path)
    queue_row(
        folder,
        "leaky",
        old_entry(payloads=[{"text": f"use {token} please"}]),
        last_error=f"POST https://example.org/{'bot' if ':' in token else ''}{token}/sendMessage failed",
    )
    state = read_state(folder)

    for text in ("\n".join(state_text(state)), state_markdown(state), state_json(state)):
        assert token not in text
        assert "[redacted]" in text


def test_texts_of_strangers_control_no_terminal_and_no_page(tmp_path: Path) -> None:
    folder = real_state("killed-when-accepted", tmp_path)
    queue_row(
        folder,
        "e\x1b[2J",
        old_entry(payloads=[{"text": "\x1b]0;x\x07 `<b>` \u202e" + "long " * 100}]),
        channel="\x9b31m",
    )
    change(folder, "UPDATE schema_meta SET app_version = '\x1b[31m9'")
    state = read_state(folder)

    lines = state_text(state)

    assert all(line.isprintable() for line in lines)
    assert max(len(line) for line in lines) < 320
    page = state_markdown(state)
    assert "\x1b" not in page and "\u202e" not in page
    assert json.loads(state_json(state))["gateway"] == "openclaw"


def test_it_prints_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = real_state("killed-when-accepted", tmp_path)
    before = footprint(folder)

    assert openclaw(folder) == 0

    assert capsys.readouterr().out == (
        f"{folder}, last written by OpenClaw 2026.9.6\n"
        "1 session, 1 entry in the delivery queue, 0 messages of people not dealt with\n"
        "\n"
        "In doubt (1): whether the platform has these is not known\n"
        "  9dc9d364-e559-4426-92df-90ad491ac509 to telegram:970312941: “Done. AZm1-g1”, send_attempt_started, "
        "since 2026-11-23 12:47:06Z, session agent:main:main\n"
        "\n"
        "Answers that may not have arrived (1): the sessions know it\n"
        "  agent:main:main to telegram:970312941: “Done. AZm1-g1”, queued\n"
        "\n"
        "After a restart (1): what OpenClaw 2026.9.6 does then\n"
        "  9dc9d364-e559-4426-92df-90ad491ac509 is not sent again, and closed as failed, "
        "not before 2026-11-23 12:48:06Z: telegram:970312941 “Done. AZm1-g1”\n"
    )
    assert footprint(folder) == before


def test_json_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = real_state("topic-deleted", tmp_path)

    assert openclaw(folder, json=True) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["trunkline_import"] == 1
    assert document["findings"]["dead"] == ["998958ef-fa64-4887-8367-c5f269d36988"]
    assert document["findings"]["owed"] == ["agent:main:telegram:group:-1003540094308:topic:161"]
    assert document["state"]["sessions"][0]["places"] == [
        {"channel": "telegram", "target": "telegram:-1003540094308:topic:161", "account": "default", "thread": "161"}
    ]


def test_nothing_noteworthy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_json(tmp_path / "agents" / "main" / "sessions" / "sessions.json", {})

    assert openclaw(tmp_path) == 0

    assert "Nothing is noteworthy" in capsys.readouterr().out


def test_the_report_is_written_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = real_state("topic-deleted", tmp_path / "state-folder")
    before = footprint(folder)

    assert openclaw(folder, report=tmp_path / "new" / "report") == 0

    assert "written: " in capsys.readouterr().out
    page = (tmp_path / "new" / "report" / "openclaw-state.md").read_text(encoding="utf-8")
    assert "## Dead letters (1)" in page
    assert json.loads((tmp_path / "new" / "report" / "openclaw-state.json").read_text(encoding="utf-8"))
    for inside in (folder, folder / "report", folder / ".." / folder.name / "state"):
        with pytest.raises(UsageError, match="nothing is written"):
            openclaw(folder, report=inside)
    assert footprint(folder) == before


def test_what_was_not_read_is_an_exit_code(tmp_path: Path) -> None:
    folder = real_state("topic-deleted", tmp_path)
    queue_row(folder, "bad", "{")

    assert openclaw(folder) == 1

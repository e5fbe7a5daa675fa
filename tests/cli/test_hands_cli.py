"""`trunkline hands`: what operators see of delegations and do to them, and workers on the command line."""

import contextlib
import io
import json
import sqlite3
from pathlib import Path

import pytest

from tests.support.factories import delegation, direct, intent, session, work
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandKind, HandResult
from trunkline.core.records.origin import Origin
from trunkline.core.records.rows import CallbackFacts
from trunkline.core.states.delegation import CallbackEvent, HandOutcome
from trunkline.core.store.commands import Admit, FinishTurn
from trunkline.core.store.delegations import AcceptDelegation, FinishDelegation, ReadPosts
from trunkline.core.store.sqlite.handlers import ask, execute
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.values import DelegationId, InboundId, Peer, TurnId, WorkKind

BORN, NOW = 1_700_000_000.0, 1_700_000_000.0 + 3600
ORIGIN = Origin(
    agent="main",
    session_key="main:discord:default:direct:100",
    inbound=InboundId("m1"),
    turn=TurnId("t-m1"),
    place=direct(),
    asked_by=Peer(id="100", name="Ana\x1b[31m"),
    message_id="m1",
)


@pytest.fixture(autouse=True)
def _now(monkeypatch):
    monkeypatch.setattr("trunkline.app.operators.store_file.time.time", lambda: NOW)


@contextlib.contextmanager
def writing(path: Path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        yield raw


def end(raw, name, *intents, text="found 3", event=CallbackEvent.FAIL, reason: Reason | None = Reason.AGENT_RAISED):
    """A delegation whose result has come back, and whose callback turn has ended."""
    facts = CallbackFacts(delegation=DelegationId(name), hand="clerk", outcome=HandOutcome.OK)
    back = work(f"{name}.back", kind=WorkKind.CALLBACK, callback=facts, text=text)
    admit = Admit(work=back, identity=f"callback/{name}", session=session(), now=BORN + 20)
    result = HandResult(outcome=HandOutcome.OK, text=text)
    execute(
        raw, FinishDelegation(delegation=DelegationId(name), result=result, callback=admit, intents=[], now=BORN + 20)
    )
    turn = FinishTurn(work=back, intents=intents, now=BORN + 30, callback=event, callback_reason=reason)
    execute(raw, turn)


@pytest.fixture
def store(tmp_path):
    """A function that runs, a worker's task, and a report that failed."""
    path = tmp_path / "store #1.db"
    with writing(path) as raw:
        raw.execute("PRAGMA journal_mode=WAL")
        migrate(raw)
        rows = [
            delegation("d1", accepted_at=BORN, task="count\x1b[31m", origin=ORIGIN),
            delegation(
                "d2", accepted_at=BORN + 60, kind=HandKind.WORKER, hand="smith", label="the mail", max_result=50
            ),
            delegation("d3", accepted_at=BORN + 120, agent="ops", parent=DelegationId("d1"), depth=2),
        ]
        for row in rows:
            execute(raw, AcceptDelegation(row=row))
        end(raw, "d3")
    return path


def posts(path):
    with writing(path) as raw:
        return [(one.verb.value, one.delegation, one.text, one.by) for one in ask(raw, ReadPosts())]


def test_a_list_counts_both_columns_and_has_a_line_for_each(trunkline, store):
    code, out, err = trunkline("hands", "list", "--store", store)
    assert (code, err) == (0, "")
    totals, reports, heads, *lines = out.splitlines()
    assert totals == "3 delegations: 2 accepted, 1 succeeded"
    assert reports == "reports: 2 waiting, 1 undeliverable"
    assert heads.split() == ["work", "report", "age", "hand", "agent", "reason", "id", "task"]
    assert [line.split()[:2] for line in lines] == [
        ["succeeded", "undeliverable"],
        ["accepted", "waiting"],
        ["accepted", "waiting"],
    ]
    assert "smith (worker)" in lines[1]
    assert "“the mail”" in lines[1]
    assert "agent-raised" in lines[0]
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--state", "succeeded"], ["d3"]),
        (["--state", "succeeded", "--state", "accepted"], ["d3", "d2", "d1"]),
        (["--callback", "waiting"], ["d2", "d1"]),
        (["--hand", "smith"], ["d2"]),
        (["--agent", "ops"], ["d3"]),
        (["--agent", "nobody"], []),
        (["--limit", "1"], ["d3"]),
        (["--before", "d2"], ["d1"]),
    ],
)
def test_filters_choose(options, found, trunkline, store):
    code, out, _ = trunkline("hands", "list", "--store", store, "--json", *options)
    document = json.loads(out)
    assert (code, [one["id"] for one in document["delegations"]]) == (0, found)
    assert (document["trunkline_hands"], document["total"]) == (1, 3)
    assert document["more"] == (2 if "--limit" in options else 0)


def test_a_row_that_cannot_be_read_is_listed_and_stops_no_other(trunkline, store):
    with writing(store) as raw:
        raw.execute("UPDATE delegations SET reply_to = '{' WHERE id = 'd2'")
    code, out, _ = trunkline("hands", "list", "--store", store)
    assert code == 0
    assert [line.split()[3] for line in out.splitlines() if line.startswith("cannot be read")] == ["d2"]
    code, out, _ = trunkline("hands", "show", "d2", "--store", store)
    assert code == 0
    assert "broken" in out


def test_one_delegation_is_shown_with_everything(trunkline, store):
    with writing(store) as raw:
        late = HandResult(outcome=HandOutcome.ERROR, text="late")
        execute(
            raw, FinishDelegation(delegation=DelegationId("d3"), result=late, callback=None, intents=[], now=BORN + 50)
        )
    code, out, _ = trunkline("hands", "show", "d3", "--store", store)
    facts = dict(line.split(maxsplit=1) for line in out.splitlines() if len(line.split()) > 1 and line[0] != " ")
    assert code == 0
    assert (facts["work"], facts["report"], facts["outcome"], facts["result"]) == (
        "succeeded",
        "undeliverable",
        "ok",
        "“found 3”",
    )
    assert "m1 -> t-m1 -> d3" in facts["chain"]
    assert "d1 (depth 2)" in facts["above"]
    assert "too late" in out
    assert "trunkline hands retry-callback d3 --store" in out
    code, out, _ = trunkline("hands", "show", "d1", "--store", store)
    assert "asked by" in out
    assert "Ana" in out
    assert "below" in out
    assert "trunkline hands cancel d1" in out
    assert "\x1b" not in out


def test_machines_see_one_delegation_with_everything(trunkline, store):
    code, out, _ = trunkline("hands", "show", "d3", "--store", store, "--json")
    document = json.loads(out)
    assert code == 0
    one = document["delegation"]
    assert (one["state"], one["callback"], one["reason"], one["result"]) == (
        "succeeded",
        "undeliverable",
        "agent-raised",
        "found 3",
    )
    assert (one["result_whole"], document["children"], document["late_results"]) == (True, [], [])
    assert [line.split()[2] for line in document["can"]] == ["retry-callback", "discard"]
    _, out, _ = trunkline("hands", "show", "d1", "--store", store, "--json")
    document = json.loads(out)
    assert document["children"] == ["d3"]
    assert document["delegation"]["origin"]["asked_by"]["id"] == "100"


def test_messages_of_the_report_are_shown(trunkline, store):
    with writing(store) as raw:
        execute(raw, AcceptDelegation(row=delegation("d4", accepted_at=BORN + 180)))
        row = intent("d4.back.reply", delegation=DelegationId("d4"))
        end(raw, "d4", row, event=CallbackEvent.ENQUEUE, reason=None)
    _, out, _ = trunkline("hands", "show", "d4", "--store", store)
    assert "d4.back.reply: prepared" in out


@pytest.mark.parametrize(("verb", "name"), [("cancel", "d1"), ("retry-callback", "d3"), ("discard", "d3")])
def test_decisions_are_left_for_the_gateway(verb, name, trunkline, store):
    code, out, err = trunkline("hands", verb, name, "--store", store)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"{name}: {verb} is left for the gateway",
        "no gateway holds this store: the next one that starts picks it up",
    ]
    assert posts(store) == [(verb, name, "", "operator")]
    _, out, _ = trunkline("hands", verb, name, "--store", store, "--json")
    answer = {"trunkline_hands": 1, "verb": verb, "delegation": name, "first": None, "holder": None}
    assert json.loads(out) == answer


@pytest.mark.parametrize(("verb", "name"), [("cancel", "d3"), ("retry-callback", "d1"), ("discard", "d1")])
def test_what_the_states_do_not_allow_changes_nothing(verb, name, trunkline, store):
    code, out, err = trunkline("hands", verb, name, "--store", store)
    assert (code, out) == (1, "")
    assert err.rstrip().endswith("nothing was changed")
    assert posts(store) == []


def test_a_wrong_id_names_near_ones(trunkline, store):
    for verb in ("show", "cancel", "retry-callback", "discard"):
        code, _, err = trunkline("hands", verb, "3", "--store", store)
        assert code == 2
        assert "no delegation '3'; did you mean d3?" in err
    assert posts(store) == []


def test_a_worker_takes_reports_and_answers(trunkline, store, monkeypatch):
    code, out, _ = trunkline("hands", "take", "smith", "--store", store, "--as", "lou", "--json")
    task = json.loads(out)["task"]
    assert (code, task["delegation"], task["task"], task["label"]) == (0, "d2", "count", "the mail")
    common = ["--store", store, "--ticket", task["ticket"], "--as", "lou"]
    assert trunkline("hands", "progress", "d2", "half", *common)[0] == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("all of it\n"))
    assert trunkline("hands", "answer", "d2", "-", *common)[0] == 0
    code, out, _ = trunkline("hands", "answer", "d2", "again", "--failed", *common)
    assert code == 0
    assert "it has a result already; this one is kept, and not reported" in out
    assert posts(store) == [
        ("taken", "d2", "", "lou"),
        ("progress", "d2", "half", "lou"),
        ("answer", "d2", "all of it\n", "lou"),
        ("answer", "d2", "again", "lou"),
    ]
    _, out, _ = trunkline("hands", "show", "d2", "--store", store)
    lines = [line.strip() for line in out.splitlines() if "(the gateway has not picked it up)" in line]
    assert [line.partition(", 2023")[0] for line in lines] == [
        "left        progress by lou",
        "answer, ok by lou",
        "answer, error by lou",
    ]
    assert "“half”" in lines[0] and "“all of it" in lines[1]
    code, out, _ = trunkline("hands", "show", "d2", "--store", store, "--json")
    left = json.loads(out)["left"]
    assert [(one["verb"], one["outcome"], one["text"]) for one in left] == [
        ("progress", None, "half"),
        ("answer", "ok", "all of it\n"),
        ("answer", "error", "again"),
    ]
    assert task["ticket"] not in out
    assert json.loads(trunkline("hands", "show", "d1", "--store", store, "--json")[1])["left"] == []
    code, out, err = trunkline("hands", "take", "smith", "--store", store)
    assert (code, out) == (1, "")
    assert "no task waits for smith" in err
    code, out, _ = trunkline("hands", "take", "smith", "--store", store, "--json")
    assert (code, json.loads(out)["task"]) == (1, None)


def test_a_task_is_printed_with_its_ticket(trunkline, store):
    code, out, _ = trunkline("hands", "take", "smith", "--store", store)
    assert code == 0
    first, *_, last = out.splitlines()
    assert first.startswith("d2  ticket ")
    assert last == "“count”"


@pytest.mark.parametrize("text", ["-", "said"])
@pytest.mark.parametrize("where", ["environment", "standard input"])
def test_a_ticket_need_not_be_an_argument(where, text, trunkline, store, monkeypatch):
    _, out, _ = trunkline("hands", "take", "smith", "--store", store, "--json")
    ticket = json.loads(out)["task"]["ticket"]
    said = "all\nof it\n" if text == "-" else text
    arguments = ["hands", "answer", "d2", text, "--store", store]
    if where == "environment":
        assert trunkline(*arguments)[0] == 2
        monkeypatch.setenv("TRUNKLINE_TICKET", ticket)
        monkeypatch.setattr("sys.stdin", io.StringIO(said))
    else:
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{ticket}\n{said}"))
        arguments += ["--ticket", "-"]
    assert trunkline(*arguments)[0] == 0
    assert posts(store)[-1][:3] == ("answer", "d2", said)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["answer", "d2", "three", "--ticket", "wrong"], "the ticket is not that of the worker that took it"),
        (["progress", "d2", "half", "--ticket", "wrong"], "the ticket is not that of the worker that took it"),
        (["answer", "d1", "three", "--ticket", "wrong"], "its hand is no worker"),
    ],
)
def test_answers_that_do_not_fit_are_refused(arguments, why, trunkline, store):
    trunkline("hands", "take", "smith", "--store", store)
    code, out, err = trunkline("hands", *arguments, "--store", store)
    assert (code, out) == (1, "")
    assert why in err
    assert [post[0] for post in posts(store)] == ["taken"]


def test_an_answer_that_is_too_long_is_refused(trunkline, store):
    _, out, _ = trunkline("hands", "take", "smith", "--store", store, "--json")
    ticket = json.loads(out)["task"]["ticket"]
    code, _, err = trunkline("hands", "answer", "d2", "x" * 51, "--store", store, "--ticket", ticket)
    assert code == 1
    assert "51 characters, and 50 are allowed" in err


def test_a_file_that_is_no_store_is_wrong_usage(trunkline, tmp_path):
    (tmp_path / "text.db").write_text("no database")
    for arguments in (["list"], ["show", "d1"], ["cancel", "d1"], ["take", "smith"]):
        for name in ("text.db", "nowhere.db"):
            code, out, _ = trunkline("hands", *arguments, "--store", tmp_path / name)
            assert (code, out) == (2, "")
    assert not (tmp_path / "nowhere.db").exists()


def test_limits_are_checked(trunkline, store):
    assert trunkline("hands", "list", "--store", store, "--limit", "0")[0] == 2

"""Bad scenario files: each says where it is wrong, what was expected and what was found.

Each file of `tests/fixtures/scenarios_bad` ends with the errors that it must give, as comments, all of them in order.
"""

import pickle
from pathlib import Path

import pytest

from tests.support.for_each import for_each
from tests.support.paths import FIXTURES
from trunkline.core.errors import UsageError
from trunkline.sim.scenario import ScenarioError, load_scenario, load_text
from trunkline.sim.scenario.names import Names

BAD = FIXTURES / "scenarios_bad"
MARK = "# error: "
BUGS = {"double-reply", "lost-ack"}
INVARIANTS = {"D1", "D2", "R3"}


def refused(path: str | Path) -> ScenarioError:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path, names=Names(bugs=BUGS, invariants=INVARIANTS))
    return caught.value


def refused_text(text: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        load_text(text, "x.yaml")
    return str(caught.value).splitlines()


@for_each("name", [path.stem for path in sorted(BAD.glob("*.yaml"))])
def test_a_bad_file_gives_exactly_these_errors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(BAD)
    file = f"{name}.yaml"
    expected = [line[len(MARK) :] for line in Path(file).read_text().splitlines() if line.startswith(MARK)]
    assert expected
    assert str(refused(file)).splitlines() == [f"{file}:{line}" for line in expected]


def test_the_error_carries_its_problems_and_is_a_usage_error() -> None:
    error = refused(BAD / "unknown_event.yaml")
    assert isinstance(error, UsageError)
    first = error.problems[0]
    assert (first.path, first.line, first.column) == (str(BAD / "unknown_event.yaml"), 17, 19)
    assert first.field == "expect.events[0].kind"
    assert first.message == "expected a kind of event, found 'wire.acepted'"
    assert first.hint == "nearest valid word: 'wire.accepted'"
    assert [problem.column for problem in error.problems] == [19, 41, 57]


def test_the_error_can_cross_processes() -> None:
    error = refused(BAD / "unknown_event.yaml")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_all_problems_of_a_file_are_reported_in_order_of_place() -> None:
    text = (BAD / "unknown_event.yaml").read_text()
    text = (
        text.replace("as: otto", "as: ottto").replace("title: A keeper", "titel: A keeper").replace("5s", "5 parsecs")
    )
    problems = refused_text(text)
    assert [line.split(": ")[1] for line in problems] == [
        "title",
        "titel",
        "script[1].at",
        "script[1].as",
        "expect.events[0].kind",
        "expect.events[0].reason",
        "expect.events[0].state",
    ]


def test_ten_megabytes_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_bytes(b"# filler\n" * (10 * 1024 * 1024 // 9))
    size = path.stat().st_size
    assert str(refused(path)) == f"{path}: the file is too large: {size} bytes, the limit is 1 MiB (1048576 bytes)"


def test_what_is_not_utf8_is_reported_by_its_byte(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes("scenario: 1\ntitle: Möwe\n".encode("latin-1"))
    expected = "expected UTF-8 text, found the byte 0xf6 at byte position 20 (save the file as UTF-8)"
    assert str(refused(path)) == f"{path}:2:9: {expected}"


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    assert str(refused(tmp_path)) == f"{tmp_path}: expected a scenario file, found a directory"


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    assert str(refused(path)) == f"{path}: cannot be read: No such file or directory"


@pytest.mark.parametrize("path", ["/dev/zero", "a\0b"])
def test_a_strange_path_is_reported(path: str) -> None:
    assert len(refused(path).problems) == 1


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_deep_nesting_is_refused(opening: str) -> None:
    assert refused_text(opening * 20_000)[0].endswith(": nested too deeply: the limit is 50")


@pytest.mark.parametrize("char", ["\x07", "\ud800", "\ufffe"])
def test_characters_that_no_file_holds_are_reported(char: str) -> None:
    assert refused_text(f"scenario: 1\ntitle: a{char}\n") == [
        f"x.yaml:2:9: not YAML: the character U+{ord(char):04X} cannot stand in a text file"
    ]


def test_a_file_that_is_wrong_throughout_is_not_read_on() -> None:
    problems = refused_text("script:\n" + "  - {say: x}\n" * 5000)
    assert len(problems) == 501
    assert "x.yaml: only the first 500 problems are listed" in problems[-1]


def test_an_invariant_that_is_part_of_another_one_now_names_it() -> None:
    text = (BAD / "unknown_bug.yaml").read_text().replace("D77", "D6").replace("bugs: [double-replay]", "bugs: []")
    with pytest.raises(ScenarioError) as caught:
        load_text(text, "x.yaml", names=Names(bugs=BUGS, invariants=INVARIANTS))
    assert "expected an invariant, found 'D6' (D4 judges its promise now)" in str(caught.value)


def test_names_of_bugs_and_invariants_are_free_where_none_are_known() -> None:
    text = (BAD / "unknown_bug.yaml").read_text()
    assert load_text(text).scenario.bugs == ("double-replay",)


@for_each(
    ("section", "error"),
    [
        ("session: {dm_scope: main, dmScope: main}", "gateway.session.dmScope: this is the field `dm_scope` again"),
        ("agents: [{id: main}, {id: main}]", "gateway.agents[1].id: two agents are called 'main'"),
        ("agents: [{id: main, default: maybe}]", "gateway.agents[0].default: expected true or false, found 'maybe'"),
        ("agents: []", "gateway: agents: there are none; the profile trunkline needs at least one"),
        ("channels: {discrod: {}}", "gateway.channels.discrod: expected a known channel, found 'discrod'"),
        ("hands: {each: {clerk: {}}}", "gateway.hands.each.clerk: expected a hand of the cast, found 'clerk'"),
        ("delivery: {lanes: 0}", "gateway.delivery.lanes: expected more than 0, found the number 0"),
        ("delivery: {max_age: -1}", "gateway.delivery.max_age: a time cannot be negative, found the number -1"),
        (
            "delivery: {max_age: }",
            "gateway.delivery.max_age: expected a time such as 5s, 250ms or 1m30s, found nothing",
        ),
    ],
)
def test_a_bad_gateway_section(section: str, error: str) -> None:
    text = (BAD / "unknown_bug.yaml").read_text() + f"gateway:\n  {section}\n"
    assert [line for line in refused_text(text) if error in line]


@for_each(
    ("old", "new", "error"),
    [
        ("otto]", "p2]\n  crowd: 3", "world.people.p2: 'p2' is one of the crowd of 3 already (choose another name)"),
        ("lobby: {}", "lobby: {accounts: [rely]}", "accounts[0]: expected an account of discord, found 'rely'"),
        ("in: ops, say", "in: /ops, say", "expected platform/room, platform/room/thread or platform/@person"),
        (
            "in: ops, say",
            "in: discord/ops/a/b, say",
            "expected platform/room, platform/room/thread or platform/@person",
        ),
        ("in: ops, say", "in: discord/@mona, say", "no person 'mona' there (nearest: discord/@mina)"),
        ("in: ops, say", 'in: "discord:two/ops", say', "expected an account of discord, found 'two'"),
        ("say: it is}", "say: it is, id: [a]}", "script[1].id: expected text, found a list"),
        ("  - {at: 5s", "  - archive: true\n  - {at: 5s", "`archive` needs `in`: the thread"),
        ("  - {at: 5s", "  - crash: 5\n  - {at: 5s", "script[1].crash: expected a mapping, found the number 5"),
        (
            "  - {at: 5s",
            "  - {fault: {on: store, do: drop}}\n  - {at: 5s",
            "expected `error` or `write-error` for store, found 'drop'",
        ),
        (
            "  - {at: 5s",
            "  - reply: x\n  - {at: 5s",
            "(nearest valid word: 'replay'; this field belongs in cast.agents.<name>[].do[])",
        ),
        ("at: 5s", "at: " + "9" * 400 + "d", "script[1].at: the time is too long"),
        ("script:", "  hands: {clerk: {result: a, fails: b}}\nscript:", "expected `result` or `fails`, found both"),
        ("{text}", "{text}}", "expected a template, found a lone } (write }} for a brace)"),
    ],
)
def test_more_that_can_be_wrong(old: str, new: str, error: str) -> None:
    text = (BAD / "unknown_bug.yaml").read_text()
    assert old in text
    assert [line for line in refused_text(text.replace(old, new, 1)) if error in line]

"""Good scenario files: what is read, under which ids, at which times, and where it stands."""

import contextlib
import hashlib
import string
import subprocess
import sys

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.for_each import for_each
from tests.support.paths import FIXTURES
from trunkline.core.config.files.problems import FileError, ProblemReport
from trunkline.core.config.files.yaml_reader import parse
from trunkline.sim.scenario import ScenarioError, load_scenario, load_text

GOOD = FIXTURES / "scenarios_good" / "harbour.yaml"


@pytest.fixture(scope="module")
def text() -> str:
    return GOOD.read_text(encoding="utf-8")


def value_of(plain: str) -> object:
    return parse(f"a: {plain}\n", ProblemReport("x.yaml"), begin="")["a"]  # type: ignore[index]


def test_a_file_is_read() -> None:
    file = load_scenario(GOOD)
    assert file.path == GOOD
    assert file.id == "harbour"
    assert file.sha256 == hashlib.sha256(GOOD.read_bytes()).hexdigest()
    assert file.scenario.seed == 7
    assert list(file.scenario.world.people) == ["mina", "otto"]
    assert list(file.scenario.world.platforms["discord"].rooms["ops"].threads) == ["deploy", "night-shift"]
    assert file.scenario.gateway.session.dm_scope == "per-peer"
    assert file.scenario.gateway.hands.of("clerk").deadline == 90


def test_says_have_ids_and_steps_have_times() -> None:
    file = load_scenario(str(GOOD))
    assert file.say_ids == ("m1", "hi", "m3", "m4")
    assert file.times == (1.0, 1.5, 3.0, 3.0, 20.0, 21.0, 22.0, 22.0, 60.0, 70.0, 70.0)
    assert len(file.times) == len(file.scenario.script)


def test_short_forms_mean_the_usual_settings() -> None:
    scenario = load_scenario(GOOD).scenario
    assert scenario.world.platforms["discord"].rooms["lobby"].threads == {}
    assert len(scenario.cast.hands["clerk"]) == 1
    assert scenario.script[7].restart is not None
    assert scenario.script[7].restart.down == 1.0


def test_lines_of_values_are_known(text: str) -> None:
    file = load_text(text)
    lines = text.splitlines()

    def line(*path: str | int) -> str:
        number = file.line_of(path)
        assert number is not None
        return lines[number - 1]

    assert 'text: "clerk: *"' in line("expect", "accepted", 1)
    assert "people: [mina, otto]" in line("world", "people", "otto")
    assert "clerk: {takes: 30s" in line("cast", "hands", "clerk", 0, "takes")
    assert "dmScope" in line("gateway", "session", "dm_scope")
    assert file.line_of(("expect", "accepted", 9)) is None
    assert file.line_of(("nowhere",)) is None


def test_threads_that_will_be_opened_are_named_after_the_message(text: str) -> None:
    assert load_text(text).resolve("lobby/m3").key == "discord:default/lobby/m3"
    with pytest.raises(ScenarioError, match="found 'lobby/m3'"):
        load_text(text.replace("auto_thread: true", "auto_thread: false"))


def test_the_same_text_gives_the_same_file(text: str) -> None:
    assert (
        load_text(text).scenario
        == load_text("\ufeff" + text).scenario
        == load_text(text.replace("\n", "\r\n")).scenario
    )


def test_the_pure_parser_reads_the_same(text: str) -> None:
    fast, pure = ProblemReport("x.yaml"), ProblemReport("x.yaml")
    assert parse(text, fast, begin="") == parse(text, pure, begin="", loader=yaml.SafeLoader)
    assert fast.positions.values == pure.positions.values
    assert fast.positions.keys == pure.positions.keys


@for_each(
    ("broken", "error"),
    [
        ("a: @b", "x.yaml:1:4: not YAML: a plain text cannot begin with @ (put the text in quotes)"),
        ("a: *", "x.yaml:1:4: not YAML: a plain text cannot begin with *, & or ! (put the text in quotes)"),
        ("a:\n\tb: c", "x.yaml:2:1: not YAML: found a tab (indent with spaces)"),
        ("a: 'b\n", "x.yaml:1:4: not YAML: the quote that begins here never ends (close it)"),
        ("a: b: c", "x.yaml:1:5: not YAML: found a colon where no field can begin"),
        ("a: [b\nc: d", "x.yaml:2:2: not YAML: the bracket opened in line 1 is not closed before this"),
        ("a:\n  - b\n c: d", "x.yaml:3:2: not YAML: this does not fit what began in line 1"),
        ('a: "\\ud800"', "x.yaml:1:"),
        ("a: b\n}", "x.yaml:2:1: not YAML"),
        ("{a: b}: c", "x.yaml:1:"),
        ("{{a}: b}", "x.yaml:1:2: expected the name of a field, found a mapping"),
    ],
)
@for_each("loader", [yaml.CSafeLoader, yaml.SafeLoader])
def test_both_parsers_say_the_same(broken: str, error: str, loader: object) -> None:
    report = ProblemReport("x.yaml")
    with contextlib.suppress(FileError):
        parse(broken, report, begin="", loader=loader)
    assert [str(problem) for problem in report.problems if str(problem).startswith(error)]


@for_each(
    ("plain", "value"),
    [
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("12", 12),
        ("-3", -3),
        ("012", 12),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("123456789012345678901", 123456789012345678901),
        *((word, word) for word in ("on", "yes", "No", "1:30", "0o7", "0x1f", "2024-05-01", ".inf", "1e999", "1_000")),
        ("9" * 5000, "9" * 5000),
        ("'12'", "12"),
        ('"true"', "true"),
        ("''", ""),
    ],
)
def test_plain_values_are_read_as_in_yaml_1_2(plain: str, value: object) -> None:
    found = value_of(plain)
    assert found == value
    assert type(found) is type(value)


@given(st.text())
def test_no_text_is_too_strange(text: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_text(text)
    assert caught.value.problems


@given(st.text(alphabet="ab:-[]{}'\"\n #*&!|>%@`?,1.", max_size=60))
def test_no_yaml_is_too_strange(text: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_text("scenario: 1\n" + text)
    assert all(problem.line >= 1 and problem.column >= 1 for problem in caught.value.problems)


WORDS = st.sampled_from(
    ["main", "desk", "ops", "@mina", "x", "1", "true", "null", "[]", "{}", "[a]", "{a: b}", "'é'", "{t}", "m1"]
)


def loads_or_reports(text: str) -> None:
    try:
        load_text(text)
    except ScenarioError as error:
        problems = error.problems
    else:
        return
    assert problems
    for problem in problems:
        assert 1 <= problem.line <= text.count("\n") + 1
        assert problem.column >= 1
        assert problem.message
        said = str(problem)
        assert not any(
            noise in said for noise in ("pydantic", "type=", "Input should", "http", "Spec", "sim.", "<class")
        )


@given(st.data())
def test_a_file_with_a_word_changed_loads_or_reports(text: str, data: st.DataObject) -> None:
    """Keys and values are deleted, renamed and swapped for others at places that Hypothesis picks."""
    starts = [at for at, char in enumerate(text) if char.isalnum() and not text[at - 1].isalnum()]
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.sampled_from(starts))
        end = start + 1
        while end < len(text) and text[end] in string.ascii_letters + string.digits + "_-":
            end += 1
        text = text[:start] + data.draw(WORDS | st.just("")) + text[end:]
        starts = [at for at in starts if at < len(text)]
    loads_or_reports(text)


@given(st.data())
def test_a_file_with_a_line_gone_loads_or_reports(text: str, data: st.DataObject) -> None:
    lines = text.splitlines(keepends=True)
    del lines[data.draw(st.integers(0, len(lines) - 1))]
    loads_or_reports("".join(lines))


def test_each_step_of_a_long_file_costs_the_same(text: str) -> None:
    head, _, tail = text.partition("expect:")

    def long(steps: int) -> str:
        lines = (f"  - {{after: 1s, as: mina, in: ops/deploy, say: line {n}}}\n" for n in range(100, 100 + steps))
        return f"{head}{''.join(lines)}expect:{tail}"

    load_text(long(1))
    none, some, more = (_calls(long(steps)) for steps in (0, 90, 180))
    assert some - none > 90
    assert more - some < 1.1 * (some - none)


def _calls(text: str) -> int:
    """How many functions of Python are called to load a file."""
    count = 0

    def see(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        load_text(text)
    finally:
        sys.setprofile(before)
    return count


def test_importing_the_loader_brings_no_screen_and_no_invented_people() -> None:
    heavy = "{'textual', 'rich', 'faker', 'cyclopts'}"
    code = f"import sys, trunkline.sim.scenario; print(*sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout == "\n"

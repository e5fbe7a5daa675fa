"""`trunkline upgrade` makes files strict and changes nothing else; `run` says what is not strict, and not exercised."""

import json
from xml.etree import ElementTree

import pytest

OLD = """\
# a comment
scenario: 1   # the version
title: one answer
world: {people: [ana], telegram: {}}
cast: {agents: {main: [{do: [{reply: "* hi {text}"}]}]}}
script:
  - {at: 1s, as: ana, in: "@ana", say: hello}   # the question

expect:   # all of it
  transcripts:
    - in: "@ana"
      lines: ["user: hello", 'assistant: * hi hello']
  accepted:
    - in: "@ana"
      text: |-
        * hi hello
"""
NEW = (
    OLD.replace("scenario: 1   #", "scenario: 2   #")
    .replace("assistant: * hi", "assistant: ** hi")
    .replace("        * hi hello", "        ** hi hello")
)
CRASH = "  - {at: 1s, crash: {when: {event: delegation.accepted}}}\n\nexpect:   # all of it"


@pytest.mark.parametrize("begin", ["", "\ufeff"], ids=["plain", "with-a-byte-order-mark"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_all_but_the_version_and_the_stars_stays_as_it_is(trunkline, tmp_path, begin, end):
    file = tmp_path / "one.yaml"
    file.write_bytes((begin + OLD.replace("\n", end)).encode())
    code, out, _ = trunkline("upgrade", file)
    assert (code, out.splitlines()[0]) == (0, f"{file}: strict now")
    assert file.read_bytes() == (begin + NEW.replace("\n", end)).encode()
    assert trunkline("run", file)[0] == 0


def test_a_strict_file_is_not_written(trunkline, tmp_path):
    file = tmp_path / "one.yaml"
    file.write_text(NEW)
    before = file.stat()
    code, out, _ = trunkline("upgrade", tmp_path)
    assert (code, out.splitlines()[0].startswith("0 files of 1 changed")) == (0, True)
    assert (file.read_text(), file.stat().st_mtime_ns) == (NEW, before.st_mtime_ns)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('as: ana, in: "@ana", say: hello}', "note: hello}", "script: nothing here reaches the gateway"),
        (
            '"user: hello"',
            r"'user: \*hello'",
            r"expect.transcripts[0].lines[0]: `\*` means something else in version 2",
        ),
        ("  transcripts:", '  events: [{kind: wire.accepted, text: "*"}]\n  transcripts:', "this cannot fail: '**'"),
    ],
)
def test_a_file_that_cannot_be_strict_stays_and_says_what_to_mend(trunkline, tmp_path, old, new, problem):
    bad, good = tmp_path / "bad.yaml", tmp_path / "good.yaml"
    bad.write_text(OLD.replace(old, new))
    good.write_text(OLD)
    code, _, err = trunkline("upgrade", tmp_path)
    assert code == 2
    assert f"{bad}:" in err and problem in err
    assert (bad.read_text(), good.read_text()) == (OLD.replace(old, new), NEW)


def test_files_that_are_not_strict_are_named_with_their_line(trunkline, tmp_path):
    for number in range(7):
        (tmp_path / f"{number}.yaml").write_text(OLD)
    code, _, err = trunkline("run", tmp_path)
    lines = err.splitlines()
    assert (code, len(lines)) == (0, 6)
    file = tmp_path / "0.yaml"
    said = "`scenario: 1` is not strict: a fault that never strikes is not reported"
    assert lines[0] == f"trunkline: warning: {file}:2: {said} (trunkline upgrade {file})"
    assert lines[5] == "trunkline: warning: 2 more files not strict"


def test_a_run_that_exercises_too_little_is_red_in_each_report(trunkline, tmp_path):
    file, junit, report, trace = (tmp_path / name for name in ("one.yaml", "one.xml", "one.json", "one.jsonl"))
    file.write_text(NEW.replace("\nexpect:   # all of it", CRASH))
    code, out, _ = trunkline("run", file, "--junit", junit, "--json", report, "--trace", trace)
    assert code == 1
    assert "invariants hold · not exercised: 1" in out
    assert f"✗ {file}:8: not exercised: nothing reached script[1].crash" in out
    assert "until it was disarmed at 11.000s" in out
    assert out.endswith("1 run: 1 not exercised, 0 hold\n")
    failure = ElementTree.parse(junit).find("testcase/failure")
    assert failure is not None and failure.get("message") == "not exercised"
    (run,) = json.loads(report.read_text())["runs"]
    assert (run["holds"], run["not_exercised"], run["unmet"][0]["line"]) == (False, 1, 8)
    # The trace says it too.
    for command in (("report", trace), ("replay", trace, "--plain")):
        code, out, _ = trunkline(*command)
        assert code == 1
        assert "not exercised: nothing reached script[1].crash" in out

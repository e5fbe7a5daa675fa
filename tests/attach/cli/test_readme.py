"""The command of README's first screen finds what its picture shows."""

import re
import shlex

import pytest

from tests.support.paths import ROOT


@pytest.mark.slow
def test_the_command_of_the_readme_finds_the_answer_that_came_twice(trunkline, tmp_path):
    [line] = re.findall(
        r"^trunkline (attach .* --report found)$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE
    )
    code, out, err = trunkline(*shlex.split(line)[:-1], tmp_path / "found")
    assert (code, err) == (1, "")
    assert "X1 1 of 1" in out
    page, _run = sorted((tmp_path / "found" / "findings").glob("*.html"), key=lambda page: len(page.name))
    assert "question two of telegram/@ana is answered 2 times" in page.read_text("utf-8")
    assert (tmp_path / "found" / "index.html").exists()

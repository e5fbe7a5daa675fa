"""The chapters behind the doors of README: each command prints what the chapter shows."""

import re
from pathlib import Path

import pytest

from tests.support.chapter import Change, Command, File, agrees, play, steps
from tests.support.for_each import for_each
from tests.support.paths import DOCS, ROOT

CHAPTERS = sorted(DOCS.glob("chapter-*.md"))


@pytest.mark.slow
@pytest.mark.parametrize("chapter", CHAPTERS, ids=[path.stem for path in CHAPTERS])
def test_a_reader_sees_what_the_chapter_shows(chapter: Path, tmp_path: Path) -> None:
    play(chapter.read_text("utf-8"), tmp_path)


def test_a_chapter_is_behind_each_door_of_the_readme() -> None:
    doors = re.split(r"^## ", (ROOT / "README.md").read_text("utf-8"), flags=re.MULTILINE)[1:4]
    behind = [re.findall(r"\(docs/(chapter-[a-z-]+\.md)\)", door) for door in doors]
    assert [len(found) for found in behind] == [1, 1, 1]
    assert sorted(found[0] for found in behind) == [path.name for path in CHAPTERS]


PAGE = """\
Save this as `a.txt`:

```text
one
two
```

Change `a.txt`, as it is wrong:

```diff
 one
-two
+three
```

```yaml
not: saved
```

```console
$ cat a.txt
one
three
$ (exit 3)
$ echo $? \\
  end
3 end
```
"""


def test_the_steps_of_a_page() -> None:
    file, change, *commands = steps(PAGE)
    assert file == File("a.txt", "one\ntwo\n")
    assert isinstance(file, File) and isinstance(change, Change)
    assert change.of(file.text) == "one\nthree\n"
    assert commands == [
        Command(21, "cat a.txt", "one\nthree\n"),
        Command(24, "(exit 3)", ""),
        Command(25, "echo $? \\\n  end", "3 end\n"),
    ]


def test_a_page_is_played(tmp_path: Path) -> None:
    play(PAGE, tmp_path)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("3 end", "4 end"),
        ("one\nthree\n$", "one\n$"),
        ("$ (exit 3)\n", "$ (exit 3)\nsomething\n"),
        ("$ cat a.txt\n", "$ echo one; echo thre\n"),
    ],
)
def test_another_output_is_found(right: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.chapter.PATIENCE", 1.0)
    page = PAGE.replace(right, wrong)
    assert page != PAGE
    with pytest.raises(AssertionError, match="shown:"):
        play(page, tmp_path)


@for_each(
    ("shown", "printed", "same"),
    [
        ("a\n", "a\n", True),
        ("a 12s\n", "a 0.5s\n", True),
        ("a 12\n", "a 13\n", False),
        ("a ... c\n", "a b c\n", True),
        ("a ... c\n", "a b d\n", False),
        ("...\nb\n", "a\na\nb\n", True),
        ("a\n...\nb\n", "a\nb\n", True),
        ("a\n...\n", "a\nb\nc\n", True),
        ("a\n...\nb\n", "a\nc\n", False),
        ("a.c\n", "abc\n", False),
        ("", "", True),
        ("", "a\n", False),
    ],
)
def test_what_agrees(shown: str, printed: str, *, same: bool) -> None:
    assert agrees(shown, printed) is same

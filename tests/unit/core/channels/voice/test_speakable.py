"""What an engine is to say of a text."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.for_each import for_each
from trunkline.core.channels.voice import speakable

CASES = {
    "plain words": "plain words",
    "**bold**, *italic*, _both_ and ~~gone~~": "bold, italic, both and gone",
    "snake_case, 3 * 4 and 5*6": "snake_case, 3 * 4 and 5*6",
    "`code` and\n```python\nprint(1)\n```": "code and. print(1)",
    "# Title\n\nText": "Title. Text",
    "- one\n- two\n* three": "one. two. three",
    "> quoted\n> twice": "quoted. twice",
    "| a | b |\n|---|---|\n| 1 | 2 |": "a, b. 1, 2",
    "see [the plan](https://example.org/a?b=c)": "see the plan",
    "![a lamp](https://example.org/lamp.png)": "a lamp",
    "https://www.Example.org/a/b#c.": "a link to example.org.",
    "(http://user:secret@example.org:8080/x), yes": "(a link to example.org), yes",
    "<https://example.org/x> is it": "a link to example.org is it",
    "one\x00two\u200bthree \ud83d": "one two three",
    "  many   spaces \n": "many spaces",
    "é, 中文 and 🙂": "é, 中文 and 🙂",
    "***": "",
    "---": "",
    "...": "",
    "": "",
}


@for_each("text", CASES, ids=repr)
def test_a_text_is_made_speakable(text: str) -> None:
    assert speakable(text) == CASES[text]


def test_no_secret_of_a_link_is_said() -> None:
    said = speakable("open https://example.org/reset?token=abc123 now")
    assert said == "open a link to example.org now"


@given(st.text())
def test_any_text_is_one_line_that_can_be_encoded(text: str) -> None:
    said = speakable(text)
    assert said == " ".join(said.split())
    said.encode("utf-8")


def test_a_long_text_takes_linear_time() -> None:
    for part in ("*", "[a](", "| ", "http://a", "> ", "_a", "`"):
        speakable(part * 50_000)

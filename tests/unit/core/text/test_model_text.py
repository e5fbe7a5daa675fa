"""Reasoning tags and reply tags are taken out of texts, but not out of code."""

import time

from tests.support.for_each import for_each
from trunkline.core.text.model_text import CURRENT_MESSAGE, split_reply_tag, without_reasoning


@for_each(
    ("text", "rest"),
    [
        ("plain", "plain"),
        ("  plain  ", "  plain  "),
        ("<think>a</think>b", "b"),
        ("a<think>b</think>c<thinking>d</thinking>e", "ace"),
        ("<THINK >a</ Think>b", "b"),
        ("<thought>a</thought>b", "b"),
        ("<antthinking>a</antthinking>b", "b"),
        ("<think>a\n\nb</think>\n\nc", "c"),
        ("<think>never closed", ""),
        ("a <think>never closed", "a"),
        ("a</think>b", "ab"),
        ("<think/>a", "a"),
        ("<final>a</final>", "a"),
        ("<think>a <think>b</think> c", "c"),
        ("`<think>` is a tag", "`<think>` is a tag"),
        ("```\n<think>x</think>\n```\n<think>y</think>z", "```\n<think>x</think>\n```\nz"),
        ("<thinker>a</thinker>", "<thinker>a</thinker>"),
        ("1 < 2", "1 < 2"),
    ],
)
def test_reasoning(text: str, rest: str) -> None:
    assert without_reasoning(text) == rest


@for_each(
    ("text", "rest", "answered"),
    [
        ("hi", "hi", None),
        ("[[reply_to:5]] hi", "hi", "5"),
        ("[[ Reply_To : 5 ]]hi", "hi", "5"),
        ("hi [[reply_to_current]]", "hi", CURRENT_MESSAGE),
        ("a [[reply_to:5]] b [[reply_to:6]]", "a b", "5"),
        ("a\n[[reply_to:5]]b", "a\nb", "5"),
        ("`[[reply_to:5]]`", "`[[reply_to:5]]`", None),
        ("[[other]]", "[[other]]", None),
        ("[[reply_to:]]", "[[reply_to:]]", None),
        ("[[reply_to_current]]", "", CURRENT_MESSAGE),
    ],
)
def test_reply_tags(text: str, rest: str, answered: str | None) -> None:
    assert split_reply_tag(text) == (rest, answered)


N = 30_000
HOSTILE = {
    "tags that never end": "<think" * N,
    "blanks in a tag": "<" + " " * N * 5,
    "brackets": "[[" * N * 5,
    "reply tags that never end": "[[reply_to:" * N,
    "backticks that never match": "".join("`" * (run % 300 + 1) + "x" for run in range(3000)) + "<think>[[",
    "pairs of backticks": "``" * N * 5 + "x <think>[[",
    "code in lines": "<think>`x`[[" * N,
    "many tags": "[[reply_to:5]]<think>a</think>" * N,
    "blank lines": "\n" * N * 5 + "<think>[[",
}


@for_each("text", HOSTILE.values(), ids=HOSTILE)
def test_the_time_grows_with_the_length_only(text: str) -> None:
    began = time.perf_counter()
    split_reply_tag(without_reasoning(text))
    split_reply_tag(text)
    # A tenth of that is usual; time that grows with the square of the length is minutes.
    assert time.perf_counter() - began < 10

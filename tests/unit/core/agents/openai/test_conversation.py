"""What a model is sent of a transcript: roles, authors, notes, and how much of it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.for_each import for_each
from trunkline.core.agents.openai.conversation import (
    Message,
    TurnFacts,
    composed,
    exchanges_of,
    fitting,
    said_by,
    tokens_of,
)
from trunkline.core.hands.callback_message import as_data
from trunkline.core.values import Peer, TranscriptLine

ANA, CLERK = Peer(id="U1", name="Ana"), Peer(id="hand:clerk", name="clerk")


def line(role: str, text: str, ref: str = "", **fields: Any) -> TranscriptLine:
    return TranscriptLine(role=role, text=text, ref=ref, **{"partial": False, "at": 0.0, **fields})


def facts(*history: TranscriptLine, **fields: Any) -> TurnFacts:
    defaults: dict[str, Any] = {"ref": "own", "prompt": None, "text": "now", "author": ANA, "is_shared": False}
    return TurnFacts(**{**defaults, **fields, "history": history})


def sent(known: TurnFacts, most: int = 100_000) -> list[Message]:
    return composed(known, fitting(exchanges_of(known), most))


def says(role: str, content: str) -> Message:
    return {"role": role, "content": content}


OWN = line("user", "now", "own")


@for_each(
    ("before", "content"),
    [
        (line("user", "hi", by=ANA), says("user", "hi\n\nnow")),
        (line("hand", "47 mails", by=CLERK), says("user", f"clerk wrote:\n{as_data('47 mails')}\n\nnow")),
        (line("hand", "47 mails"), says("user", f"a hand wrote:\n{as_data('47 mails')}\n\nnow")),
        (line("delivery", "It did\nnot arrive."), says("user", "[note of the gateway] It did not arrive.\n\nnow")),
        (
            line("delivery", "It may not have arrived."),
            says(
                "user",
                "[note of the gateway] It may not have arrived. Do not say it again unless you are asked to.\n\nnow",
            ),
        ),
        (line("user", "a secret", deleted=True), says("user", "[this message was deleted]\n\nnow")),
    ],
    ids=["a message", "a result", "a result of an unknown hand", "a note", "a note of a doubt", "a deleted message"],
)
def test_each_kind_of_line_has_its_form(before: TranscriptLine, content: Message) -> None:
    assert sent(facts(before, OWN)) == [content]


def test_what_the_agent_said_is_its_own() -> None:
    half = line("assistant", "the first half", partial=True)
    assert sent(facts(line("user", "hi"), half, OWN)) == [
        says("user", "hi"),
        says("assistant", "the first half\n[only this part of the message arrived]"),
        says("user", "now"),
    ]


def test_behind_the_message_of_the_turn_only_what_went_out_counts() -> None:
    """Another message waits for a turn of its own; an answer to an earlier one was accepted meanwhile."""
    known = facts(line("user", "one"), OWN, line("user", "later", "other"), line("assistant", "to one", "in-1.reply"))
    assert sent(known) == [says("user", "one"), says("assistant", "to one"), says("user", "now")]


def test_what_the_turn_has_sent_before_a_crash_stands_in_its_note_only() -> None:
    known = facts(line("user", "one"), OWN, line("assistant", "sent", "own.send1"), done=["send:\nsent"])
    [only] = sent(known)
    assert only["content"].startswith("one\n\nnow\n\n[note of the gateway] This turn was interrupted")
    assert only["content"].count("sent") == 1


def test_prompts_are_one_message_at_the_beginning() -> None:
    assert sent(facts(OWN, prompt="base\n\nchannel"))[0] == says("system", "base\n\nchannel")


@for_each("text", ["a\nb", "a\r\nb", "a\rb", "a\u2028b", "a\x0bb", "a\x85b"])
def test_every_line_but_the_first_is_indented(text: str) -> None:
    assert said_by(ANA, text) == '"Ana" (U1): a\n  b'


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_no_name_and_no_text_begins_another_message(name: str, number: str, text: str) -> None:
    said = said_by(Peer(id=number, name=name), text)
    assert all(rest.startswith("  ") for rest in said.split("\n")[1:])
    assert said_by(ANA, "x").startswith('"Ana" (U1): ')
    # Only she who bears the name and has the id begins like her.
    assert not said.startswith('"Ana" (U1): ') or (name.split(), number) == (["Ana"], "U1")


def test_exchanges_are_kept_whole_from_the_newest_back() -> None:
    history = [
        one for n in range(4) for one in (line("user", f"q{n}" * 30, f"q{n}"), line("assistant", f"a{n}", f"a{n}"))
    ]
    known = facts(*history, OWN)
    one = exchanges_of(known)[0].tokens
    for count in range(5):
        kept = fitting(exchanges_of(known), one * count)
        assert len(kept) == 2 * count
        assert kept == fitting(exchanges_of(known), 100_000)[8 - 2 * count :]
        assert sum(tokens_of(message["content"]) for message in kept) <= one * count


def test_history_never_begins_in_the_middle_of_an_exchange() -> None:
    known = facts(line("assistant", "cut off"), line("user", "q"), line("assistant", "a"), OWN)
    most = sum(tokens_of(text) for text in ("q", "a"))
    assert [one["role"] for one in fitting(exchanges_of(known), most)] == ["user", "assistant"]


@given(st.text(max_size=200))
def test_tokens_are_never_fewer_than_a_third_of_the_bytes(text: str) -> None:
    assert tokens_of(text) >= len(text.encode("utf-8", "replace")) / 3

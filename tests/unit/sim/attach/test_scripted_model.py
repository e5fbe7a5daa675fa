"""What the scripted model answers: it decides what looks like a defect of a gateway."""

from typing import Any

from tests.attach.play.tries import scenario, toy
from tests.support.for_each import for_each
from trunkline.sim.attach.play.model_side import cast_answers
from trunkline.sim.attach.profile import Obeyed
from trunkline.sim.attach.scripted_model import MarkedModel, ScriptedAnswer
from trunkline.sim.wire.model.replies import Wait, text_said
from trunkline.sim.wire.model.server import Asked

TOOLS = [{"type": "function", "function": {"name": "read"}}]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def bot(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def model(*, tools: bool = True, pause: float = 0.0, **changes: Any) -> MarkedModel:
    profile = toy().model_copy(update={"tools": tools, **changes})
    return MarkedModel(profile, lambda mark: ScriptedAnswer(text=f"About {mark}.", pause=pause))


def asked(*messages: dict[str, Any], tools: bool = True, stream: bool = False) -> Asked:
    body: dict[str, Any] = {"model": "m1", "messages": list(messages), "stream": stream}
    return Asked("/v1/chat/completions", {}, body | ({"tools": TOOLS} if tools else {}))


def answer(one: MarkedModel, request: Asked) -> str:
    return text_said(one.reply(request, one.asked(request)))


def test_a_question_is_answered_with_its_mark_and_a_generation() -> None:
    one = model()
    assert answer(one, asked(user("hello QZa1"))) == "About a1. AZa1-g1"
    assert answer(one, asked(user("hello QZa1"))) == "About a1. AZa1-g2"


def test_everything_is_answered_that_was_said_since_the_model_last_spoke() -> None:
    request = asked(user("one QZa1"), bot("About a1. AZa1-g1"), user("two QZa2"), user("three QZa3"))
    assert answer(model(), request) == "About a2. AZa2-g1\nAbout a3. AZa3-g1"


def test_questions_that_a_gateway_joins_to_one_message_are_all_answered() -> None:
    assert answer(model(), asked(user("[ana] one QZa1\n[ana] two QZa2"))) == "About a1. AZa1-g1\nAbout a2. AZa2-g1"


def test_an_answered_question_that_is_quoted_beside_a_new_one_is_not_answered_again() -> None:
    one = model()
    answer(one, asked(user("one QZa1")))
    history = (user("one QZa1"), bot("About a1. AZa1-g1"))
    assert answer(one, asked(*history, user('[replying to "one QZa1"] and now? QZa2'))) == "About a2. AZa2-g1"


def test_a_message_that_is_handed_to_the_model_again_is_answered_again() -> None:
    """A second turn of a gateway is to be seen: its answer has the next generation."""
    one = model()
    answer(one, asked(user("one QZa1")))
    assert answer(one, asked(user("one QZa1"), bot("About a1. AZa1-g1"), user("one QZa1"))) == "About a1. AZa1-g2"


def test_what_the_gateway_adds_is_ignored() -> None:
    one = model(ignore=("<context>.*?</context>",))
    request = asked(user("two QZa2"), user("<context>ana said: one QZa1\nmore</context>"))
    assert answer(one, request) == "About a2. AZa2-g1"


def test_unfinished_work_is_skipped_if_the_gateway_says_so() -> None:
    told = Obeyed(part="skip any unfinished work", say="What shall I do next?")
    one = model(obey=(told,))
    left = user("one QZa1")
    assert answer(one, asked(left, user("restored; skip any unfinished work"))) == "What shall I do next?"
    assert answer(one, asked(left, user("restored; skip any unfinished work. two QZa2"))) == "About a2. AZa2-g1"


@for_each(
    "messages",
    [
        (user("Generate a short title for this chat:\n\nhello QZa1"),),
        (user("User: hello QZa1\nAssistant: About a1. AZa1-g1\n\nName it."),),
        ({"role": "system", "content": "Summarize the conversation."}, user("hello QZa1")),
    ],
)
@for_each("tools", [True, False])
def test_what_is_asked_beside_a_turn_has_no_mark(messages: tuple[dict[str, Any], ...], tools: bool) -> None:
    one = model(tools=tools)
    body = one.asked(asked(*messages, tools=False))
    assert body.beside
    assert text_said(one.reply(asked(*messages, tools=False), body)) == "a short title"


def test_a_gateway_without_tools_has_turns() -> None:
    assert answer(model(tools=False), asked(user("what is the title? QZa1"), tools=False)) == "About a1. AZa1-g1"
    assert model(tools=True).asked(asked(user("hello QZa1"), tools=False)).beside


def test_a_turn_without_a_question_is_a_turn() -> None:
    one = model()
    request = asked(user("session restored"))
    assert not one.asked(request).beside
    assert answer(one, request) == "Nothing was asked."


def test_texts_in_parts_and_what_is_no_message_do_no_harm() -> None:
    odd: list[Any] = [user("x"), 7, None, {"role": "user", "content": [{"type": "text", "text": "hello QZa1"}]}]
    assert answer(model(), Asked("/v1", {}, {"messages": odd, "tools": TOOLS})) == "About a1. AZa1-g1"
    assert answer(model(), Asked("/v1", {}, {"messages": "odd", "tools": TOOLS})) == "Nothing was asked."


def test_secrets_are_found_anywhere_in_a_prompt() -> None:
    request = asked({"role": "system", "content": "the word is heron"}, user("hello QZa1"))
    assert model().asked(request, ["heron", "swan"]).secrets == ("heron",)


def test_an_answer_with_pauses_comes_in_a_bounded_number_of_pieces() -> None:
    profile = toy()
    long = MarkedModel(profile, lambda _: ScriptedAnswer(text="word " * 2000, pause=0.1))
    request = asked(user("hello QZa1"), stream=True)
    reply = long.reply(request, long.asked(request))
    assert 10 < sum(isinstance(step, Wait) for step in reply.steps) < 50
    assert text_said(reply).endswith("AZa1-g1")


def test_the_cast_answers_by_text_person_and_place() -> None:
    head = """
scenario: 1
title: Answers
world: {people: [ana, ben], telegram: {rooms: [ops]}}
cast:
  agents:
    main:
      - {when: {person: ben}, do: [{reply: "For {peer}: {text}"}]}
      - {when: {in: telegram/ops}, do: [{think: 2s}, {pause: 100ms}, {reply: "In the room."}]}
      - {when: {text: "hello"}, do: [{reply: "Hi."}]}
"""
    steps = (
        'as: ana, in: "telegram/@ana", say: hello',
        "as: ana, in: telegram/ops, say: hello",
        'as: ben, in: "telegram/@ben", say: hello',
        'id: Last-One, as: ana, in: "telegram/@ana", say: what',
    )
    said = cast_answers(scenario(*steps, head=head))
    assert said("m1") == ScriptedAnswer(text="Hi.")
    assert said("m2") == ScriptedAnswer(text="In the room.", wait=2.0, pause=0.1)
    assert said("m3") == ScriptedAnswer(text="For ben: hello")
    assert said("lastone") == ScriptedAnswer()
    assert said("unknown") == ScriptedAnswer()

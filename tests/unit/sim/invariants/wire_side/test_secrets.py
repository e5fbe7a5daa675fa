"""X8: words of one place in another."""

from tests.support.wire_story import BEN, DEPLOY, OPS, WireStory
from trunkline.core.values import Address, ChatKind
from trunkline.sim import Status
from trunkline.sim.events.wire import WireEdited

SECRET = "swordfish"
ROOM = Address(channel="slack", account="default", kind=ChatKind.CHANNEL, conversation="C1")
ON_THE_QUESTION = Address(channel="slack", account="default", kind=ChatKind.CHANNEL, conversation="C1", thread="q-a1")


def test_words_of_another_place_in_a_prompt_are_x8_alone():
    story = WireStory()
    story.answered("a1", text=f"my password is {SECRET}", secret=SECRET)
    story.ask("b1", BEN)
    story.send(story.turn("b1", secrets=(SECRET,)), BEN)
    assert story.end().broken == ["X8"]


def test_words_of_another_place_in_a_message_are_x8_alone():
    story = WireStory()
    story.answered("a1", text=f"my password is {SECRET}", secret=SECRET)
    story.ask("b1", BEN)
    story.send(story.turn("b1", text=f"Ana's password is {SECRET}."), BEN)
    assert story.end().broken == ["X8"]
    assert all(SECRET not in summary for summary in story.summaries("X8"))


def test_words_in_their_own_place_are_right():
    story = WireStory()
    story.answered("a1", text=f"my password is {SECRET}", secret=SECRET)
    story.ask("a2")
    story.send(story.turn("a2", text=f"It is {SECRET}.", secrets=(SECRET,)))
    assert story.end().broken == []
    assert story.verdict("X8").status is Status.NOT_EXERCISED


def test_a_prompt_of_another_place_without_them_exercises_the_promise():
    story = WireStory()
    story.answered("a1", text=f"my password is {SECRET}", secret=SECRET)
    story.answered("b1", BEN)
    assert story.end().broken == []
    assert story.verdict("X8").exercised == 1


def test_words_that_were_said_in_both_places_are_no_secret_there():
    story = WireStory()
    story.answered("a1", text=f"my password is {SECRET}", secret=SECRET)
    story.ask("b1", BEN, text=f"mine is {SECRET} too", secret=SECRET)
    story.send(story.turn("b1", secrets=(SECRET,)), BEN)
    assert story.end().broken == []


def test_a_thread_on_the_message_may_have_its_words():
    story = WireStory()
    story.ask("a1", ROOM, text=f"my password is {SECRET}", secret=SECRET)
    story.send(story.turn("a1", text=f"It is {SECRET}."), ON_THE_QUESTION)
    story.ask("a2", ON_THE_QUESTION)
    story.send(story.turn("a2", secrets=(SECRET,)), ON_THE_QUESTION)
    assert story.end().broken == []


def test_the_words_of_a_thread_are_not_for_its_room():
    story = WireStory()
    story.ask("a1", ROOM)
    story.send(story.turn("a1"), ON_THE_QUESTION)
    story.ask("a2", ON_THE_QUESTION, text=f"my password is {SECRET}", secret=SECRET)
    story.send(story.turn("a2"), ON_THE_QUESTION)
    story.ask("a3", ROOM)
    story.send(story.turn("a3", secrets=(SECRET,)), ROOM)
    assert story.end().broken == ["X8"]


def test_an_edit_that_names_no_topic_is_in_the_topic_of_its_message():
    story = WireStory()
    story.ask("a1", DEPLOY, text=f"my password is {SECRET}", secret=SECRET)
    text = story.turn("a1", text=f"It is {SECRET}.")
    message = story.send("It is", DEPLOY)
    story.tell(WireEdited(address=OPS, message_id=message, text=text))
    assert story.end().broken == []


def test_an_edit_in_another_topic_leaks():
    story = WireStory()
    story.ask("a1", DEPLOY, text=f"my password is {SECRET}", secret=SECRET)
    story.send(story.turn("a1"), DEPLOY)
    message = story.answered("a2", OPS)
    story.edit(message, f"{SECRET} AZa2-g1")
    assert story.end().broken == ["X8"]


def test_one_secret_hides_no_other():
    story = WireStory()
    story.answered("b1", BEN, text="mine is owl", secret="owl")
    story.answered("a1", text=f"my password is {SECRET}", secret=SECRET)
    story.ask("b2", BEN)
    story.send(story.turn("b2", secrets=("owl", SECRET)), BEN)
    assert story.end().broken == ["X8"]
    assert story.verdict("X8").exercised == 2


def test_a_leak_in_a_message_exercises_the_promise():
    story = WireStory()
    story.answered("a1", text=f"my password is {SECRET}", secret=SECRET)
    story.send(f"⚠️ {SECRET}", BEN)
    assert story.end().verdict("X8").exercised == 1


def test_a_prompt_that_nobody_asked_for_belongs_to_no_place():
    story = WireStory()
    story.answered("a1", text=f"my password is {SECRET}", secret=SECRET)
    story.prompt(secrets=(SECRET,))
    story.prompt("old", secrets=(SECRET,))
    assert story.end().broken == []
    assert story.verdict("X8").status is Status.NOT_EXERCISED

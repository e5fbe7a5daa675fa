"""Which messages of a gateway answer a question: kept by question, since each checker asks for each question."""

from tests.support.wire_story import WireStory
from trunkline.sim.index.bot_messages import BotMessages
from trunkline.sim.index.projection import EventFeed


def known(story: WireStory) -> BotMessages:
    messages = BotMessages()
    feed = EventFeed(messages)
    for event in story.events:
        feed.deliver(event)
    return messages


def test_they_are_in_the_order_of_acceptance_whenever_they_began_to_answer():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    draft = story.send("a moment")
    copy = story.send(text)
    story.edit(draft, text)
    found = known(story).answering("a1")
    assert [one.message_id for one in found] == [draft, copy]


def test_one_that_showed_an_answer_for_a_while_is_kept_once():
    story = WireStory()
    story.ask("a1")
    text = story.turn("a1")
    one = story.send(text)
    story.edit(one, f"{text} and more")
    story.edit(one, "taken back")
    messages = known(story)
    assert [message.message_id for message in messages.answering("a1")] == [one]
    assert not messages.answering("a2")

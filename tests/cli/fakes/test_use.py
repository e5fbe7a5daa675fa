"""A test of somebody's bot, by the client of `trunkline fakes`."""

import json
import urllib.request

import pytest

from tests.cli.fakes.bot_calls import bot
from trunkline.app.fakes.client import FakesClient


def test_a_bot_is_tested_without_our_gateway(fakes: FakesClient) -> None:
    fakes.say("ana", "telegram/ops/deploy", "is it out?")
    [update] = bot(fakes, "getUpdates", timeout=5)
    asked = update["message"]
    topic = {"chat_id": asked["chat"]["id"], "message_thread_id": asked["message_thread_id"]}
    sent = bot(fakes, "sendMessage", text="it is out", **topic)
    [answer] = fakes.wait(1, by="bot", place="telegram/ops/deploy")
    assert (answer["text"], answer["id"]) == ("it is out", str(sent["message_id"]))
    bot(fakes, "editMessageText", chat_id=topic["chat_id"], message_id=sent["message_id"], text="it was out")
    fakes.react("ana", "telegram/ops/deploy", "👍")
    [edited] = fakes.messages(by="bot")
    assert (edited["text"], edited["edits"], edited["reactions"]) == ("it was out", 1, {"👍": ["ana"]})
    assert [one["text"] for one in fakes.messages(after=answer["number"])] == []
    assert [one["by"] for one in fakes.messages()] == ["ana", "bot"]


def test_people_press_buttons_of_a_bot(fakes: FakesClient) -> None:
    fakes.say("ben", "telegram/@ben", "hi")
    [first] = bot(fakes, "getUpdates", timeout=5)
    chat = first["message"]["chat"]["id"]
    keyboard = {"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}]]}
    bot(fakes, "sendMessage", chat_id=chat, text="sure?", reply_markup=keyboard)
    assert fakes.wait(1, by="bot")[0]["buttons"] == ["Yes"]
    fakes.press("ben", "telegram/@ben", "Yes")
    [pressed] = bot(fakes, "getUpdates", timeout=5, offset=first["update_id"] + 1)
    assert pressed["callback_query"]["data"] == "y"


def test_faults_tokens_and_servers(fakes: FakesClient) -> None:
    fakes.say("ana", "telegram/ops", "hi")
    chat = bot(fakes, "getUpdates", timeout=5)[0]["message"]["chat"]["id"]
    fakes.fault("send", "reset", text="*first*")
    with pytest.raises(OSError):
        bot(fakes, "sendMessage", chat_id=chat, text="the first")
    assert [one["text"] for one in fakes.wait(1, by="bot")] == ["the first"]
    assert [one["fault"] for one in fakes.faults()["fired"]] == ["send/reset"]
    fakes.fault("send", "rate-limit", for_="3s", in_="telegram/ops")
    assert [one["do"] for one in fakes.faults()["armed"]] == ["rate-limit"]
    fakes.heal()
    assert fakes.faults()["armed"] == []
    old = fakes.token("telegram")
    assert fakes.rotate("telegram") == fakes.token("telegram") != old
    fakes.restart("telegram", down=0.2)
    bot(fakes, "sendMessage", chat_id=chat, text="again")
    assert len(fakes.wait(2, by="bot")) == 2
    assert fakes.break_connections("telegram") == 0


def test_the_model_echoes_and_takes_answers(fakes: FakesClient) -> None:
    def ask(text: str) -> str:
        body = json.dumps({"model": "echo", "messages": [{"role": "user", "content": text}]}).encode()
        with urllib.request.urlopen(f"{fakes.model_url}/chat/completions", body, timeout=10) as response:
            return json.load(response)["choices"][0]["message"]["content"]

    assert ask("one") == "re: one"
    fakes.answers({"says": "written"})
    assert [ask("two"), ask("one")] == ["written", "re: one (2)"]
    assert [one["messages"][0]["content"] for one in fakes.asked(after=1)] == ["two", "one"]


def test_a_reset_begins_again(fakes: FakesClient) -> None:
    fakes.say("ana", "telegram/ops", "hi")
    fakes.fault("send", "reset")
    before = fakes.url("telegram"), fakes.token("telegram")
    fakes.rotate("telegram")
    fakes.reset()
    assert fakes.messages() == []
    assert fakes.faults() == {"armed": [], "fired": []}
    assert (fakes.url("telegram"), fakes.token("telegram")) == before
    fakes.say("ana", "telegram/ops", "hi again")
    assert [one["message"]["text"] for one in bot(fakes, "getUpdates", timeout=5)] == ["hi again"]


def test_a_wait_that_ends_too_early_says_what_is_there(fakes: FakesClient) -> None:
    fakes.say("ana", "telegram/ops", "hi")
    with pytest.raises(TimeoutError, match=r"1 of 2 within 0.2 s; seen: \[\('ana', 'telegram/ops', 'hi'\)\]"):
        fakes.wait(2, timeout=0.2)


def test_a_thread_that_the_bot_has_opened_is_a_place(fakes: FakesClient) -> None:
    fakes.say("ana", "telegram/ops", "hi")
    [first] = bot(fakes, "getUpdates", timeout=5)
    chat = first["message"]["chat"]["id"]
    opened = bot(fakes, "createForumTopic", chat_id=chat, name="release")
    [place] = [
        one for one in fakes.call("GET", "/")["places"] if one.startswith("telegram/ops/") and "deploy" not in one
    ]
    fakes.say("ana", place, "in the new one")
    [update] = bot(fakes, "getUpdates", timeout=5, offset=first["update_id"] + 1)
    assert update["message"]["message_thread_id"] == opened["message_thread_id"]

"""The web chat in a real browser, against a real server in a process of its own."""

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.chat_page import CHROMIUM, TOKEN, ChatPage, ChatServer, open_tab, signed_in

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

pytestmark = pytest.mark.parametrize(
    "browser",
    [
        pytest.param(
            None,
            id="chromium" if CHROMIUM else "skipped: no chromium",
            marks=pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on PATH"),
        )
    ],
    indirect=True,
)


#: Adds a message of the person and an answer to what the browser keeps; true once they are in, false before its first
#: save. The cursor of the answer is before all others: the gateway never sends it.
STORED_BY_ANOTHER_TAB = """() => {
  const place = Object.keys(localStorage).find((one) => one.startsWith("trunkline.chat/"));
  const kept = place && JSON.parse(localStorage.getItem(place));
  if (!kept || kept.messages.length < 2) return false;
  const [at, after] = [Date.now() / 1000, kept.cursor];
  kept.messages.push({key: "own-x", id: "x", after, mine: true, text: "elsewhere", at, state: "stored"});
  kept.messages.push({key: "m0.5", after: 0.5, mine: false, text: "an answer", at});
  localStorage.setItem(place, JSON.stringify(kept));
  return true;
}"""


def test_a_person_talks_and_gets_the_answer(chat: ChatPage) -> None:
    chat.say("good morning")
    chat.until(2)
    assert chat.texts() == ["good morning", "you said good morning"]
    chat.stored(1)
    assert chat.page.locator("#typing").is_hidden()
    assert chat.page.locator("#text").input_value() == ""
    assert chat.page.evaluate("document.activeElement.id") == "text"


def test_shift_enter_begins_a_line_and_enter_sends(chat: ChatPage) -> None:
    chat.page.focus("#text")
    chat.page.keyboard.type("one")
    chat.page.keyboard.press("Shift+Enter")
    chat.page.keyboard.type("two")
    chat.page.keyboard.press("Enter")
    chat.until(2)
    assert chat.texts(".mine") == ["one\ntwo"]


def test_the_history_is_there_after_a_reload(chat: ChatPage) -> None:
    for n in range(3):
        chat.say(f"message {n}")
        chat.until(2 * n + 2)
    before = chat.texts()
    chat.page.reload()
    chat.connected()
    chat.until(6)
    assert chat.texts() == before
    chat.say("and more")
    chat.until(8)
    assert chat.texts()[6:] == ["and more", "you said and more"]


def test_a_new_browser_gets_the_answers_of_the_same_person(
    chat: ChatPage, browser: "Browser", server: ChatServer
) -> None:
    chat.say("hello")
    chat.until(2)
    me = chat.page.evaluate("JSON.parse(localStorage.getItem('trunkline.person')).id")
    other = browser.new_context()
    page = open_tab(other, server)
    page.page.goto(server.url)
    page.page.click("summary")
    page.page.fill("#person", me)
    page.page.fill("#token", TOKEN)
    page.page.press("#token", "Enter")
    page.until(1)
    assert page.answers() == ["you said hello"]
    other.close()


def test_two_tabs_of_a_person_show_the_same(chat: ChatPage, profile: "BrowserContext", server: ChatServer) -> None:
    second = open_tab(profile, server)
    second.enter()
    second.connected()
    chat.say("from the first")
    second.until(2)
    # What the second says stands behind the first answer in a tab that has it.
    chat.until(2)
    second.say("from the second")
    chat.until(4)
    second.until(4)
    assert chat.texts() == second.texts()
    assert sorted(chat.texts()) == sorted(
        ["from the first", "you said from the first", "from the second", "you said from the second"]
    )


def test_what_another_tab_stored_is_shown_when_a_save_reads_it_before_the_event(chat: ChatPage) -> None:
    chat.say("one")
    chat.until(2)
    chat.stored(1)
    # A write of this tab makes no event here: to the page it is the write of another tab whose event is late.
    chat.page.wait_for_function(STORED_BY_ANOTHER_TAB)
    chat.say("two")
    chat.until(6)
    assert sorted(chat.texts()) == ["an answer", "elsewhere", "one", "two", "you said one", "you said two"]
    assert chat.texts()[-1] == "you said two"
    chat.stored(3)


def test_a_tab_that_is_read_further_up_stays_there_when_another_tab_stores(
    chat: ChatPage, profile: "BrowserContext", server: ChatServer
) -> None:
    chat.say("\n".join(f"line {n}" for n in range(200)))
    chat.until(2)
    chat.page.evaluate("document.getElementById('scroll').scrollTop = 40")
    second = open_tab(profile, server)
    second.enter()
    second.connected()
    second.say("more")
    chat.until(4)
    assert chat.page.evaluate("document.getElementById('scroll').scrollTop") == 40
    assert chat.page.locator("#newest").is_visible()


def test_other_people_see_nothing_of_it(chat: ChatPage, browser: "Browser", server: ChatServer) -> None:
    other = browser.new_context()
    ben = open_tab(other, server)
    ben.enter(name="Ben")
    ben.connected()
    chat.say("only mine")
    chat.until(2)
    ben.say("I am Ben")
    ben.until(2)
    assert ben.texts() == ["I am Ben", "you said I am Ben"]
    assert len(chat.texts()) == 2
    other.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
def test_a_server_that_starts_again_costs_nothing(
    profile: "BrowserContext", own_server: ChatServer, number: int
) -> None:
    with signed_in(profile, own_server) as chat:
        restart(chat, own_server, number)


def restart(chat: ChatPage, server: ChatServer, number: int) -> None:
    chat.say("before")
    chat.until(2)
    server.kill(number)
    chat.page.wait_for_selector("#state:not([data-state=connected])")
    chat.say("while it is gone")
    assert chat.page.locator(".delivery").all_inner_texts() == ["Stored", "Sending…"]
    server.start()
    chat.connected()
    chat.until(4)
    chat.stored(2)
    assert chat.texts() == ["before", "you said before", "while it is gone", "you said while it is gone"]
    chat.page.reload()
    chat.connected()
    chat.say("last")
    chat.until(6)
    assert chat.answers() == ["you said before", "you said while it is gone", "you said last"]


def test_what_was_written_before_a_reload_is_sent_after_it(profile: "BrowserContext", own_server: ChatServer) -> None:
    with signed_in(profile, own_server) as chat:
        own_server.kill()
        chat.page.wait_for_selector("#state:not([data-state=connected])")
        chat.say("not lost")
        own_server.start()
        chat.page.reload()
        chat.connected()
        chat.until(2)
        assert chat.texts() == ["not lost", "you said not lost"]


def test_another_store_behind_the_same_address_begins_a_new_history(
    profile: "BrowserContext", own_server: ChatServer, tmp_path: Path
) -> None:
    with signed_in(profile, own_server) as chat:
        for n in range(3):
            chat.say(f"old {n}")
            chat.until(2 * n + 2)
        own_server.kill()
        own_server.store = tmp_path / "another.db"
        own_server.start()
        chat.connected()
        chat.until(0)
        chat.say("new")
        chat.until(2)
        assert chat.texts() == ["new", "you said new"]


def test_a_browser_that_is_offline_says_so_and_goes_on_later(profile: "BrowserContext", own_server: ChatServer) -> None:
    with signed_in(profile, own_server) as chat:
        profile.set_offline(True)
        own_server.kill()
        chat.page.wait_for_selector("#state[data-state=offline]")
        own_server.start()
        profile.set_offline(False)
        chat.connected()
        chat.say("back")
        chat.until(2)
        assert chat.answers() == ["you said back"]


def test_a_browser_can_forget_everything(chat: ChatPage) -> None:
    chat.say("a secret")
    chat.until(2)
    chat.page.click("#leave")
    assert "a secret" in chat.page.evaluate("JSON.stringify(localStorage)")
    before = chat.page.input_value("#person")
    chat.page.click("summary")
    chat.page.click("#forget")
    assert chat.page.locator("#forgotten").is_visible()
    assert "a secret" not in chat.page.evaluate("JSON.stringify(localStorage)")
    assert chat.page.input_value("#person") != before


def test_a_wrong_token_is_refused_and_not_kept(profile: "BrowserContext", server: ChatServer) -> None:
    page = open_tab(profile, server)
    page.enter("wrong")
    page.page.wait_for_selector("#entry-problem:visible")
    assert "does not know this token" in page.page.inner_text("#entry-problem")
    assert page.page.evaluate("[sessionStorage.length, document.activeElement.id]") == [0, "token"]
    assert page.page.get_attribute("#token", "aria-invalid") == "true"
    page.page.fill("#token", TOKEN)
    page.page.press("#token", "Enter")
    page.connected()


def test_an_account_that_is_none_is_said_and_the_token_stays(profile: "BrowserContext", server: ChatServer) -> None:
    page = open_tab(profile, server)
    page.page.goto(server.url)
    page.page.click("summary")
    page.page.fill("#account", "discord:other")
    page.page.fill("#token", TOKEN)
    page.page.press("#token", "Enter")
    page.page.wait_for_selector("#entry-problem:visible")
    assert "no mailbox account" in page.page.inner_text("#entry-problem")
    assert page.page.evaluate("document.activeElement.id") == "account"
    page.page.fill("#account", "")
    page.page.press("#account", "Enter")
    page.connected()


@pytest.mark.parametrize(("token", "said"), [("token-read", "lacks the scope"), ("token-send", "bound to nobody")])
def test_a_token_that_may_not_open_the_chat_is_refused(
    profile: "BrowserContext", server: ChatServer, token: str, said: str
) -> None:
    page = open_tab(profile, server)
    page.enter(token)
    page.page.wait_for_selector("#entry-problem:visible")
    assert said in page.page.inner_text("#entry-problem")
    assert page.page.evaluate("document.activeElement.id") == "token"


def test_a_token_of_another_person_is_refused_until_its_person_is_given(
    profile: "BrowserContext", server: ChatServer
) -> None:
    page = open_tab(profile, server)
    page.enter("token-ana")
    page.page.wait_for_selector("#entry-problem:visible")
    assert "only for webchat:ana" in page.page.inner_text("#entry-problem")
    assert page.page.evaluate("document.activeElement.id") == "person"
    page.page.fill("#person", "ana")
    page.page.fill("#token", "token-ana")
    page.page.press("#token", "Enter")
    page.connected()


def test_a_token_in_the_address_is_taken_and_removed(profile: "BrowserContext", server: ChatServer) -> None:
    page = open_tab(profile, server)
    page.page.goto(f"{server.url}chat#token={TOKEN}")
    page.connected()
    assert page.page.evaluate("location.href") == f"{server.url}chat"
    kept = page.page.evaluate("JSON.stringify(localStorage)")
    assert TOKEN not in kept, "only the tab keeps it"
    assert all(TOKEN not in url for url in page.asked)
    page.page.click("#leave")
    assert page.page.evaluate("sessionStorage.length") == 0


def test_a_message_of_100_kb_arrives_and_fits(chat: ChatPage) -> None:
    chat.say("x" * 100_000)
    chat.page.wait_for_function(
        "() => [...document.querySelectorAll('.message:not(.mine) .bubble')]"
        ".reduce((sum, one) => sum + one.textContent.length, 0) > 100000"
    )
    assert chat.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_message_that_is_too_long_holds_up_no_other(chat: ChatPage) -> None:
    chat.say("é" * 140_000)
    chat.page.wait_for_selector(".delivery:has-text('256 KB')")
    chat.say("x" * 200_001)
    chat.page.wait_for_selector(".message.failed >> nth=1")
    chat.say("a short one")
    chat.stored(1)
    chat.page.reload()
    chat.connected()
    chat.say("another one")
    chat.stored(2)


def test_an_agent_that_fails_is_said_until_the_next_answer(chat: ChatPage) -> None:
    chat.say("please fail")
    chat.page.wait_for_selector("#failed:visible")
    assert "could not answer (agent-raised)" in chat.page.inner_text("#failed")
    assert chat.page.locator("#typing").is_hidden()
    chat.say("and now?")
    chat.until(1, ".message:not(.mine)")
    assert chat.page.locator("#failed").is_hidden()


def test_a_button_is_pressed(chat: ChatPage) -> None:
    chat.say("buttons")
    chat.until(2)
    assert chat.page.get_attribute(".buttons a", "href") == "https://example.org/"
    chat.page.click(".buttons button")
    chat.until(4)
    assert chat.texts(".mine") == ["buttons", "I say yes"]
    assert chat.answers()[1] == "you said I say yes"


def test_everything_has_a_label_and_enough_contrast(profile: "BrowserContext", server: ChatServer) -> None:
    page = open_tab(profile, server)
    page.page.goto(server.url)
    page.page.click("summary")
    checks = Path(__file__).with_name("accessible.js").read_text()
    for scheme in ("light", "dark"):
        page.page.emulate_media(color_scheme=scheme)
        assert page.page.evaluate(checks) == []
    page.page.fill("#token", TOKEN)
    page.page.press("#token", "Enter")
    page.connected()
    page.say("**hello** [link](https://example.org)\n\n> quote\n\n`code`")
    page.until(2)
    for scheme in ("light", "dark"):
        page.page.emulate_media(color_scheme=scheme)
        assert page.page.evaluate(checks) == []


@pytest.mark.parametrize("width", [320, 380, 700, 1300])
def test_nothing_is_cut_off_at_any_width(chat: ChatPage, width: int) -> None:
    chat.page.set_viewport_size({"width": width, "height": 700})
    chat.say("```\n" + "long line " * 60 + "\n```\nand " + "x" * 300)
    chat.until(2)
    assert chat.page.evaluate("document.documentElement.scrollWidth") <= width
    for selector in ("#send", "#leave", "#state"):
        box = chat.page.locator(selector).bounding_box()
        assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width, selector

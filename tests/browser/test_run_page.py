"""The page of a run in a real browser: it asks for nothing, runs nothing of a stranger, and is walked by keys."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from tests.support.app.repeated_runs import repeated
from tests.support.attach.cells import twice
from tests.support.chat_page import CHROMIUM
from tests.support.paths import ROOT
from trunkline.app.report.page.run_page import write_page
from trunkline.app.runs.model import Run
from trunkline.sim import judge, load_scenario, run_scenario

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

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
ACCESSIBLE = (Path(__file__).parent / "accessible.js").read_text()
HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    "<img src=https://evil.example/x onerror='window.hacked = 1'>",
    "<svg/onload=window.hacked=1> {{script}}",
    "\x1b[2J\u202egnp.exe\u2066 \u2028window.hacked=1//",
    "שלום עולם #5 العربية",
)


class RunPage:
    """A tab with the page of a run; in the end it has asked for nothing, and reported no error."""

    def __init__(self, page: "Page", file: Path) -> None:
        self.page = page
        self.asked: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self.errors.append(message.text))
        page.on("dialog", lambda dialog: self.errors.append(dialog.message))
        page.goto(file.as_uri())
        page.wait_for_selector("#rows [aria-current]")
        self.file = file.as_uri()

    def current(self) -> int:
        """The event of the current row, which the pane of facts is about too."""
        [seq] = self.page.eval_on_selector_all("#rows [aria-current]", "rows => rows.map(row => +row.dataset.seq)")
        assert self.page.inner_text("#event-title").startswith(f"#{seq} ")
        return seq

    def step(self) -> str:
        """The words of the current step of a violation."""
        return self.page.inner_text(".steps [aria-current=step] .text")

    def press(self, *keys: str) -> int:
        for key in keys:
            self.page.keyboard.press(key)
        return self.current()

    def check_quiet(self) -> None:
        others = [url for url in self.asked if url not in (self.file, "data:,")]
        assert (others, self.errors) == ([], [])


@pytest.fixture(scope="module")
def told() -> Run:
    file = load_scenario(ROOT / "scenarios/tour/told-twice.yaml")
    # Playwright has a loop in this thread.
    with ThreadPoolExecutor() as aside:
        return aside.submit(run_scenario, file, bugs=["hand-announces-too"]).result()


@pytest.fixture
def opened(profile: "BrowserContext", told: Run, tmp_path: Path) -> Generator[RunPage]:
    yield from opened_page(profile, told, tmp_path)


def opened_page(profile: "BrowserContext", run: Run, folder: Path) -> Generator[RunPage]:
    write_page(folder / "run.html", run)
    page = RunPage(profile.new_page(), folder / "run.html")
    yield page
    page.check_quiet()


def test_it_opens_at_the_first_violation(opened: RunPage) -> None:
    assert opened.current() == 89
    page = opened.page
    assert page.title() == "✗ The answer came twice, once in the thread and once in the channel"
    assert page.inner_text("#verdict").startswith("✗ violated: D2 R1 C3")
    assert "✗ first wrong step" in page.inner_text(".open .steps")
    assert "the same again: 2 of 2" in page.inner_text("#saw [aria-current]")
    assert page.inner_text("#repro code").endswith("told-twice.yaml --seed 1 --bug hand-announces-too")


def test_j_and_k_and_the_arrows_walk_along_the_timeline(opened: RunPage) -> None:
    assert opened.press("j") == 101
    assert opened.press("k", "ArrowUp") == 88
    assert opened.press("ArrowDown") == 89
    assert opened.press("Home") == 1
    assert opened.press("End") == 101
    # What happened later is faint: nothing at the end, all at the beginning.
    assert opened.page.locator(".bubble.later").count() == 0
    opened.press("Home")
    assert opened.page.locator(".bubble.later").count() == opened.page.locator(".bubble").count() > 0


def test_n_and_p_walk_from_step_to_step_and_on_to_the_next_violation(opened: RunPage) -> None:
    assert opened.press("p") == 78
    assert opened.step() == "announce prepared for discord/ops: hand-session-route"
    assert opened.press("p") == 75
    assert opened.press("n", "n") == 89
    assert opened.press("n") == 9
    assert "D2" in opened.page.inner_text(".violations .open b")
    assert opened.press("p") == 89
    assert "C3" in opened.page.inner_text(".violations .open b")


def test_the_inside_of_the_gateway_is_unfolded_and_a_link_leads_into_it(opened: RunPage) -> None:
    count = opened.page.locator("#count")
    assert count.inner_text() == "18 of 101 events"
    assert opened.press("m", "End", "k") == 100
    assert count.inner_text() == "101 of 101 events"
    assert opened.press("m", "Home", "j", "j", "j", "j") == 21
    opened.page.click("#rows [data-seq='30'] button")
    opened.page.click("#facts .jump >> text=#31")
    assert opened.current() == 31
    assert count.inner_text() == "19 of 101 events"


def test_clicks_show_facts_and_go_to_violations(opened: RunPage) -> None:
    page = opened.page
    page.click("#rows [data-seq='30'] button")
    assert opened.current() == 30 and "reply-to-origin" in page.inner_text("#facts")
    page.click(".headline >> nth=1")
    assert opened.current() == 89 and "D2" in page.inner_text(".violations .open b")
    page.click(".open .steps button >> nth=3")
    assert opened.current() == 21
    page.click("#saw .bubble >> text=ship it")
    assert opened.current() == 9
    page.click("#promises summary >> nth=0")
    assert "leads to at most one visible delivery" in page.inner_text("#promises")


def test_the_keys_are_listed(opened: RunPage) -> None:
    page = opened.page
    page.keyboard.press("?")
    assert "next step that led to a violation" in page.inner_text("dialog[open]")
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0 and opened.current() == 89


def test_an_address_names_an_event(opened: RunPage) -> None:
    opened.press("k")
    opened.page.wait_for_url("**#88")
    opened.page.reload()
    opened.page.wait_for_selector("#rows [aria-current]")
    assert opened.current() == 88


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1800])
def test_it_is_accessible_and_fits(opened: RunPage, scheme: str, width: int) -> None:
    page = opened.page
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.set_viewport_size({"width": width, "height": 850})
    page.wait_for_timeout(100)
    assert page.evaluate(ACCESSIBLE) == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator("main, header, section[aria-labelledby]").count() >= 6
    page.keyboard.press("Tab")
    ring = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(f"document.activeElement.matches(':focus-visible') && {ring}") in ("auto", "solid")


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_texts_of_strangers_are_shown_and_do_nothing(profile: "BrowserContext", tmp_path: Path, text: str) -> None:
    run = twice(question=text, answer=text)
    header = msgspec.structs.replace(run.trace.header, title=text, scenario=text)
    run = Run(trace=msgspec.structs.replace(run.trace, header=header), verdicts=run.verdicts)
    for opened in opened_page(profile, run, tmp_path):
        page = opened.page
        opened.press("Home", "j", "j", "m", "j", "n", "p", "!")
        shown = "".join(char if char.isprintable() else "·" for char in text)
        assert page.locator(".said").all_text_contents() == [shown] * 3
        assert page.text_content("#title") == shown
        assert page.evaluate("window.hacked") is None
        assert page.locator("img, svg, iframe, object, a").count() == 0 and page.locator("script").count() == 2
        assert page.evaluate("getComputedStyle(document.querySelector('.said')).unicodeBidi") == "isolate"


def test_a_script_that_a_text_could_bring_is_refused_by_the_policy(opened: RunPage) -> None:
    page = opened.page
    page.evaluate("""() => {
        window.refused = [];
        const note = (work) => { try { work(); } catch (error) { window.refused.push(error.name); } };
        note(() => { document.body.innerHTML = "<b>x</b>"; });
        const script = document.createElement("script");
        note(() => { script.text = "window.hacked = 1"; });
        script.append("window.hacked = 1");
        note(() => document.body.append(script));
        note(() => document.body.setAttribute("onclick", "window.hacked = 1"));
        document.body.click();
    }""")
    assert page.evaluate("window.refused.slice(0, 2)") == ["TypeError", "TypeError"]
    assert page.evaluate("window.hacked") is None
    assert opened.errors, "the browser tells of what was refused"
    opened.errors.clear()


def test_a_run_of_20000_events_is_walked_quickly(browser: "Browser", profile: "BrowserContext", tmp_path: Path) -> None:
    run = repeated(bug=True, count=20_000, shift=0.0)
    run = msgspec.structs.replace(run, verdicts=judge(run.trace.events))
    for opened in opened_page(profile, run, tmp_path):
        page = opened.page
        assert "4789 violations left out" in page.inner_text("#left-out")
        assert opened.press("m", "End") == 20_000
        assert page.locator("#rows li").count() < 80, "only rows in view are elements"
        spent = page.evaluate("""() => {
            const begin = performance.now();
            const press = () => document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "k", bubbles: true}));
            for (let n = 0; n < 100; n++) press();
            return performance.now() - begin;
        }""")
        assert opened.current() == 19_900
        assert spent < 100 * 200, "a key is answered in a fifth of a second, on a slow machine too"


def test_on_a_phone_an_event_opens_as_a_sheet(browser: "Browser", told: Run, tmp_path: Path) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    for opened in opened_page(context, told, tmp_path):
        page = opened.page
        assert not page.is_visible("#event")
        page.tap("#rows [data-seq='88'] button")
        assert page.is_visible("#event") and opened.current() == 88
        page.tap("#close")
        assert not page.is_visible("#event")
    context.close()


def test_without_scripts_the_report_is_there_as_text(browser: "Browser", told: Run, tmp_path: Path) -> None:
    write_page(tmp_path / "run.html", told)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "run.html").as_uri())
    assert "C3 Back to where it was asked" in page.inner_text("body")
    assert not page.is_visible("#timeline")
    context.close()

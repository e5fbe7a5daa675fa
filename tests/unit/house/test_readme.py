"""The first screen of README asks whose gateway it is, and has a command and a picture for each answer."""

import re

from tests.support.pages import DOCS, PAGES, blocks
from tests.support.paths import ROOT

README = (ROOT / "README.md").read_text("utf-8")
SCREEN = "".join(README.splitlines(keepends=True)[:25])
WAYS = ("trunkline attach", "trunkline serve", "make demo")
#: words that a reader has time for
WORDS = 900
#: bytes that a reader of the first screen loads for one picture
PICTURE_LIMIT = 200_000
#: bytes and seconds of the moving picture below them
FILM_LIMIT, FILM_SECONDS = 1_500_000, 60


def cells(row: int) -> list[str]:
    rows = [line for line in SCREEN.splitlines() if line.startswith("|")]
    return [cell.strip() for cell in rows[row].strip("|").split(" | ")]


def test_the_first_screen_asks_whose_gateway_it_is() -> None:
    assert "Whose gateway is it?" in SCREEN.partition("|")[0]
    assert [re.findall(r"^`([^`]+)`", cell) for cell in cells(2)] == [[way] for way in WAYS]


def test_each_answer_has_a_command() -> None:
    [block] = blocks(SCREEN)
    assert {way: way in block.text for way in WAYS} == dict.fromkeys(WAYS, True)


def test_each_answer_has_a_picture_that_leads_to_its_section() -> None:
    found = [re.fullmatch(r"\[!\[[^\]]+\]\(([^)]+)\)\]\(#([^)]+)\)", cell) for cell in cells(3)]
    links = [(match[1], match[2]) for match in found if match]
    assert len(links) == len(WAYS)
    heads = [head.lower().replace(" ", "-") for head in re.findall(r"^## (.+)$", README, re.MULTILINE)]
    assert [anchor for _, anchor in links if anchor not in heads] == []
    assert [name for name, _ in links if not 1000 < (ROOT / name).stat().st_size < PICTURE_LIMIT] == []


def test_the_moving_picture_is_short_and_loads_nothing() -> None:
    [name] = re.findall(r"^!\[[^\]]+\]\(([^)]+\.svg)\)$", README, re.MULTILINE)
    text = (ROOT / name).read_text("utf-8")
    assert len(text.encode()) < FILM_LIMIT
    assert float(re.findall(r"animation:([\d.]+)s", text)[0]) <= FILM_SECONDS
    frames = re.findall(r'<g class="f f(\d+)', text)
    assert frames == [str(number) for number in range(len(frames))] and len(frames) > 10
    assert re.findall(r"<script|href=|url\((?!#)|@import", text) == []


def test_the_readme_is_short() -> None:
    assert len(README.split()) <= WORDS


def test_every_page_is_listed() -> None:
    listed = (DOCS / "README.md").read_text("utf-8")
    pages = [path.relative_to(DOCS).as_posix() for path in PAGES if path.is_relative_to(DOCS)]
    # Those of one platform are linked from their common page, and the table of scenarios from that of attach.
    own = [page for page in pages if "/" not in page and page != "README.md"]
    assert [page for page in own if f"]({page})" not in listed] == []

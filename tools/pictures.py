"""Takes the pictures of README again: what the commands of its first screen show.

Needs Chromium (`tools/chromium.sh`); the tour is drawn in Fira Code, if that font is there.

    python -m tools.pictures docs/images
"""

import argparse
import math
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page

from tests.support.chat_page import chromium
from tests.support.paths import ROOT

README = ROOT / "README.md"
#: what Ana writes in the web chat; the agent answers with her own words
SAID = (
    "Good morning. Is the **nightly build** through?",
    "Then please:\n1. run `make test`\n2. send me the *last lines*",
)
FINDING_WIDTH, CHAT_SIZE = 900, (560, 700)
TOUR_CELLS = "80x40"


def command_of(name: str) -> list[str]:
    """The command of README's first screen that begins with these words, for this interpreter."""
    [line] = re.findall(rf"^trunkline {name}\b.*", README.read_text("utf-8"), re.MULTILINE)[:1]
    _, *words = shlex.split(line, comments=True)
    return [sys.executable, "-m", "trunkline", *words]


def draw_finding(page: Page, target: Path) -> None:
    """Run `trunkline attach`, and take its finding page down to the end of what people saw."""
    with TemporaryDirectory() as folder:
        command = command_of("attach")
        command[command.index("--report") + 1] = folder
        assert subprocess.run(command, cwd=ROOT, check=False).returncode == 1, "nothing was found"
        [finding] = Path(folder, "findings").glob("*.html")
        page.set_viewport_size({"width": FINDING_WIDTH, "height": 600})
        page.goto(finding.as_uri())
        end = page.get_by_text("The words that begin with QZ and AZ").bounding_box()
        assert end
        clip = {"x": 0, "y": 0, "width": FINDING_WIDTH, "height": end["y"] - 8}
        page.screenshot(path=target, full_page=True, clip=clip)


@contextmanager
def served() -> Iterator[tuple[str, str]]:
    """Address of a `trunkline serve` as it starts for everybody, and its token."""
    with TemporaryDirectory() as folder:
        command = [*command_of("serve"), "--state", folder, "--port", "0"]
        with subprocess.Popen(
            command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as server:
            assert server.stdout
            url = server.stdout.readline().split()[-1]
            server.stdout.readline()
            try:
                yield url, Path(folder, "token").read_text("utf-8").strip()
            finally:
                server.terminate()


def draw_chat(page: Page, target: Path) -> None:
    """Talk to `trunkline serve` in its web chat."""
    width, height = CHAT_SIZE
    page.set_viewport_size({"width": width, "height": height})
    with served() as (address, token):
        page.goto(address)
        page.fill("#token", token)
        page.fill("#name", "Ana")
        page.click("#entry-form button[type=submit]")
        page.wait_for_selector("#state[data-state=connected]")
        for number, text in enumerate(SAID, start=1):
            page.fill("#text", text)
            page.press("#text", "Enter")
            page.wait_for_function("count => document.querySelectorAll('.message').length === count", arg=2 * number)
        page.screenshot(path=target)
        page.goto("about:blank")


def draw_tour(page: Page, target: Path) -> None:
    """Draw the terminal app as `make demo` opens it."""
    with TemporaryDirectory() as folder:
        svg = Path(folder, "tour.svg")
        command = [sys.executable, "-m", "tools.screenshot", svg, "--size", TOUR_CELLS, "--scenario", "told-twice"]
        subprocess.run(command, cwd=ROOT, check=True)
        text = svg.read_text("utf-8")
    width, height = (math.ceil(float(number)) for number in re.findall(r'viewBox="0 0 (\S+) (\S+)"', text)[0])
    page.set_viewport_size({"width": width, "height": height})
    page.set_content(f"<body style='margin: 0'>{text}</body>")
    page.screenshot(path=target)


def main() -> None:
    """Read the command line and write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    with chromium() as browser:
        for draw, name in ((draw_finding, "finding.png"), (draw_chat, "web-chat.png"), (draw_tour, "tour.png")):
            page = browser.new_page(color_scheme="light")
            draw(page, folder / name)
            page.close()


if __name__ == "__main__":
    main()

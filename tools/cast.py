"""Records the moving picture of README: the tour in the terminal app, as one SVG that any browser plays.

    python -m tools.cast docs/images/tour.svg

The app runs headless and gets the keys below; each frame is its own picture of its screen. Nothing is drawn by hand but
the line below it.
"""

import argparse
import asyncio
import re
from html import escape
from pathlib import Path
from typing import NamedTuple

from tools.screenshot import FONT_FACE, settle, source_of
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.state.workspace import Workspace

SCENARIO = "told-twice"
SIZE = (100, 28)
_CAPTION = 44


class Scene(NamedTuple):
    """A part of the recording: keys, each with a frame after it, and what the line below says meanwhile."""

    caption: str
    keys: tuple[str, ...]
    #: of each frame but the last, and of the last
    pace: float
    hold: float


SCENES = (
    Scene("trunkline tour: a report from a public tracker, played against a gateway with the same defect", ("",), 0, 5),
    Scene("2: the timeline: who said what to whom, in virtual time", ("2", *("down",) * 8), 0.8, 2),
    Scene("n: the next violation. The answer came twice, and this is the second copy", ("n",), 0, 5),
    Scene("e: which promise broke, and the steps that led to it, with the first wrong one", ("e",), 0, 7),
    Scene("c: only what led to it", ("escape", "c"), 0.7, 5),
    Scene("3: each message, from where it was admitted to where people read it", ("3",), 0, 5),
    Scene("d: the same without the defect", ("d",), 0, 4),
    Scene("9: where the two part ways", ("9",), 0, 6),
)


async def record() -> list[tuple[str, str, float]]:
    """Frames: the picture, the line below it, and the seconds for which it is shown."""
    workspace = Workspace(source_of(made=False))
    entry = next(found for found in workspace.source.scenarios() if found.id == SCENARIO)
    workspace.open(entry, seed=workspace.seed_for(entry), bugs=entry.bugs, at_violation=False)
    frames: list[tuple[str, str, float]] = []
    app = TrunklineApp(workspace, first="overview", clocked=False)
    async with app.run_test(size=SIZE) as pilot:
        await settle(app)
        for scene in SCENES:
            for number, key in enumerate(scene.keys, start=1):
                if key:
                    await pilot.press(key)
                await settle(app)
                picture = FONT_FACE.sub("", app.export_screenshot(title="trunkline"))
                frames.append((picture, scene.caption, scene.hold if number == len(scene.keys) else scene.pace))
    return frames


def film(frames: list[tuple[str, str, float]]) -> str:
    """All frames in one SVG, each visible in its time. Who wants no motion sees the one that explains the violation."""
    width, height = (float(size) for size in re.findall(r'viewBox="0 0 (\S+) (\S+)"', frames[0][0])[0])
    total = sum(seconds for *_, seconds in frames)
    longest = max(range(len(frames)), key=lambda number: frames[number][2])
    rules = [f".f{{visibility:hidden;animation:{total:g}s step-end infinite}}"]
    shown: list[str] = []
    begin = 0.0
    for number, (picture, caption, seconds) in enumerate(frames):
        start, end = (100 * at / total for at in (begin, begin + seconds))
        begin += seconds
        times = f"{start:.3f}%{{visibility:visible}}"
        times = f"0%{{visibility:hidden}}{times}" if number else times
        times += f"{end:.3f}%{{visibility:hidden}}" if number + 1 < len(frames) else ""
        rules.append(f"@keyframes k{number}{{{times}}}.f{number}{{animation-name:k{number}}}")
        still = " still" if number == longest else ""
        placed = picture.replace("<svg ", f'<svg width="{width:g}" height="{height:g}" ', 1)
        line = f'<text x="{width / 2:g}" y="{height + _CAPTION * 0.6:g}">{escape(caption)}</text>'
        shown.append(f'<g class="f f{number}{still}">{placed}{line}</g>')
    rules.append("@media (prefers-reduced-motion:reduce){.f{animation:none}.still{visibility:visible}}")
    rules.append(".f>text{font:20px sans-serif;fill:#e8e8e8;text-anchor:middle}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height + _CAPTION:g}" role="img">'
        f"<title>The tour of Trunkline</title><style>{''.join(rules)}</style>"
        f'<rect width="100%" height="100%" rx="8" fill="#292929"/>{"".join(shown)}</svg>\n'
    )


def main() -> None:
    """Read the command line and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    target = parser.parse_args().target
    target.write_text(film(asyncio.run(record())), encoding="utf-8")


if __name__ == "__main__":
    main()

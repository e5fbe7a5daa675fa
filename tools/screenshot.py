"""Draws the terminal app into an SVG file, headless, for the documentation and for reviews of screens.

    python -m tools.screenshot docs/images/timeline.svg --size 120x40 --keys n,c --scenario ID

`--made` uses the hand-made runs of the tests instead of the simulator.
"""

import argparse
import asyncio
import re
from pathlib import Path

from trunkline.app.runs.model import RunSource
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.state.workspace import Workspace

#: the exported file refers to a web font, which the picture must not fetch
FONT_FACE = re.compile(r"@font-face\s*\{.*?\}", re.DOTALL)


async def settle(app: TrunklineApp) -> None:
    """Wait until the screen is drawn, however busy the machine is."""
    for _ in range(3):
        await asyncio.sleep(0)
        done = asyncio.Event()
        app.screen.call_after_refresh(done.set)
        await done.wait()


async def draw(app: TrunklineApp, size: tuple[int, int], keys: list[str]) -> str:
    """The screen after pressing the keys, as SVG without web fonts."""
    async with app.run_test(size=size) as pilot:
        await settle(app)
        for key in keys:
            await pilot.press(key)
            await settle(app)
        return FONT_FACE.sub("", app.export_screenshot(title="trunkline"))


def source_of(*, made: bool) -> RunSource:
    """Runs of the simulator, or the hand-made ones."""
    if made:
        from tests.support.app.traces import ListedRuns

        return ListedRuns()
    from trunkline.app.runs.scenario_source import SimSource
    from trunkline.sim import scenario_home

    return SimSource((scenario_home(),))


def main() -> None:
    """Read the command line and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--keys", default="", help="names of keys, separated by commas")
    parser.add_argument("--scenario", default="", help="id of a scenario; without it, the picker")
    parser.add_argument("--seed", type=int, help="default: the scenario's own seed")
    parser.add_argument("--without-bugs", action="store_true")
    parser.add_argument("--theme", default="textual-dark")
    parser.add_argument("--ascii", action="store_true")
    parser.add_argument(
        "--start", action="store_true", help="put the cursor at the start instead of the first violation"
    )
    parser.add_argument("--made", action="store_true", help="use the hand-made runs of the tests")
    args = parser.parse_args()
    workspace = Workspace(source_of(made=args.made), seed=args.seed or 0)
    if args.scenario:
        entry = next(one for one in workspace.source.scenarios() if one.id == args.scenario)
        bugs = () if args.without_bugs else entry.bugs
        seed = workspace.seed_for(entry) if args.seed is None else args.seed
        workspace.open(entry, seed=seed, bugs=bugs, at_violation=not args.start)
    width, height = (int(part) for part in args.size.split("x"))
    app = TrunklineApp(workspace, ascii_only=args.ascii, theme=args.theme, clocked=False)
    keys = [key for key in args.keys.split(",") if key]
    svg = asyncio.run(draw(app, (width, height), keys))
    args.target.parent.mkdir(parents=True, exist_ok=True)
    args.target.write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()

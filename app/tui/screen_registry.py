"""The screens of a run, each declared once: app modes, tabs, keys, help and footer derive from this table.

A new screen needs a row here, a view model in `app/view/`, and `screens/<name>/screen.py` with its `RunScreen`.
"""

from __future__ import annotations

import msgspec


class ScreenSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A screen of a run. Its class is `<Title>Screen` in `trunkline.app.tui.screens.<name>.screen`."""

    name: str
    #: the key that shows it: a digit, or any other key that no screen of a run binds
    key: str
    title: str
    #: title in a narrow tab bar
    short: str
    #: completes the title in the help
    help: str
    #: shown in the footer when a situation asks for it
    in_footer: bool = False


SCREENS = (
    ScreenSpec(
        name="overview", key="1", title="Overview", short="Over", help="the violations, and all else in a few lines"
    ),
    ScreenSpec(name="timeline", key="2", title="Timeline", short="Time", help="who said what to whom, and why"),
    ScreenSpec(
        name="messages", key="3", title="Messages", short="Msgs", help="the life of one message, stage by stage"
    ),
    ScreenSpec(name="sessions", key="4", title="Sessions", short="Sess", help="the transcript beside what people saw"),
    ScreenSpec(
        name="bindings", key="5", title="Bindings", short="Bind", help="which conversation belongs to which session"
    ),
    ScreenSpec(name="queue", key="6", title="Queue", short="Queue", help="every prepared message and its state"),
    ScreenSpec(name="hands", key="7", title="Hands", short="Hands", help="delegated work, and who was notified"),
    ScreenSpec(name="invariants", key="8", title="Invariants", short="Inv", help="each invariant, and what broke it"),
    ScreenSpec(name="diff", key="9", title="Diff", short="Diff", help="two runs, where they part", in_footer=True),
)
#: names of the screens, in the order of their tabs
NAMES = tuple(spec.name for spec in SCREENS)

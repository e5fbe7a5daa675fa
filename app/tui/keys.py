"""The screens of a run, and the table of all keys: bindings, help, footer and docs/keys.md derive from it.

Terminals and IDEs intercept some control and function keys, so each of those has a plain alternative in its row.
"""

from collections.abc import Iterator

import msgspec
from textual.binding import Binding

# The screens of a run, each declared once: app modes, tabs, keys, help and footer derive from this table.
#
# A new screen needs a row here, a view model in `app/view/`, and `screens/<name>/screen.py` with its `RunScreen`.


class ScreenSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A screen of a run. Its class is `<Title>Screen` in `trunkline.app.tui.screens.<name>.screen`."""

    name: str
    #: the key that shows it: a digit, or any other key that no screen of a run binds
    key: str
    #: title in a narrow tab bar
    short: str
    #: completes the title in the help
    help: str
    #: shown in the footer when a situation asks for it
    in_footer: bool = False

    @property
    def title(self) -> str:
        return self.name.capitalize()


SCREENS = (
    ScreenSpec(name="overview", key="1", short="Over", help="the violations, and all else in a few lines"),
    ScreenSpec(name="timeline", key="2", short="Time", help="who said what to whom, and why"),
    ScreenSpec(name="messages", key="3", short="Msgs", help="the life of one message, stage by stage"),
    ScreenSpec(name="sessions", key="4", short="Sess", help="the transcript beside what people saw"),
    ScreenSpec(name="bindings", key="5", short="Bind", help="which conversation belongs to which session"),
    ScreenSpec(name="queue", key="6", short="Queue", help="every prepared message and its state"),
    ScreenSpec(name="hands", key="7", short="Hands", help="delegated work, and who was notified"),
    ScreenSpec(name="invariants", key="8", short="Inv", help="each invariant, and what broke it"),
    ScreenSpec(name="diff", key="9", short="Diff", help="two runs, where they part", in_footer=True),
)
#: names of the screens, in the order of their tabs
NAMES = tuple(spec.name for spec in SCREENS)


#: usual names of keys
_SHOWN = {
    "backslash": "\\",
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "home": "Home",
    "end": "End",
    "enter": "Enter",
    "space": "Space",
    "escape": "Esc",
    "tab": "Tab",
    "shift+tab": "Shift-Tab",
    "f1": "F1",
}


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """An action and its keys. `action` names a method `action_...` of its screens, or of the app after ``app.``."""

    id: str
    keys: tuple[str, ...]
    action: str
    group: str = ""
    help: str
    #: word in the footer; blank keeps it out
    footer: str = ""
    #: lower is more important in the footer
    rank: int = 50
    screens: tuple[str, ...]

    @property
    def shown(self) -> str:
        """The usual names of the keys."""
        return " ".join(show(key) for key in self.keys)


def show(key: str) -> str:
    """The usual name of a key: ``^p`` for control and p."""
    return f"^{key[5:]}" if key.startswith("ctrl+") else _SHOWN.get(key, key)


TIMELINE = ("timeline",)
PICKER = ("picker",)
BINDINGS = ("bindings",)
HANDS = ("hands",)
RUN = NAMES
DIFF = ("diff",)
#: on the Hands screen H leads the other way
NOT_HANDS = tuple(screen for screen in RUN if screen not in HANDS)
#: screens where n and N find violations; on the Diff screen they find differences
RUN_ALONE = tuple(screen for screen in RUN if screen not in DIFF)
EVERY = (*RUN, "picker")
#: names of these groups in docs/keys.md, which would change with every screen else
_WHERE = {EVERY: "everywhere", RUN: "run", NOT_HANDS: "run, but not hands", RUN_ALONE: "run, but not diff"}


#: rank of keys that the footer shows only in some situations
SELDOM = 90


def _key(
    name: str, keys: str, what: str, screens: tuple[str, ...], *, action: str = "", footer: str = "", rank: int = 50
) -> Key:
    """A row; by default the action has the name of the row."""
    return Key(
        id=name, keys=tuple(keys.split()), action=action or name, help=what, screens=screens, footer=footer, rank=rank
    )


_TABLE: dict[str, tuple[Key, ...]] = {
    "move": (
        _key("down", "j down", "next row", EVERY, action="move(1)"),
        _key("up", "k up", "previous row", EVERY, action="move(-1)"),
        _key("page_down", "J ctrl+d pagedown", "a page down", EVERY, action="page(1)"),
        _key("page_up", "K ctrl+u pageup", "a page up", EVERY, action="page(-1)"),
        _key("first", "g home", "first row", EVERY, action="end(-1)"),
        _key("last", "G end", "last row", EVERY, action="end(1)"),
        _key("left", "h left", "lanes to the left, pane to the left", RUN),
        _key("right", "l right", "lanes to the right, pane to the right", RUN),
        _key("next_pane", "tab", "next pane", EVERY, action="app.focus_next"),
        _key("previous_pane", "shift+tab", "previous pane", EVERY, action="app.focus_previous"),
        _key("enter", "enter", "enter: the explanation, or the event of a line", RUN),
        _key("run", "enter", "run the scenario", PICKER, action="enter", footer="Run", rank=1),
        _key("back", "escape", "leave zoom, chain or pane (never quits)", RUN),
        _key("close", "escape", "back to the run", PICKER, action="back", footer="Back", rank=3),
        _key("previous_screen", "-", "the screen before this one", RUN, action="app.show_previous"),
    ),
    "time": (
        _key("play", "space", "play or pause", RUN, footer="Play", rank=1),
        _key("step", "]", "one event forward", RUN, action="step(1)", footer="Step", rank=2),
        _key("step_back", "[", "one event back", RUN, action="step(-1)", footer="Back", rank=3),
        _key("delivery", "}", "next message on the wire", RUN, action="delivery(1)"),
        _key("delivery_back", "{", "previous message on the wire", RUN, action="delivery(-1)"),
        _key("rewind", "0", "rewind to the start", RUN),
        _key("run_to_end", "$", "run to the end", RUN, footer="End", rank=11),
        _key("next_timer", ".", "next due timer: the next event 0.5 s or more after this one", RUN),
        _key("follow", "F", "follow the end, also while the run grows", RUN, footer="Follow", rank=SELDOM),
        _key("faster", ">", "twice as fast", RUN, action="speed(1)"),
        _key("slower", "<", "half as fast", RUN, action="speed(-1)"),
    ),
    "find": (
        _key("next_violation", "n", "next violation", RUN_ALONE, action="violation(1)", footer="Next ✗", rank=1),
        _key("previous_violation", "N", "previous violation", RUN_ALONE, action="violation(-1)"),
        _key("next_difference", "n", "where the next differences begin", DIFF, action="differ(1)",
             footer="Next ≠", rank=1),
        _key("previous_difference", "N", "where the differences before begin", DIFF, action="differ(-1)"),
        _key("first_violation", "!", "first violation", RUN),
        _key("culprit", "C", "the step that went wrong first; then what it led to", RUN, footer="Culprit", rank=12),
        _key("twin", "t", "the other copy of a duplicate", RUN, footer="Twin", rank=7),
        _key("chain", "c", "light the causal chain of the event", TIMELINE, footer="Chain", rank=10),
        _key("ask", "o", "ask where a conversation goes, and why", BINDINGS, footer="Ask", rank=2),
        _key("hand", "H", "the delegation of this message", NOT_HANDS, footer="Hand", rank=8),
        _key("message", "H", "the last message of this delegation", HANDS, action="hand", footer="Message", rank=8),
        _key("why_not", "w", "why not elsewhere: what excluded another place", RUN),
        _key("marks", "'", "marks: set one here, or go to one", RUN),
        _key("filter_rows", "/", "filter the rows; n and N then go through them", RUN, footer="Filter", rank=10),
        _key("filter", "/", "filter the list", PICKER, footer="Filter", rank=4),
    ),
    "view": (
        *(_key(spec.name, spec.key, f"{spec.title}: {spec.help}", RUN, action=f"app.show('{spec.name}')",
               footer=spec.title if spec.in_footer else "", rank=SELDOM) for spec in SCREENS),
        _key("bars", "B", "parallel runs as bars over time, or columns again", HANDS, footer="Bars", rank=7),
        _key("lanes", "L", "lanes: hide those that do not matter", TIMELINE),
        _key("fold", "m", "unfold or fold what happens inside the gateway", TIMELINE),
        _key("zoom", "z", "zoom the pane that has the focus", RUN, footer="Zoom", rank=12),
        _key("side", "\\", "show or hide the side column, in a terminal of 150x40 or more", TIMELINE),
        _key("why", "e", "explain: the Why pane, large", RUN, footer="Explain", rank=9),
        _key("theme", "T", "next theme", EVERY, action="app.next_theme"),
    ),
    "act": (
        _key("scenarios", "s", "choose a scenario", RUN, action="app.open_picker", footer="Scenarios", rank=8),
        _key("breakpoints", "b", "breakpoints: where playing stops", RUN),
        _key("run_all", "a", "run all listed scenarios for their results", PICKER, footer="Run all", rank=2),
        _key("bug", "d", "run with the defect of the scenario, or without it", EVERY, footer="Defect", rank=9),
        _key("fault", "i", "place a fault at the cursor, as branch B", RUN, footer="Fault", rank=6),
        _key("undo_fault", "u", "undo the last fault", RUN, footer="Undo", rank=SELDOM),
        _key("pin", "p", "pin the open run as A, or release it", RUN, footer="Pin", rank=SELDOM),
        _key("save_scenario", "W", "write the run as a scenario, as observed", RUN, footer="Keep", rank=SELDOM),
        _key("shrink", "S", "the smallest scenario with the same violation, written and opened", RUN),
        _key("rerun", "r", "run again, same seed", RUN),
        _key("reseed", "R", "run again, next seed", RUN),
        _key("yank", "y", "copy the row, the decision, an id, or the command that runs it again", RUN),
        _key("export", "x", "write a picture, the visible text or the trace into the current folder", RUN),
    ),
    "app": (
        _key("help", "? f1", "this help: type to filter, Enter does it", EVERY, action="app.help",
             footer="Help", rank=4),
        _key("palette", ": ctrl+p", "command palette", EVERY, action="app.command_palette"),
        _key("notes", "v", "notes: past notifications", RUN),
        _key("suspend", "Z ctrl+z", "back to the shell for a while: fg goes on", EVERY, action="app.suspend_process"),
        _key("quit", "q ctrl+c", "quit", EVERY, action="app.quit", footer="Quit", rank=5),
    ),
}  # fmt: skip

KEYS: tuple[Key, ...] = tuple(
    msgspec.structs.replace(key, group=group) for group, keys in _TABLE.items() for key in keys
)
GROUPS = {"move": "Move", "time": "Time", "find": "Find", "view": "View", "act": "Act", "app": "App"}


def keys_of(screen: str) -> Iterator[Key]:
    return (key for key in KEYS if screen in key.screens)


def bindings_of(screen: str) -> list[Binding]:
    return [
        Binding(",".join(key.keys), key.action, key.help, show=False, id=f"{screen}.{key.id}")
        for key in keys_of(screen)
    ]


def footer_of(screen: str) -> list[Key]:
    """The keys for the footer of a screen, the most important first; rank `SELDOM` only in some situations."""
    return sorted((key for key in keys_of(screen) if key.footer), key=lambda key: key.rank)


def as_markdown() -> str:
    lines = ["# Keys", "", "Made by `python -m trunkline.app.tui.keys` from the table in `app/tui/keys.py`."]
    lines += ["`run` stands for the screens of a run.", ""]
    for group, title in GROUPS.items():
        lines += [f"## {title}", "", "| keys | what | where |", "| --- | --- | --- |"]
        for key in KEYS:
            if key.group == group:
                keys = " ".join(f"`{show(name)}`" for name in key.keys)
                where = _WHERE.get(key.screens) or ", ".join(key.screens)
                lines.append(f"| {keys} | {key.help} | {where} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(as_markdown(), end="")

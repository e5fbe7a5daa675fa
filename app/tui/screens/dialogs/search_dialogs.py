"""Dialogs over a list: breakpoints, lanes, the filter, marks, why an answer went nowhere else, notes, a menu, help."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Generic, TypeVar

import msgspec
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from trunkline.app.text.cells import clean, count, error_text, seconds
from trunkline.app.text.fact import Tone
from trunkline.app.tui.keys import GROUPS, RUN, Key, keys_of
from trunkline.app.tui.screens.screen_base import CHOOSING, TYPING, Dialog
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.dialog_list import DialogList, DialogRow
from trunkline.app.view.explain.explanation import Choice
from trunkline.app.view.explain.resolver import Alternative, why_not
from trunkline.app.view.timeline import filters
from trunkline.app.view.timeline.filters import LaneChoice, choosable
from trunkline.core.errors import UsageError

Result = TypeVar("Result")


class Item(msgspec.Struct, frozen=True):
    mark: str
    name: str
    text: str = ""
    tone: Tone = Tone.PLAIN


class ItemList(DialogList):
    def write_items(self, items: Iterable[Item], *, keep: bool = False) -> None:
        """Replace the items; `keep`: the selection stays."""
        self.write(map(self._row, items), keep=keep)

    def _row(self, item: Item) -> DialogRow:
        style = self.palette.tone(item.tone)
        return (item.mark, style), (item.name, style + Style(bold=item.tone is Tone.GOOD)), (item.text, style)


class TypedDialog(Dialog[Result], Generic[Result]):
    """A dialog with an input line, and a list that follows what is typed."""

    AUTO_FOCUS = "#words"
    BINDINGS = TYPING
    placeholder = ""

    def __init__(self, lines: Widget, value: str = "") -> None:
        super().__init__()
        self._lines_below = lines
        self.words = Input(value, placeholder=self.placeholder, id="words", compact=True)
        self.words.cursor_blink = False

    def content(self) -> Iterable[Widget]:
        return self.words, self._lines_below

    def on_mount(self) -> None:
        self.show(self.words.value)

    def on_input_changed(self, message: Input.Changed) -> None:
        self.show(message.value)

    def on_input_submitted(self) -> None:
        self.take()

    def on_option_list_option_selected(self) -> None:
        """Take the line that was clicked twice."""
        self.take()

    def repaint(self) -> None:
        self.show(self.words.value)

    def show(self, text: str) -> None:
        """Write the lines for what is typed."""
        raise NotImplementedError

    def take(self) -> None:
        """Act on the selected line."""
        raise NotImplementedError


class SearchDialog(TypedDialog[Result], Generic[Result]):
    """Subclasses give titles and items, and what Enter does."""

    #: shown while there are no items; whether their long texts go on in further lines
    nothing = ""
    wraps = False

    def __init__(self, workspace: Workspace, value: str = "") -> None:
        self.workspace = workspace
        self.list = ItemList(id="lines")
        self.list.nothing, self.list.wraps = self.nothing, self.wraps
        super().__init__(self.list, value)


_WHAT = {
    filters.BreakpointKind.KIND: "at each event of the kind",
    filters.BreakpointKind.LANE: "whenever something crosses the lane",
    filters.BreakpointKind.INVARIANT: "where it breaks",
    filters.BreakpointKind.FILTER: "at each row that it keeps",
}


class BreakpointsDialog(SearchDialog[None]):
    """Enter sets or removes the selected breakpoint. A typed filter becomes a breakpoint."""

    title_text = "Breakpoints: where playing stops"
    hint = "Enter sets or removes, Esc closes"
    placeholder = "a filter to stop at: k:fallback, lane:ops v:dup, a word"
    _lines: Sequence[filters.Breakpoint | None] = ()

    def show(self, text: str) -> None:
        """Write all lines: the switch, the set breakpoints, and those that can be set."""
        self._write(text, keep=False)
        if text.strip():
            # Enter takes the typed filter.
            self.list.select(1 + len(self.workspace.search.breakpoints.set))

    def _write(self, text: str, *, keep: bool) -> None:
        points, run = self.workspace.search.breakpoints, self.workspace.run
        field = self.workspace.search.field(run)
        sign, state, tone = ("●", "on", Tone.PLAIN) if points.on_broken else ("○", "off", Tone.DIM)
        stops = count(len(run.view.marks.stops), "event")
        items = [Item(sign, "any broken invariant", f"{state}  {stops} in this run", tone)]
        for point in points.set:
            items.append(Item("●", str(point), f"set  {count(len(field.hits(point)), 'event')}"))
        index = self.workspace.all_rows.row_at(self.workspace.cursor)
        row = self.workspace.all_rows.rows[index] if index >= 0 else None
        offers = [offer for offer in field.offers(self.workspace.cursor, row, text) if offer not in points.set]
        for offer in offers:
            hits = count(len(field.hits(offer)), "event")
            items.append(Item("+", str(offer), f"{_WHAT[offer.on]}: {hits}", Tone.DIM))
        self._lines = (None, *points.set, *offers)
        self.list.write_items(items, keep=keep)

    def take(self) -> None:
        points = self.workspace.search.breakpoints
        index = self.list.selected
        line = self._lines[index] if 0 <= index < len(self._lines) else None
        if line is None:
            points.on_broken = not points.on_broken
        else:
            with self.host.warn_on_error():
                points.toggle(line)
                if line.on is filters.BreakpointKind.FILTER and self.words.value:
                    self.words.value = ""
        self._write(self.words.value, keep=True)


class LanesDialog(SearchDialog[None]):
    """Enter hides or shows the selected lane. Its rows stay: their arrows lead out of the picture."""

    title_text = "Lanes: which of them are drawn"
    hint = "Enter hides or shows, Esc closes"
    placeholder = "name of a place or a hand"
    nothing = "no lane has this name"
    _lanes: Sequence[LaneChoice | None] = ()

    def show(self, text: str) -> None:
        self._write(text, keep=False)
        if text.strip() and self._lanes[1:]:
            self.list.select(1)

    def _write(self, text: str, *, keep: bool) -> None:
        run, hidden = self.workspace.run, self.workspace.view_options.hidden
        every = choosable(run.lanes, self.workspace.all_rows.rows, hidden)
        wanted = text.casefold().split()
        found = [choice for choice in every if all(word in choice.name.casefold() for word in wanted)]
        gone = sum(choice.hidden for choice in every)
        self._lanes = [None, *found]
        first = Item("●", "all lanes", f"{len(every)}, all shown")
        if gone:
            first = Item("○", "all lanes", f"{gone} of {len(every)} hidden: Enter shows all", Tone.WARN)
        self.list.write_items([first, *map(_item, found)], keep=keep)

    def take(self) -> None:
        """Hide the lane, or show it; on the first line: show all."""
        index = self.list.selected
        if not 0 <= index < len(self._lanes):
            return
        choice, hidden = self._lanes[index], self.workspace.view_options.hidden
        if choice is None:
            hidden.clear()
        else:
            hidden ^= {choice.name}
        self._write(self.words.value, keep=True)


def _item(choice: LaneChoice) -> Item:
    rows = count(choice.rows, "row") if choice.rows else "idle: nothing happens in it"
    name = clean(choice.name)
    return Item("○", name, f"hidden  {rows}", Tone.DIM) if choice.hidden else Item("●", name, rows)


#: matches that are shown below
SHOWN = 200


class FilterDialog(SearchDialog[str]):
    """Returns the text of the filter, blank for none."""

    title_text = "Filter the rows"
    hint = "Enter keeps these rows, an empty line all, Esc closes"
    placeholder = "words, k:wire, lane:ops, v:dup, sess:key, id:m1; ! keeps the others"

    def __init__(self, workspace: Workspace) -> None:
        self._wrong = False
        super().__init__(workspace, str(workspace.search.filter or ""))

    def show(self, text: str) -> None:
        self._wrong = False
        try:
            filter_ = filters.parse_filter(text)
        except UsageError as error:
            self._wrong = True
            self.list.write_items([Item("✗", error_text(error), tone=Tone.WARN)])
            return
        self.list.write_items(self._kept(filter_) if filter_ else self._syntax())

    def _kept(self, filter_: filters.TimelineFilter) -> Iterator[Item]:
        run, rows = self.workspace.run, self.workspace.all_rows.rows
        found = filters.FilterMatcher(run.view, run.lanes).rows(filter_, rows)
        mark, tone = ("✓", Tone.GOOD) if found else ("✗", Tone.WARN)
        yield Item(mark, f"{len(found)} of {len(rows)} rows", tone=tone)
        for row in found[:SHOWN]:
            yield Item("", f"#{row.seq}", f"{' '.join((*row.tags, row.who, row.text))}".strip())

    def _syntax(self) -> Iterator[Item]:
        yield Item("", "word", "rows that say it; several words: all of them")
        for field, what in filters.FIELDS.items():
            yield Item("", f"{field}:", what)
        yield Item("", "!…", "the other rows: !k:wire")
        for verdict, (what, _) in filters.VERDICTS.items():
            yield Item("", f"v:{verdict}", what, Tone.DIM)

    def take(self) -> None:
        if not self._wrong:
            self.dismiss(self.words.value)


class BookmarksDialog(SearchDialog[int]):
    """Returns the event to go to, if one was chosen. The typed text names a new mark."""

    title_text = "Marks: moments to come back to"
    hint = "Enter sets, goes or removes, Esc closes"
    placeholder = "a name for a mark here, or nothing"
    _seqs: Sequence[int] = ()

    def show(self, text: str) -> None:
        """The event under the cursor, then every mark in order of time."""
        run, here = self.workspace.run, self.workspace.cursor
        marks = self.workspace.view_options.marks(run)
        name = " ".join(text.split())
        items: list[Item] = []
        if here in marks and not name:
            items.append(Item("–", f"#{here}", "Enter removes the mark here", Tone.DIM))
        else:
            called = f" as {name}" if name else ""
            items.append(Item("+", f"#{here}", f"Enter marks this moment{clean(called)}"))
        self._seqs = sorted(marks)
        for seq in self._seqs:
            what = marks[seq] or self._what(seq)
            where = "  (here)" if seq == here else ""
            items.append(Item("'", f"#{seq}", f"{seconds(run.view.time(seq))} s  {clean(what)}{where}"))
        self.list.write_items(items)
        if marks and not name and here not in marks:
            self.list.select(1)

    def _what(self, seq: int) -> str:
        index = self.workspace.all_rows.row_at(seq)
        return self.workspace.all_rows.rows[index].text if index >= 0 else "before the first event"

    def take(self) -> None:
        index = self.list.selected
        here, marks = self.workspace.cursor, self.workspace.view_options.marks(self.workspace.run)
        name = " ".join(self.words.value.split())
        if index > 0:
            self.dismiss(self._seqs[index - 1])
        elif here in marks and not name:
            del marks[here]
            self.dismiss(None)
        else:
            marks[here] = name
            self.dismiss(None)


class AlternativesDialog(SearchDialog[int]):
    """Returns the event of the chosen decision, if any."""

    hint = "type a place, Enter goes to the decision, Esc closes"
    placeholder = "why not there: type a place"
    wraps = True
    _shown: Sequence[Alternative] = ()

    def __init__(self, workspace: Workspace) -> None:
        event = workspace.run.view.event(workspace.cursor) if workspace.cursor else None
        self.title_text = f"Why not elsewhere?  #{event.seq} {event.kind}" if event else "Why not elsewhere?"
        self._answers = why_not(workspace.run.view, workspace.cursor) if event else []
        super().__init__(workspace)
        self.list.nothing = "no place of this run has this name" if event else "nothing has happened yet: ] steps"

    def show(self, text: str) -> None:
        wanted = text.casefold().split()
        self._shown = [answer for answer in self._answers if all(word in answer.name.casefold() for word in wanted)]
        self.list.write_items(
            Item(shown.mark, clean(shown.name), f"{shown.text}{f'  #{shown.seq}' if shown.seq else ''}", shown.tone)
            for shown in self._shown
        )

    def take(self) -> None:
        index = self.list.selected
        if 0 <= index < len(self._shown) and self._shown[index].seq:
            self.dismiss(self._shown[index].seq)


_SIGNS = {"information": ("·", Tone.PLAIN), "warning": ("!", Tone.WARN), "error": ("✗", Tone.BAD)}


class NotificationsDialog(SearchDialog[None]):
    """Notifications, newest first; typing filters them."""

    title_text = "Notes: past notifications"
    hint = "type to filter, Esc closes"
    placeholder = "words"
    nothing = "no notification yet"
    wraps = True

    def show(self, text: str) -> None:
        notes, words = tuple(self.host.notes), text.lower().split()
        if notes:
            self.list.nothing = f"none of {len(notes)} notes has these words"
        self.list.write_items(
            Item(_SIGNS[note.severity][0], "", clean(note.text), _SIGNS[note.severity][1])
            for note in notes
            if all(word in note.text.lower() for word in words)
        )

    def take(self) -> None:
        self.dismiss(None)


# A small menu: each choice has a letter, a title, and the beginning of its text.


class MenuList(DialogList):
    """The choices. A click takes one."""

    starts = (1, 4, 26)
    click_takes = True


class MenuDialog(Dialog[Choice]):
    """Returns the choice that was taken, if any."""

    hint = "a letter or Enter takes it, Esc closes"
    BINDINGS: ClassVar[list[BindingType]] = [
        *CHOOSING,
        Binding("enter", "enter", "take it", show=False),
        Binding("escape,q,f1", "back", "close", show=False),
    ]

    def __init__(self, title: str, choices: Sequence[Choice]) -> None:
        super().__init__()
        self.title_text = title
        self._choices = tuple(choices)
        self.list = MenuList(id="choices")

    def content(self) -> Iterable[Widget]:
        yield self.list

    def on_mount(self) -> None:
        self.query_one(".box").styles.height = len(self._choices) + 2
        self.repaint()

    def repaint(self) -> None:
        palette = self.host.palette
        self.list.write(
            (
                ((choice.key, palette.primary), (choice.title, palette.base), (clean(choice.text), palette.dim))
                for choice in self._choices
            ),
            keep=True,
        )

    def on_key(self, event: events.Key) -> None:
        found = next((choice for choice in self._choices if choice.key and choice.key == event.character), None)
        if found is not None:
            event.stop()
            event.prevent_default()
            self.dismiss(found)

    def on_option_list_option_selected(self) -> None:
        self.action_enter()

    def action_enter(self) -> None:
        if 0 <= self.list.selected < len(self._choices):
            self.dismiss(self._choices[self.list.selected])


# Help: every key of a screen, and the signs that it draws. Typing filters, Enter runs the action.

#: the signs on screens, with their meanings
LEGEND = {
    "✓  –  ✗": "an invariant holds, had nothing to judge in this run, is violated",
    "1×  2×  3×": "copies of one thing that should be there once; the bracket ┏ ┗ joins them, t jumps",
    "!!": "at the wrong place",
    "cause": "the culprit: it went wrong here first",
    "gap": "nothing followed, and in the sound run something does",
    "FB": "sent elsewhere, as a fallback that was decided and recorded: allowed",
    "??": "unknown whether it arrived",
    "RT2": "attempt 2 failed, there will be another",
    "RP": "the platform delivers an old message again",
    "sup": "deliberately not sent, with a reason",
    "✗!": "will not be delivered any more",
    "½": "a part of the message arrived, the rest will not",
    "m": "mirrored: the transcript of its session has the sent text",
    "m!  m?": "mirrored into the wrong session; missing in the transcript",
    "≠": "the transcript and what people saw differ here",
    "┨  ┃  ┠": "the gateway's own line: messages to its left, hands to its right",
    "└▸  ◆": "a thread of the lane to its left; a place that is bound to a session",
    "dm": "who reads in a lane: one person (dm), a group (group), everybody there (public)",
    "tok#2  tok#1!": "the token that an account speaks with; it still used an older one than it was given",
    "‹  ›": "it leads to a lane that is out of sight or hidden",
    "▐  █": "the right edge is the whole run: what is in view, and where something is broken",
    "'": "a moment that you marked",
}


#: the group of signs, which are no keys
_SIGN = "signs"
_TITLES = {**GROUPS, _SIGN: "Signs"}
#: arrows as words: their ASCII signs are keys too
_ARROWS = str.maketrans({"↓": "Down", "↑": "Up", "←": "Left", "→": "Right"})


class KeyList(DialogList):
    """Keys with their help, by group; on the screens of a run also the signs that are drawn there."""

    starts = (0, 6, 22)
    wraps = True

    def __init__(self, screen: str, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        order = list(GROUPS)
        self.all = sorted(keys_of(screen), key=lambda key: order.index(key.group))
        if screen in RUN:
            # A sign is a row without an action.
            self.all += [
                Key(id=sign, keys=(sign,), action="", group=_SIGN, help=meaning, screens=())
                for sign, meaning in LEGEND.items()
            ]
        self.nothing = f"none of {len(self.all)} keys and signs: Esc closes"
        self.shown: list[Key] = list(self.all)

    @property
    def chosen(self) -> Key | None:
        return self.shown[self.selected] if 0 <= self.selected < len(self.shown) else None

    def filter(self, words: str) -> None:
        """Show the keys whose help or group has every word; a key that is typed itself comes first."""
        wanted = words.lower().split()
        found = [
            key for key in self.all if all(word in f"{key.help} {key.group} {key.footer}".lower() for word in wanted)
        ]
        exact = [key for key in self.all if words.strip() in (*key.keys, *key.shown.split(), *key.footer.split())]
        self.shown = exact + [key for key in found if key not in exact]
        self.write(self._row(number) for number in range(len(self.shown)))

    def _row(self, number: int) -> DialogRow:
        key, palette = self.shown[number], self.palette
        begins = number == 0 or self.shown[number - 1].group != key.group
        shown = key.shown.translate(_ARROWS) if self.ascii_only else key.shown
        return (
            (_TITLES[key.group] if begins else "", palette.primary),
            (shown, palette.accent + Style(bold=True)),
            (key.help, palette.base),
        )


class HelpDialog(TypedDialog[str]):
    """Returns the action that was chosen, if any."""

    hint = "type to filter, Enter does it, Esc closes"
    placeholder = "what do you want to do?"

    def __init__(self, screen: str) -> None:
        self.list = KeyList(screen, id="keys")
        super().__init__(self.list)
        self.title_text = f"Keys of the {screen} screen{', and its signs' if screen in RUN else ''}"

    def show(self, text: str) -> None:
        self.list.filter(text)

    def take(self) -> None:
        """Close, and return the action of the selected key."""
        chosen = self.list.chosen
        if chosen is not None and not chosen.action:
            self.notify("a sign to read, no key to press")
            return
        self.dismiss(chosen.action if chosen else None)

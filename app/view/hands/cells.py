"""The cells of a delegation in the list, by column title."""

from __future__ import annotations

from trunkline.app.text.cells import WALL_CLOCK, clean, quoted, seconds
from trunkline.app.text.fact import Tone
from trunkline.app.view.hands.columns import CALLBACK_LOOKS, OPEN_WORK, TO_PARENT, WORK_LOOKS, callback_text, work_text
from trunkline.app.view.hands.facts import spoken
from trunkline.app.view.hands.row import HandRow
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.labels.messages import EMPTY, LabelCell, place_cell
from trunkline.app.view.labels.place_title import title
from trunkline.core.states.delegation import CallbackState

_NOT_YET = frozenset({CallbackState.WAITING, CallbackState.PENDING_TURN, CallbackState.IN_TURN})


def hand_cells(view: RunView, row: HandRow, above: str = "") -> dict[str, LabelCell]:
    """Every column; the list takes those that have room. `above` names the delegation above it."""
    asked = row.asked_by
    indent = "  " * (row.depth - 1) + "└ " if row.depth else ""
    again = f" {row.runs}×" if row.runs > 1 else ""
    return {
        "work": _work(row),
        "callback": _callback(row),
        "id": LabelCell(text=row.name),
        "hand": LabelCell(text=f"{indent}{clean(row.hand)}{again}"),
        "kind": LabelCell(text=row.kind) if row.kind else EMPTY,
        "label": LabelCell(text=clean(row.label)) if row.label else EMPTY,
        "asked by": LabelCell(text=clean(asked.name or asked.id)) if asked is not None else EMPTY,
        "origin": place_cell(title(view.places, row.origin))
        if row.origin
        else LabelCell(text=above or "nowhere", more=f"below {above}" if above else "", tone=Tone.DIM),
        "tries": LabelCell(text=str(row.runs)) if row.runs else EMPTY,
        "age": EMPTY if row.later else _age(row),
        "left": _left(row),
        "task": LabelCell(text=quoted(row.task)),
        "outcome": EMPTY if row.later else _so_far(view, row, above),
    }


def _work(row: HandRow) -> LabelCell:
    _, tone = WORK_LOOKS[row.work]
    if row.overdue:
        return LabelCell(text=f"✗ {row.work}", tone=Tone.BAD)
    return LabelCell(text=work_text(row.work), tone=tone, seq=row.finished)


def _callback(row: HandRow) -> LabelCell:
    if row.later or (row.callback is CallbackState.WAITING and row.work in OPEN_WORK):
        return EMPTY
    _, word, tone = CALLBACK_LOOKS[row.callback]
    if row.wrong:
        return LabelCell(text=f"✗ {word}", tone=Tone.BAD, seq=row.callback_since)
    return LabelCell(text=callback_text(row.callback), tone=tone, seq=row.callback_since)


def _age(row: HandRow) -> LabelCell:
    return LabelCell(text=_short(row.age), tone=Tone.WARN if row.overran else Tone.PLAIN)


def _left(row: HandRow) -> LabelCell:
    """The time until its deadline; negative when it has passed."""
    if row.left is None or row.later:
        return EMPTY
    return LabelCell(text=_short(row.left), tone=Tone.BAD if row.overdue else Tone.WARN if row.left < 0 else Tone.PLAIN)


def _so_far(view: RunView, row: HandRow, above: str) -> LabelCell:
    """Violations, where people saw the result, or else why not; while the hand works, its progress."""
    wrong = f"✗ {' '.join(row.broken)} " if row.broken else "✗ L2 " if row.overdue else ""
    if row.said:
        text = spoken(view, row)
        several = len({one.address.lane for one in row.said}) > 1
        cell = place_cell(f"{wrong}{len(row.said)}× {text}" if several else f"{wrong}{text}")
        return LabelCell(text=cell.text, more=cell.more, tone=Tone.BAD if wrong else Tone.PLAIN)
    if row.over and row.finished:
        return LabelCell(text=f"{wrong}not delivered", tone=Tone.BAD)
    if row.callback in _NOT_YET and row.waits:
        return LabelCell(
            text=f"{wrong}… {row.waits:.1f} s", more=f"{wrong}not yet, for {row.waits:.1f} s", tone=_tone(wrong)
        )
    if above and row.callback is CallbackState.SUPPRESSED and row.callback_reason in TO_PARENT:
        return LabelCell(text=f"{wrong}→ {above}", more=f"{wrong}goes to {above}", tone=_tone(wrong, Tone.PLAIN))
    if row.callback_reason is not None:
        tone = Tone.DIM if row.callback is CallbackState.SUPPRESSED else Tone.WARN
        return LabelCell(text=f"{wrong}{row.callback_reason}", tone=_tone(wrong, tone))
    if row.progress and row.work in OPEN_WORK:
        return LabelCell(text=f"{wrong}{quoted(row.progress)}", tone=_tone(wrong, Tone.PLAIN))
    return LabelCell(text=wrong.strip(), tone=Tone.BAD) if wrong else EMPTY


def _tone(wrong: str, otherwise: Tone = Tone.WARN) -> Tone:
    return Tone.BAD if wrong else otherwise


def _short(at: float) -> str:
    return seconds(at) if abs(at) < 1000 or at >= WALL_CLOCK else f"{at:.0f}"

"""The cells of a delegation in the list, by column title."""

from __future__ import annotations

from trunkline.app.text.cells import WALL_CLOCK, clean, quoted, seconds
from trunkline.app.text.fact import Tone
from trunkline.app.view.hands.columns import CALLBACK_LOOKS, OPEN_WORK, TO_PARENT, WORK_LOOKS
from trunkline.app.view.hands.facts import spoken
from trunkline.app.view.hands.row import HandRow
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.labels.messages import EMPTY, LabelCell, place_cell
from trunkline.app.view.labels.place_title import title
from trunkline.core.states.delegation import CallbackState

_NOT_YET = frozenset({CallbackState.WAITING, CallbackState.PENDING_TURN, CallbackState.IN_TURN})


def hand_cells(view: RunView, row: HandRow, above: str = "") -> dict[str, LabelCell]:
    """Every column; the list takes those that have room. `above` names the delegation above it."""
    body, asked = row.body, row.asked_by
    indent = "  " * (row.depth - 1) + "└ " if row.depth else ""
    again = f" {row.runs}×" if row.runs > 1 else ""
    shape, tone = ("✗", Tone.BAD) if row.overdue else WORK_LOOKS[row.work][:2]
    origin = LabelCell(above or "nowhere", f"below {above}" if above else "", Tone.DIM)
    return {
        "work": LabelCell(f"{shape} {row.work}", tone=tone, seq=0 if row.overdue else row.finished),
        "callback": _callback(row),
        "id": LabelCell(row.name),
        "hand": LabelCell(f"{indent}{clean(body.hand)}{again}"),
        "kind": _or_empty(body.hand_kind),
        "label": _or_empty(clean(body.label)),
        "asked by": LabelCell(clean(asked.name or asked.id)) if asked is not None else EMPTY,
        "origin": place_cell(title(view.places, body.origin)) if body.origin else origin,
        "tries": _or_empty(str(row.runs or "")),
        "age": EMPTY if row.later else LabelCell(_short(row.age), tone=Tone.WARN if row.overran else Tone.PLAIN),
        "left": _left(row),
        "task": LabelCell(quoted(body.task)),
        "outcome": EMPTY if row.later else _so_far(view, row, above),
    }


def _or_empty(text: str) -> LabelCell:
    return LabelCell(text) if text else EMPTY


def _callback(row: HandRow) -> LabelCell:
    if row.later or (row.callback is CallbackState.WAITING and row.work in OPEN_WORK):
        return EMPTY
    shape, word, tone = CALLBACK_LOOKS[row.callback]
    shape, tone = ("✗", Tone.BAD) if row.wrong else (shape, tone)
    return LabelCell(f"{shape} {word}", tone=tone, seq=row.callback_since)


def _left(row: HandRow) -> LabelCell:
    """The time until its deadline; negative when it has passed."""
    if row.left is None or row.later:
        return EMPTY
    return LabelCell(_short(row.left), tone=Tone.BAD if row.overdue else Tone.WARN if row.left < 0 else Tone.PLAIN)


def _so_far(view: RunView, row: HandRow, above: str) -> LabelCell:
    """Violations, where people saw the result, or else why not; while the hand works, its progress."""
    wrong = f"✗ {' '.join(row.broken)} " if row.broken else "✗ L2 " if row.overdue else ""

    def cell(text: str, more: str = "", tone: Tone = Tone.PLAIN) -> LabelCell:
        return LabelCell(f"{wrong}{text}", f"{wrong}{more}" if more else "", Tone.BAD if wrong else tone)

    if row.said:
        several = len({one.address.lane for one in row.said}) > 1
        places = place_cell(f"{len(row.said)}× {spoken(view, row)}" if several else spoken(view, row))
        return cell(places.text, places.more)
    if row.over and row.finished:
        return cell("not delivered", tone=Tone.BAD)
    if row.callback in _NOT_YET and row.waits:
        return cell(f"… {row.waits:.1f} s", f"not yet, for {row.waits:.1f} s", Tone.WARN)
    suppressed = row.callback is CallbackState.SUPPRESSED
    if above and suppressed and row.callback_reason in TO_PARENT:
        return cell(f"→ {above}", f"goes to {above}")
    if row.callback_reason is not None:
        return cell(str(row.callback_reason), tone=Tone.DIM if suppressed else Tone.WARN)
    if row.progress and row.work in OPEN_WORK:
        return cell(quoted(row.progress))
    return LabelCell(wrong.strip(), tone=Tone.BAD) if wrong else EMPTY


def _short(at: float) -> str:
    return seconds(at) if abs(at) < 1000 or at >= WALL_CLOCK else f"{at:.0f}"

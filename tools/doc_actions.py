"""The tables of the message tool: its actions, and what each platform has of them."""

from collections import defaultdict

from tools.doc_text import codes, table
from trunkline.core.action_catalogue import Action, ActionKind
from trunkline.core.channels import known_channels, rules_for

_KINDS = {ActionKind.MESSAGE: "a message", ActionKind.CHANGE: "a change", ActionKind.QUERY: "a query"}


def actions_table() -> str:
    """Each action: what it is, where its target goes, and what happens to it in doubt."""

    def row(action: Action) -> tuple[str, ...]:
        spec = action.spec
        target = "yes" if spec.requires_target else "no"
        instead = f", or {codes(spec.aliases)}" if spec.aliases else ""
        doubt = "" if spec.kind is ActionKind.QUERY else "as other messages"
        if spec.kind is ActionKind.CHANGE:
            doubt = "is repeated" if spec.repeatable else "is parked"
        return f"`{action}`", _KINDS[spec.kind], f"{target}{instead}", doubt

    return table(("action", "is", "has a target", "in doubt"), map(row, Action))


def channel_actions_table() -> str:
    """What each platform has: its actions by the gates that switch them."""
    rows: list[tuple[str, ...]] = []
    for name in known_channels():
        rules = rules_for(name)
        if rules.without_table:
            continue
        by_gate: dict[tuple[str, bool], list[str]] = defaultdict(list)
        for action, entry in rules.actions.items():
            by_gate[entry.gate or "", entry.on].append(f"`{action}`")
            if entry.of_others is not None:
                by_gate[entry.of_others, False].append(f"`{action}` of what others wrote")
        for (gate, on), actions in sorted(by_gate.items()):
            state = "" if not gate else "on" if on else "off"
            rows.append((f"`{name}`", f"`{gate}`" if gate else "none", state, ", ".join(actions)))
    return table(("channel", "gate", "by default", "actions"), rows)

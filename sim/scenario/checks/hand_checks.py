"""Checks of hands and workers: one kind for each name, answers that can be given, and steps that mean something."""

from __future__ import annotations

from trunkline.core.config.files.problems import ProblemReport, advice, shown
from trunkline.sim.scenario.checks.declared import agents_of_tree, configured_workers, functions_of_tree
from trunkline.sim.scenario.step_rules import check_not_both, items, listed
from trunkline.sim.scenario.tree_paths import select, steps_of

#: ways in which a worker does not answer its own task as it should; at most one
_WAYS = ("ticket", "names", "dies")
#: what a worker that dies has no use for
_ANSWER = ("result", "fails", "result_size", "answers", "again_after")


def check_hands(tree: object, report: ProblemReport) -> None:
    """Report problems of the cast's hands and workers, and of the steps and expectations that name delegations."""
    for path, rule in select(tree, steps_of("cast.hands.*[]")):
        check_not_both(rule, "result", "fails", path, report)
        check_not_both(rule, "result_size", "fails", path, report)
    for path, rule in select(tree, steps_of("cast.workers.*.rules[]")):
        check_not_both(rule, "result", "fails", path, report)
        check_not_both(rule, "result_size", "fails", path, report)
        _check_ways(rule, path, report)
    _check_kinds(tree, report)
    for index, step in enumerate(listed(tree, "script")):
        for name in ("result", "fails") if items(step, "hands", "do") != "answer" else ():
            if items(step, "hands", name) is not None:
                facts = f"`{name}` goes with `answer` only, found {shown(items(step, 'hands', 'do'))}"
                report.add(("script", index, "hands", name), facts, at_key=True)
        check_not_both(items(step, "hands"), "result", "fails", ("script", index, "hands"), report)
        if items(step, "hands", "outside") is not None and items(step, "hands", "process") is not None:
            facts = "expected `outside` or `process`, found both"
            report.add(("script", index, "hands", "process"), facts, "a request from outside has no process")


def _check_ways(rule: object, path: tuple[str | int, ...], report: ProblemReport) -> None:
    given = [name for name in _WAYS if items(rule, name) is not None]
    if len(given) > 1:
        names = ", ".join(f"`{name}`" for name in given)
        report.add((*path, given[1]), f"expected at most one mistake, found {names}", "give each its own rule")
    for name in _ANSWER if items(rule, "dies") is True else ():
        if items(rule, name) is not None:
            report.add((*path, name), f"expected no `{name}` of a worker that dies", "remove one", at_key=True)


def _check_kinds(tree: object, report: ProblemReport) -> None:
    """A hand is a function, an agent, or the hand of workers, and the gateway must know which."""
    agents, functions, workers = agents_of_tree(tree), functions_of_tree(tree), configured_workers(tree)
    for name in functions:
        path = ("cast", "hands", name)
        if name in agents:
            report.add(path, f"the hand {shown(name)} has the name of an agent", "choose another name", at_key=True)
        elif name in workers:
            facts = f"the hand {shown(name)} is for workers, as the gateway is configured"
            report.add(path, facts, "its rules belong to cast.workers", at_key=True)
    for name in workers:
        if name in agents and items(tree, "gateway", "hands", "each", name) is not None:
            path = ("gateway", "hands", "each", name)
            facts = f"the hand {shown(name)}, which is for workers, has the name of an agent"
            report.add(path, facts, "choose another name", at_key=True)
    for path, hand in select(tree, steps_of("cast.workers.*.hand")):
        if isinstance(hand, str) and hand not in workers:
            facts = f"expected a hand with `worker: true` in gateway.hands.each, found {shown(hand)}"
            report.add(path, facts, advice(hand, workers) or "there are none")

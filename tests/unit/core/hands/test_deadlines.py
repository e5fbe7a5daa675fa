"""When a delegation times out: by its run, its age, or the task that it is part of; and which one is next."""

from tests.support.for_each import for_each
from trunkline.core.hands.deadlines import DeadlinePlan, TimeLimits


@for_each(
    ("limits", "run_at_10", "latest"),
    [
        (TimeLimits(accepted_at=0, timeout=30, max_age=100), 40, 100),
        (TimeLimits(accepted_at=0, timeout=300, max_age=100), 100, 100),
        (TimeLimits(accepted_at=0, timeout=None, max_age=100), 100, 100),
        (TimeLimits(accepted_at=0, timeout=30, max_age=100, parent=25), 25, 25),
        (TimeLimits(accepted_at=0, timeout=5, max_age=100, parent=25), 15, 25),
        (TimeLimits(accepted_at=5, timeout=None, max_age=100, parent=500), 105, 105),
    ],
)
def test_the_nearest_bound_counts(limits: TimeLimits, run_at_10: float, latest: float) -> None:
    assert (limits.of_run(10), limits.latest) == (run_at_10, latest)


def test_deadlines_come_in_order_and_each_once() -> None:
    plan: DeadlinePlan[str] = DeadlinePlan()
    for key, at in (("c", 3.0), ("a", 1.0), ("b", 2.0)):
        plan.set(key, at)
    assert (plan.next(), len(plan)) == (1.0, 3)
    assert plan.due(0.5) == []
    assert plan.due(2.0) == ["a", "b"]
    assert (plan.next(), plan.due(2.0)) == (3.0, [])


def test_a_deadline_can_be_moved_and_forgotten() -> None:
    plan: DeadlinePlan[str] = DeadlinePlan()
    plan.set("a", 1.0)
    plan.set("b", 2.0)
    plan.set("a", 5.0)
    assert plan.due(4.0) == ["b"]
    plan.remove("a")
    plan.remove("unknown")
    assert (plan.next(), plan.due(10.0), len(plan)) == (None, [], 0)


def test_one_that_is_set_back_comes_earlier() -> None:
    plan: DeadlinePlan[str] = DeadlinePlan()
    plan.set("a", 5.0)
    plan.set("a", 1.0)
    assert plan.due(2.0) == ["a"]
    assert plan.due(9.0) == []


def test_memory_follows_the_number_of_deadlines_and_not_of_changes() -> None:
    plan: DeadlinePlan[int] = DeadlinePlan()
    for n in range(10_000):
        plan.set(n, 86_400.0)
        if n >= 10:
            plan.remove(n - 10)
    assert len(plan) == 10
    assert len(plan._heap) < 200  # pyright: ignore[reportPrivateUsage] -- what must stay small
    for n in range(9_990, 10_000):
        plan.remove(n)
    assert len(plan._heap) < 100  # pyright: ignore[reportPrivateUsage] -- what must stay small

"""What every store must do with workers outside: tasks, tickets, progress, answers and the posts that carry them."""

from typing import Any

import msgspec
import pytest

from tests.contract.store_kit.bench import BACK, OK, Bench, Opened, all_at_once, check, finish, same, too_late
from tests.support.factories import delegation, intent, session
from trunkline.core.errors import AnswerRefused, IllegalTransition, UnknownName
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import DelegationRow, HandKind, HandResult
from trunkline.core.states.delegation import CallbackEvent, CallbackState, HandOutcome, WorkState
from trunkline.core.store.commands import Admit
from trunkline.core.store.delegations import (
    AcceptDelegation,
    ChangeCallback,
    CountDelegations,
    DelegationFilter,
    DropPost,
    FinishDelegation,
    HandFinish,
    HandPost,
    HasPosts,
    ListDelegations,
    NoteProgress,
    PostToGateway,
    PostVerb,
    ReadPosts,
    ShowDelegation,
    TakeTask,
)
from trunkline.core.values import DelegationId, SessionId

TASK = delegation().id


def task(name: str = "m1.hand1", session_id: str = "s1", **fields: Any) -> DelegationRow:
    """A task for workers."""
    return delegation(name, kind=HandKind.WORKER, session=SessionId(session_id), **fields)


async def accept(it: Opened, *rows: DelegationRow) -> None:
    for row in rows:
        await it.store.write(AcceptDelegation(row=row), same)


async def take(it: Opened, ticket: str = "t1", now: float = 2.0, **fields: Any) -> DelegationRow | None:
    values = {"hand": "clerk", "worker": "w1", "ticket": ticket, "now": now, "post": False, **fields}
    return await it.store.write(TakeTask(**values), same)


def post(verb: PostVerb = PostVerb.ANSWER, name: str = "m1.hand1", **fields: Any) -> HandPost:
    """What a worker leaves."""
    given = {"outcome": HandOutcome.OK, "text": "three"} if verb is PostVerb.ANSWER else {}
    ticket = "t1" if verb in (PostVerb.ANSWER, PostVerb.PROGRESS) else None
    return HandPost(delegation=DelegationId(name), verb=verb, **{**given, "ticket": ticket, "by": "w1", **fields})


async def leave(it: Opened, *posts: HandPost) -> list[bool]:
    return [await it.store.write(PostToGateway(post=one), same) for one in posts]


async def shown(it: Opened, name: str = "m1.hand1") -> DelegationRow:
    return (await it.store.read(ShowDelegation(delegation=name))).row


# ---------------------------------------------------------------- tasks


@check
async def a_worker_takes_a_task_once_and_gets_its_ticket(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, task())
        taken = await take(it)
        changed = {"state": WorkState.RUNNING, "worker": "w1", "ticket": "t1", "started_at": 2.0}
        assert taken == msgspec.structs.replace(task(), **changed)
        assert await take(it, "t2") is None
        assert await shown(it) == taken


@check
async def of_two_workers_at_once_one_gets_the_task(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, task())
        found = await all_at_once(*[lambda n=n: take(it, f"t{n}") for n in range(5)])
        assert [one is None for one in found].count(False) == 1


@check
async def sessions_take_turns_in_the_order_of_their_tasks(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(
            it, *[task(f"a{n}", "sa") for n in range(3)], *[task(f"b{n}", "sb") for n in range(2)], task("c", "sc")
        )
        got = [await take(it, f"t{n}") for n in range(7)]
        assert [one and one.id for one in got] == ["a0", "b0", "c", "a1", "b1", "a2", None]


@check
async def other_hands_functions_and_late_tasks_are_not_given_away(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, task("other", hand="smith"), delegation("function"), task("late", deadline=1.5))
        assert await take(it) is None
        assert await take(it, now=1.0) == await shown(it, "late")


@check
async def a_task_whose_row_cannot_be_read_is_left_and_the_next_one_is_taken(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, task("a"), task("b"))
        await it.spoil("a", "reply_to", "{nonsense", "delegations")
        taken = await take(it)
        assert taken is not None
        assert taken.id == "b"
        listed = await it.store.read(ListDelegations(which=DelegationFilter()))
        assert [row.id for row in listed.rows] == ["b"]
        assert [(row.id, "JSON" in row.problem) for row in listed.broken] == [("a", True)]


@check
async def a_task_that_another_process_takes_leaves_a_post(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, task())
        await take(it, post=True)
        [left] = await it.store.read(ReadPosts())
        assert (left.delegation, left.verb, left.by, left.at) == (TASK, PostVerb.TAKEN, "w1", 2.0)


@check
async def progress_is_kept_while_the_hand_works(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, delegation(kind=HandKind.WORKER))
        await take(it)
        note = NoteProgress(delegation=TASK, text="half", ticket="t1")
        assert await it.store.write(note, same) is True
        assert (await shown(it)).progress == "half"
        with pytest.raises(AnswerRefused, match="not that of the worker") as error:
            await it.store.write(msgspec.structs.replace(note, ticket="t9"), same)
        assert error.value.reason is Reason.WRONG_TICKET
        await finish(it)
        assert await it.store.write(msgspec.structs.replace(note, text="all"), same) is False
        assert (await shown(it)).progress == "half"


# ---------------------------------------------------------------- posts


@check
async def posts_stay_in_order_until_they_are_applied(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, task())
        await take(it)
        assert await it.store.read(HasPosts()) is False
        assert await leave(it, post(PostVerb.PROGRESS, text="half"), post(), post(text="again")) == [True, True, False]
    async with bench.opened() as it:
        assert await it.store.read(HasPosts()) is True
        found = await it.store.read(ReadPosts())
        assert [(one.verb.value, one.text, one.ticket) for one in found] == [
            ("progress", "half", "t1"),
            ("answer", "three", "t1"),
            ("answer", "again", "t1"),
        ]
        assert found[1].outcome is HandOutcome.OK
        assert await it.store.read(ReadPosts()) == found
        for one in found:
            assert await it.store.write(DropPost(n=one.n), same) is True
            assert await it.store.write(DropPost(n=one.n), same) is False
        assert await it.store.read(HasPosts()) is False


@check
async def removing_a_post_once_more_never_removes_a_later_one(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, task())
        await take(it, post=True)
        [taken] = await it.store.read(ReadPosts())
        assert await it.store.write(DropPost(n=taken.n), same) is True
        # The worker answers before the gateway, which has applied the first post, looks whether it is gone.
        assert await leave(it, post()) == [True]
        assert await it.store.write(DropPost(n=taken.n), same) is False
        [left] = await it.store.read(ReadPosts())
        assert (left.verb, left.text) == (PostVerb.ANSWER, "three")


@check
async def a_post_is_applied_once_with_what_it_brings(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, delegation(kind=HandKind.WORKER))
        await take(it)
        await leave(it, post(PostVerb.PROGRESS, text="half"), post())
        progress, done = await it.store.read(ReadPosts())
        note = NoteProgress(delegation=TASK, text=progress.text, ticket=progress.ticket, post=progress.n)
        assert [await it.store.write(note, same) for _ in range(2)] == [True, False]
        back = Admit(work=BACK, identity="callback/m1.hand1", session=session(name="s-back"), now=3.0)
        end = FinishDelegation(
            delegation=TASK, result=OK, callback=back, intents=[], now=3.0, ticket=done.ticket, post=done.n
        )
        assert (await it.store.write(end, same)).first
        assert await it.store.write(end, same) == HandFinish(first=False, again=True)
        assert await it.store.read(HasPosts()) is False
        details = await it.store.read(ShowDelegation(delegation=TASK))
        assert (details.late, details.row.result) == ((), "three")


@check
async def a_post_that_is_not_applied_after_all_stays(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, task())
        await take(it)
        await leave(it, post())
        [one] = await it.store.read(ReadPosts())
        end = FinishDelegation(delegation=TASK, result=OK, callback=None, intents=[], now=3.0, ticket="t9", post=one.n)
        with pytest.raises(AnswerRefused):
            await it.store.write(end, same)
        assert await it.store.read(HasPosts()) is True


@check
async def answers_that_do_not_fit_are_refused_and_leave_nothing(bench: Bench) -> None:
    long = "x" * 11
    async with bench.opened() as it:
        await accept(it, task(max_result=10), task("untaken", "s2"), delegation("function"))
        await take(it)
        for one, reason in (
            (post(ticket="t9"), Reason.WRONG_TICKET),
            (post(ticket=None), Reason.WRONG_TICKET),
            (post(ticket="t\u0661"), Reason.WRONG_TICKET),
            (post(ticket="\ud800"), Reason.WRONG_TICKET),
            (post(ticket=1), Reason.WRONG_TICKET),
            (post(name="untaken"), Reason.WRONG_TICKET),
            (post(name="function"), Reason.NOT_A_WORKER),
            (post(text=long), Reason.RESULT_TOO_LARGE),
            (post(PostVerb.PROGRESS, text=long), Reason.RESULT_TOO_LARGE),
        ):
            with pytest.raises(AnswerRefused) as error:
                await leave(it, one)
            assert error.value.reason is reason
        with pytest.raises(UnknownName, match=r"no delegation 'hand1'; did you mean m1\.hand1\?"):
            await leave(it, post(name="hand1"))
        for verb in (PostVerb.RETRY_CALLBACK, PostVerb.DISCARD):
            with pytest.raises(IllegalTransition, match=f"{verb.value} is not possible, its report is waiting"):
                await leave(it, post(verb))
        assert await it.store.read(HasPosts()) is False


@check
async def an_answer_after_the_end_is_left_too_and_a_cancel_is_not(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, delegation(kind=HandKind.WORKER))
        await take(it)
        await finish(it)
        assert await leave(it, post(text="late")) == [False]
        for verb in (PostVerb.CANCEL, PostVerb.PROGRESS):
            with pytest.raises(AnswerRefused, match="has ended") as error:
                await leave(it, post(verb))
            assert error.value.reason is Reason.ALREADY_FINISHED


@check
async def progress_replaces_the_progress_that_waits(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, task(), task("other"))
        await take(it)
        await take(it)
        await leave(it, post(PostVerb.PROGRESS, text="a"), post(PostVerb.PROGRESS, "other", text="b"))
        first = (await it.store.read(ReadPosts()))[0]
        await leave(it, post(PostVerb.PROGRESS, text="c"))
        assert [one.text for one in await it.store.read(ReadPosts())] == ["b", "c"]
        # A gateway that had read the replaced one applies nothing with it.
        note = NoteProgress(delegation=TASK, text="a", ticket="t1", post=first.n)
        assert await it.store.write(note, same) is False
        assert (await shown(it)).progress == ""


@check
async def answers_that_wait_are_bounded(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, task(max_result=100), task("many"))
        await take(it)
        await take(it)
        assert await leave(it, post(text="x" * 100), post(text="y" * 99)) == [True, False]
        with pytest.raises(AnswerRefused, match="has 2 answers that the gateway has not picked up") as error:
            await leave(it, post(text="zz"))
        assert error.value.reason is Reason.ALREADY_FINISHED
        await leave(it, *[post(name="many")] * 50)
        with pytest.raises(AnswerRefused, match="has 50 answers"):
            await leave(it, post(name="many"))
        assert len(await it.store.read(ReadPosts())) == 52
        # Other posts of it are not answers.
        await leave(it, post(PostVerb.CANCEL), post(PostVerb.PROGRESS, text="half"))


@check
async def what_workers_left_is_read_before_the_requests_of_operators(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, task(), task("other"))
        await take(it)
        await leave(it, *[post(PostVerb.CANCEL, "other")] * 3, post(PostVerb.CANCEL), post(text="in time"))
        [first] = await it.store.read(ReadPosts(limit=1))
        assert (first.verb, first.text) == (PostVerb.ANSWER, "in time")
        two = await it.store.read(ReadPosts(limit=2))
        assert [(one.verb, one.delegation) for one in two[1:]] == [(PostVerb.CANCEL, "other")]
        own = await it.store.read(ReadPosts(delegation=TASK))
        assert [one.verb for one in own] == [PostVerb.ANSWER, PostVerb.CANCEL]


@check
async def a_post_that_cannot_be_read_does_not_stop_the_others(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, task())
        await take(it)
        await leave(it, post(), post(text="second"))
        first = (await it.store.read(ReadPosts()))[0]
        await it.spoil(str(first.n), "verb", "sing", "hand_posts")
        second, broken = await it.store.read(ReadPosts())
        assert (broken.n, "sing" in broken.problem, second.text, second.problem) == (first.n, True, "second", "")


# ---------------------------------------------------------------- lists


@check
async def delegations_are_listed_newest_first_and_filtered(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, task("a"), task("b", hand="smith"), task("c", agent="ops"), task("d"))
        await take(it)
        found = await it.store.read(ListDelegations(which=DelegationFilter(), limit=2))
        assert [row.id for row in found.rows] == ["d", "c"]
        more = ListDelegations(which=DelegationFilter(), before=DelegationId("c"))
        assert [row.id for row in (await it.store.read(more)).rows] == ["b", "a"]

        async def ids(**which: Any) -> list[str]:
            rows = (await it.store.read(ListDelegations(which=DelegationFilter(**which)))).rows
            return [row.id for row in rows]

        assert await ids(hand="smith") == ["b"]
        assert await ids(agent="ops") == ["c"]
        assert await ids(states=(WorkState.RUNNING,)) == ["a"]
        assert await ids(callbacks=(CallbackState.WAITING,), session=SessionId("s1")) == ["d", "c", "b", "a"]
        counts = await it.store.read(CountDelegations(which=DelegationFilter()))
        assert counts.states == {WorkState.ACCEPTED: 3, WorkState.RUNNING: 1}
        assert counts.callbacks == {CallbackState.WAITING: 4}


@check
async def a_delegation_is_shown_with_everything_about_it(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, delegation(), delegation("child", parent=TASK, depth=2))
        await finish(it, intent("post", delegation=TASK), callback=False)
        assert await finish(it, result=HandResult(outcome=HandOutcome.ERROR, text="late")) == too_late()
        found = await it.store.read(ShowDelegation(delegation=TASK))
        assert [(one.outcome.value, one.text, one.at) for one in found.late] == [("error", "late", 3.0)]
        assert [one.id for one in found.intents] == ["post"]
        assert found.children == ("child",)
        with pytest.raises(UnknownName, match="no delegation 'nobody'"):
            await it.store.read(ShowDelegation(delegation="nobody"))


@check
async def a_change_of_a_callback_applies_where_its_table_allows_it(bench: Bench) -> None:
    async with bench.opened() as it:
        await accept(it, delegation())
        begun = (await finish(it)).change
        assert begun is not None
        assert begun.state is CallbackState.PENDING_TURN

        async def change(event: CallbackEvent, reason: Reason | None = None) -> Any:
            return await it.store.write(ChangeCallback(delegation=TASK, event=event, reason=reason), same)

        assert await change(CallbackEvent.RESUME) is None
        begun = await change(CallbackEvent.BEGIN)
        assert (begun.before, begun.state) == (CallbackState.PENDING_TURN, CallbackState.IN_TURN)
        failed = await change(CallbackEvent.FAIL, Reason.AGENT_RAISED)
        assert (failed.state, failed.reason) == (CallbackState.UNDELIVERABLE, Reason.AGENT_RAISED)
        assert (await shown(it)).callback_reason is Reason.AGENT_RAISED
        assert (
            await it.store.write(ChangeCallback(delegation=DelegationId("nobody"), event=CallbackEvent.BEGIN), same)
            is None
        )


@check
async def long_answers_are_read_a_few_at_a_time(bench: Bench) -> None:
    async with bench.opened() as it:
        names = [f"m{n}.hand1" for n in range(1, 5)]
        await accept(it, *(task(name) for name in names))
        while await take(it):
            pass
        await leave(it, *(post(name=name, text="x" * 9_000_000) for name in names))
        first = await it.store.read(ReadPosts())
        assert [one.delegation for one in first] == names[:2]
        for one in first:
            await it.store.write(DropPost(n=one.n), same)
        assert [one.delegation for one in await it.store.read(ReadPosts())] == names[2:]

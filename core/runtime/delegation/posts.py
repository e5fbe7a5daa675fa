"""Takes what workers and operators of other processes have left, in order, and has it applied exactly once.

A post is removed by the transaction that applies it. What is refused is recorded, and removed with that.
"""

from collections.abc import Awaitable, Callable

import anyio

from trunkline.core.errors import AnswerRefused, IllegalTransition, UnknownName
from trunkline.core.events.hands import AnswerTurnedAway
from trunkline.core.reasons import Reason
from trunkline.core.runtime.context import Context
from trunkline.core.store.delegations import DropPost, HandPost, HasPosts, ReadPosts
from trunkline.core.well_formed import well_formed

#: minimum seconds between two looks
_LEAST = 0.01
Apply = Callable[[HandPost, int | None], Awaitable[None]]


class Posts:
    def __init__(self, context: Context) -> None:
        self._ctx = context
        self._apply: Apply | None = None
        #: of several who look at the same time, each post is applied by one
        self._one = anyio.Lock()

    def connect(self, apply: Apply) -> None:
        """Set what applies a post: with its number, so that its command removes it.

        It may raise `UnknownName`, `AnswerRefused` or `IllegalTransition`.
        """
        self._apply = apply

    async def take_all(self, cause: int | None) -> None:
        if self._apply is None or not await self._ctx.store.read(HasPosts()):
            return
        async with self._one:
            while found := await self._ctx.store.read(ReadPosts()):
                for post in found:
                    await self._apply_or_refuse(post, self._apply, cause)

    async def watch(self, worker: Callable[[], Awaitable[None]]) -> None:
        """Look more often than maintenance does while workers may answer. `worker`: waits for a task of one."""
        while True:
            await worker()
            await anyio.sleep(max(self._ctx.config.hands.watch, _LEAST))
            await self.take_all(None)

    async def _apply_or_refuse(self, post: HandPost, apply: Apply, cause: int | None) -> None:
        try:
            if post.problem:
                raise AnswerRefused(f"the post cannot be read ({post.problem})", Reason.BROKEN_ROW)
            await apply(post, cause)
        except UnknownName as error:
            await self._refuse(post, Reason.UNKNOWN_DELEGATION, error.facts, cause)
        except AnswerRefused as error:
            await self._refuse(post, error.reason, error.facts, cause)
        except IllegalTransition as error:
            await self._refuse(post, Reason.CHANGED_ELSEWHERE, error.facts, cause)
        else:
            # Its command has removed it, unless there was nothing to store.
            await self._ctx.store.write(DropPost(n=post.n), lambda _: None)

    async def _refuse(self, post: HandPost, reason: Reason, detail: str, cause: int | None) -> None:
        """Record what does not fit any more, and remove it."""
        body = AnswerTurnedAway(verb=post.verb.value, reason=reason, detail=well_formed(detail), by=post.by)

        def story(there: bool) -> None:
            if there:
                self._ctx.events.record(body, cause, delegation=post.delegation)

        await self._ctx.store.write(DropPost(n=post.n), story)

"""What may happen on the wire of a gateway, as steps of stories: for properties of the judge."""

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from tests.support.wire_story import ANA, BEN, DEPLOY, NOTICE, OPS, ROLLBACK, WireStory
from trunkline.core.reasons import Reason
from trunkline.core.values import Address
from trunkline.sim.events.wire import WireAccepted, WireResponseLost
from trunkline.sim.events.world import PlatformPushed

#: one thing that happens in a place; it may look up what earlier ones have left in the dictionary
Step = Callable[[WireStory, dict[str, str]], object]
#: what becomes of a question, and concerns no other place
HOWS = ("right", "twice", "two turns", "lost", "taken away", "refused", "refused twice", "unasked")
#: what becomes of a question, with streams, faults and ends of the process
MORE = (
    *HOWS, "streamed", "draft replaced", "draft left", "two streams", "edited into an answer", "response lost",
    "response lost, sent again", "killed before the answer", "killed, then sent again", "killed, then notified",
    "handed out again", "place gone", "place gone, next door", "wrong place", "the model fails",
)  # fmt: skip
PLACES = ((ANA, BEN), (DEPLOY, ROLLBACK), (ANA, DEPLOY), (DEPLOY, OPS))


class WireExchange:
    """A question and what becomes of it. `elsewhere`: another place."""

    def __init__(self, mark: str, place: Address, elsewhere: Address) -> None:
        self.mark, self.place, self.elsewhere = mark, place, elsewhere

    def steps(self, how: str) -> list[Step]:
        """What happens, one by one."""
        ask, turn, send, say = self.ask, self.turn, self.send, self.say
        stream = [self.post(7), self.edit(12), self.edit(None)]
        found: dict[str, list[Step]] = {
            "right": [ask, turn, send],
            "twice": [ask, turn, send, send],
            "two turns": [ask, turn, send, turn],
            "lost": [ask, turn],
            "taken away": [ask, turn, send, self.delete],
            "refused": [ask, turn, self.refuse(), say(NOTICE)],
            "refused twice": [ask, turn, self.refuse(), self.refuse(), say(NOTICE)],
            "unasked": [ask, turn, send, say("I am back!")],
            "streamed": [ask, turn, *stream],
            "draft replaced": [ask, turn, self.post(8), send, self.delete_first],
            "draft left": [ask, turn, *stream, self.wait, send],
            "two streams": [ask, turn, *stream, self.post(7), self.edit(None), self.wait, self.delete_first],
            "edited into an answer": [ask, turn, self.post(0), self.wait, self.edit(None)],
            "response lost": [ask, turn, self.lose],
            "response lost, sent again": [ask, turn, self.lose, self.wait, send],
            "killed before the answer": [ask, turn, self.crash],
            "killed, then sent again": [ask, turn, self.lose, self.crash, send],
            "killed, then notified": [ask, turn, self.crash, say(NOTICE)],
            "handed out again": [ask, turn, send, self.push_again, turn],
            "place gone": [ask, turn, self.refuse(Reason.PLACE_GONE)],
            "place gone, next door": [ask, turn, self.refuse(Reason.PLACE_GONE), self.send_elsewhere],
            "wrong place": [ask, turn, self.send_elsewhere],
            "the model fails": [ask, self.fail, turn, send],
        }
        return found[how]

    def ask(self, story: WireStory, left: dict[str, str]) -> object:
        left[f"{self.mark} said"] = str(story.ask(self.mark, self.place))
        return left

    def turn(self, story: WireStory, left: dict[str, str]) -> object:
        left[self.mark] = story.turn(self.mark)
        return left

    def fail(self, story: WireStory, _left: dict[str, str]) -> object:
        return story.turn(self.mark, status=500)

    def send(self, story: WireStory, left: dict[str, str]) -> object:
        left[f"{self.mark} sent"] = story.send(left[self.mark], self.place)
        return left

    def send_elsewhere(self, story: WireStory, left: dict[str, str]) -> object:
        return story.send(left[self.mark], self.elsewhere)

    def post(self, length: int) -> Step:
        """The beginning of the answer is shown."""

        def step(story: WireStory, left: dict[str, str]) -> object:
            name = story.send(_beginning(left[self.mark], length), self.place)
            left.setdefault(f"{self.mark} first", name)
            left[f"{self.mark} sent"] = name
            return left

        return step

    def edit(self, length: int | None) -> Step:
        """The message grows. None: to the whole answer."""

        def step(story: WireStory, left: dict[str, str]) -> object:
            text = left[self.mark]
            return story.edit(left[f"{self.mark} sent"], text if length is None else _beginning(text, length))

        return step

    def delete(self, story: WireStory, left: dict[str, str]) -> object:
        return story.delete(left[f"{self.mark} sent"])

    def delete_first(self, story: WireStory, left: dict[str, str]) -> object:
        return story.delete(left[f"{self.mark} first"])

    def refuse(self, reason: Reason = Reason.REFUSED) -> Step:
        return lambda story, left: story.refuse(left[self.mark], self.place, reason)

    def say(self, text: str) -> Step:
        return lambda story, _left: story.send(text, self.place)

    def lose(self, story: WireStory, left: dict[str, str]) -> object:
        """The answer is accepted, and the connection broke before the response."""
        called = story.call(left[self.mark], self.place)
        story.tell_struck("send/reset", called)
        name = f"lost-{self.mark}-{called}"
        body = WireAccepted(
            address=self.place, requested=self.place, text=left[self.mark], provider_id=name, key=name, chunk=1,
            attempt=1,
        )  # fmt: skip
        story.tell(body, called, after=0.0, node="telegram")
        return story.tell(WireResponseLost(address=self.place, chunk=1, attempt=1), called, after=0.0, node="telegram")

    def crash(self, story: WireStory, _left: dict[str, str]) -> object:
        return story.crash()

    def wait(self, story: WireStory, _left: dict[str, str]) -> object:
        story.now += 5.0
        return story

    def push_again(self, story: WireStory, left: dict[str, str]) -> object:
        name = f"q-{self.mark}"
        body = PlatformPushed(address=self.place, message_id=name, original_id=name, replay=True)
        return story.tell(body, int(left[f"{self.mark} said"]))


def _beginning(text: str, length: int) -> str:
    return text[:length] or "…"


@st.composite
def interleaved(draw: st.DrawFn, hows: Sequence[str] = HOWS) -> tuple[list[Step], list[Step], list[Step]]:
    """What happens in two places, each for itself, and both in one order."""
    first, second = draw(st.sampled_from(PLACES))
    what = st.lists(st.sampled_from(hows), min_size=1, max_size=3)
    ours = [
        step for number, how in enumerate(draw(what)) for step in WireExchange(f"a{number}", first, second).steps(how)
    ]
    theirs = [
        step for number, how in enumerate(draw(what)) for step in WireExchange(f"b{number}", second, first).steps(how)
    ]
    order = draw(st.permutations([True] * len(ours) + [False] * len(theirs)))
    left, right = iter(ours), iter(theirs)
    return ours, theirs, [next(left) if mine else next(right) for mine in order]


def played(steps: Sequence[Step]) -> WireStory:
    """The story of these steps, to its end."""
    story, left = WireStory(), dict[str, str]()
    for step in steps:
        step(story, left)
    return story.end()

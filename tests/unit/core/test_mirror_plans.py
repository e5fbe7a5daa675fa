"""Which session remembers an outbound message."""

from tests.support.factories import room
from tests.support.for_each import for_each
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import MirrorPlan, MirrorQuestion, plan_mirror
from trunkline.core.values import Address, IntentKind

HERE, ELSEWHERE = room("500"), room("600")
OWN, BOUND, OTHER = (
    "main:discord:default:channel:500",
    "main:discord:default:channel:700",
    "main:discord:default:channel:600",
)


@for_each(
    ("target", "bound", "plan"),
    [
        (HERE, None, MirrorPlan(key=OWN, own=True)),
        (HERE, OWN, MirrorPlan(key=OWN, own=True)),
        # Bound meanwhile: who writes there next is answered by the other session.
        (HERE, BOUND, MirrorPlan(key=BOUND)),
        (ELSEWHERE, None, MirrorPlan(key=OTHER)),
        (ELSEWHERE, BOUND, MirrorPlan(key=BOUND)),
    ],
)
def test_a_message_is_remembered_by_the_session_that_answers_in_its_place(
    target: Address, bound: str | None, plan: MirrorPlan
) -> None:
    question = MirrorQuestion(kind=IntentKind.REPLY, agent="main", running=OWN, origin=HERE, target=target, bound=bound)
    assert plan_mirror(question, GatewayConfig.model_validate({"agents": [{"id": "main", "default": True}]})) == plan

"""Which words of an answer prove that a hand has said it."""

from tests.support.for_each import for_each
from trunkline.sim.cast.own_words import OwnWords
from trunkline.sim.scenario.load import load_text

FILE = """
scenario: 1
title: marks
gateway: {{agents: [{{id: main, default: true}}, {{id: scout}}]}}
world: {{people: [ana], telegram: {{}}}}
cast:
  agents:
    main:
      - when: {{callback: "*"}}
        do: [{{reply: "{reply}"}}]
      - do: [{{delegate: {{hand: clerk}}}}, {{reply: "counting"}}]
    scout:
      - do: [{{reply: "only scouts know sparrows"}}]
  hands:
    clerk: {{result: "forty zebras"}}
script:
  - {{at: 0s, as: ana, in: "@ana", say: "count the animals"}}
expect:
  accepted: [{{in: "@ana", text: "forty zebras"}}]
"""


def words(reply: str = "{result}") -> OwnWords:
    return OwnWords(load_text(FILE.format(reply=reply), "marks.yaml").scenario)


@for_each(
    ("text", "marks"),
    [
        ("forty zebras", ("forty", "zebras")),
        # what the script, an agent or the gateway says, too
        ("count animals", ()),
        ("counting sparrows", ()),
        ("the process died", ()),
        # too short, or a number
        ("six 123456", ()),
        ("zebras and zebras", ("zebras",)),
        ("", ()),
    ],
)
def test_the_marks_of_an_answer(text: str, marks: tuple[str, ...]):
    assert words().marks(text) == marks


def test_a_word_that_a_template_could_make_up_is_no_mark():
    assert words("zebra{n}").marks("zebra17 herds") == ("herds",)


def test_an_agent_that_works_as_a_hand_says_its_own_words():
    assert words().marks("sparrows", "scout") == ("sparrows",)
    assert words().marks("sparrows", "main") == ()


@for_each(
    ("text", "hidden"),
    [
        ("<think>zebra</think>fine", ("zebra",)),
        ("<THINKING>zebra</thinking>", ("zebra",)),
        ("<thought>zebra quagga", ("zebra", "quagga")),
        # it says the word aloud, too; or somebody else does; or it may be text
        ("<think>zebra</think>a zebra", ()),
        ("<think>count the animals</think>fine", ()),
        ("`<think>zebra</think>`", ()),
        ("zebra", ()),
    ],
)
def test_words_that_only_reasoning_has_are_for_nobody(text: str, hidden: tuple[str, ...]) -> None:
    assert words().hidden(text, "main") == hidden

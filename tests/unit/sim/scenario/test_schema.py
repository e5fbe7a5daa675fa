"""The schema and the reference are those of the models, and say all of it."""

import json

from tests.support.for_each import for_each
from tests.support.paths import DOCS
from tools.doc_scenarios import described, fields_reference
from trunkline.core.config.files.model_fields import fields_of, homes_of, walk
from trunkline.sim.scenario import load_text, schema_text
from trunkline.sim.scenario.model.agent_actions import AgentAction
from trunkline.sim.scenario.model.scenario import Scenario
from trunkline.sim.scenario.model.steps import ScriptStep
from trunkline.sim.scenario.step_rules import AGENT_ACTIONS, STEP_ACTIONS
from trunkline.sim.scenario.templates import SLOTS, fill, template_problem


def test_every_field_is_in_the_reference() -> None:
    text = fields_reference()
    for at, model in walk(Scenario):
        for name in fields_of(model):
            assert f"| `{name}` |" in text, f"{at}.{name}"


def test_every_field_of_a_scenario_is_described() -> None:
    ours = [(at, model) for at, model in walk(Scenario) if model.__module__.startswith("trunkline.sim.")]
    assert ours
    assert [f"{at}.{name}" for at, model in ours for name in fields_of(model) if not described(model, name)] == []


def test_the_schema_is_for_editors() -> None:
    schema = json.loads(schema_text())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["additionalProperties"] is False
    definitions = schema["$defs"]
    assert all(
        definition["additionalProperties"] is False for definition in definitions.values() if "properties" in definition
    )
    assert {"as", "in", "say"} <= set(definitions["ScriptStep"]["properties"])
    assert {option["type"] for option in definitions["WorldSpec"]["properties"]["people"]["anyOf"]} == {
        "array",
        "object",
    }
    assert {option["type"] for option in definitions["ScriptStep"]["properties"]["at"]["anyOf"]} == {"number", "string"}
    assert len(definitions["Cast"]["properties"]["hands"]["additionalProperties"]["anyOf"]) == 2
    assert "'null'" not in str(definitions["Match"])


def test_every_action_is_a_field() -> None:
    companions = {"at", "after", "as", "in", "id", "secret", "files", "reply_chain", "bot", "via", "proxy", "locked"}
    companions |= {"of", "remove", "when", "may_miss"}
    assert set(STEP_ACTIONS) | companions == set(fields_of(ScriptStep))
    assert set(AGENT_ACTIONS) == set(fields_of(AgentAction))


def test_it_is_known_where_else_a_field_is() -> None:
    assert homes_of("delegate", Scenario) == ("cast.agents.<name>[].do[]",)
    assert homes_of("title", Scenario) == ("the top of the file",)
    assert homes_of("lighthouse", Scenario) == ()


def test_the_examples_of_the_reference_load() -> None:
    text = (DOCS / "scenarios.md").read_text(encoding="utf-8")
    blocks = [block.partition("```")[0] for block in text.split("```yaml\n")[1:]]
    whole = [block for block in blocks if "scenario: 2" in block]
    assert whole
    for block in whole:
        load_text(block)


@for_each("slot", SLOTS)
def test_slots_are_filled(slot: str) -> None:
    assert template_problem(f"a {{{slot}}} {{{{b}}}}") is None
    assert fill(f"a {{{slot}}} {{{{b}}}}", {slot: "{x}"}) == "a {x} {b}"


def test_a_slot_without_a_value_is_empty() -> None:
    assert fill("<{peer}>", {}) == "<>"


@for_each(
    ("text", "problem"),
    [
        ("{resullt}", "unknown slot {resullt}"),
        ("{}", "unknown slot {}"),
        ('{"a": 1}', 'unknown slot {"a": 1}'),
        ("{", "expected a template, found a lone {"),
        ("a } b", "expected a template, found a lone }"),
        ("{{text}", "expected a template, found a lone }"),
    ],
)
def test_what_is_no_template_is_reported(text: str, problem: str) -> None:
    found = template_problem(text)
    assert found is not None
    assert found[0] == problem

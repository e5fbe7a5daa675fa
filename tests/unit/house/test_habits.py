"""What surrounds the code of a project: forms that ask for a trace, and a workflow that calls what CI runs anywhere."""

import re
import tomllib
from pathlib import Path

import yaml

from tests.support.for_each import for_each
from tests.support.paths import ROOT
from trunkline.app.runs.known_defects import SYMPTOMS

FORMS = [path for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")) if path.stem != "config"]


def fields(path: Path) -> dict[str, dict]:
    form = yaml.safe_load(path.read_text("utf-8"))
    assert {"name", "description", "body"} <= form.keys()
    found = [part for part in form["body"] if part["type"] != "markdown"]
    ids = [part["id"] for part in found]
    assert len(ids) == len(set(ids))
    assert all(part["attributes"]["label"] for part in found)
    return dict(zip(ids, found, strict=True))


@for_each("path", FORMS, ids=[path.stem for path in FORMS])
def test_every_form_asks_for_a_trace_and_says_how_to_make_one(path: Path) -> None:
    trace = fields(path)["trace"]
    assert "trunkline " in trace["attributes"]["description"]
    # A wish may have none.
    assert trace.get("validations", {}).get("required", False) is (path.stem != "change")


def test_the_form_of_a_gateway_has_the_symptoms_of_the_pages() -> None:
    form = fields(ROOT / ".github" / "ISSUE_TEMPLATE" / "gateway.yml")
    assert form["symptom"]["attributes"]["options"] == [*SYMPTOMS, "something else"]


def test_the_workflow_runs_what_ci_runs_on_each_supported_python() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    [job] = workflow["jobs"].values()
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    supported = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert job["strategy"]["matrix"]["python"] == supported
    assert workflow["permissions"] == {"contents": "read"}

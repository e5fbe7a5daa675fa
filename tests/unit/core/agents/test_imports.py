"""Echo and programs need no extra; a webhook without its extra says in one line what to install."""

import subprocess
import sys

import pytest

from tests.support.paths import ROOT

HIDDEN = """
import sys
from pathlib import Path

for name in ("httpx", "starlette", "uvicorn", "websockets", "openai"):
    sys.modules[name] = None

from trunkline import system_env
from trunkline.core.agents.config import AgentImplementation
from trunkline.core.agents.factory import make_agent

one = AgentImplementation.model_validate(IMPLEMENTATION)
try:
    print(type(make_agent("main", one, folder=Path(), environ={"PATH": "/usr/bin:/bin"}, env=system_env())).__name__)
except Exception as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("implementation", "printed"),
    [
        ({"echo": {}}, "EchoAgent"),
        ({"program": {"command": ["sh"]}}, "ProgramAgent"),
        (
            {"webhook": {"url": "https://example.org"}},
            "Unusable configuration: agents.main.webhook: a webhook needs the package httpx: install trunkline[http]",
        ),
    ],
    ids=["echo", "program", "webhook"],
)
def test_without_the_extras(implementation: dict[str, object], printed: str) -> None:
    source = HIDDEN.replace("IMPLEMENTATION", repr(implementation))
    done = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (printed, "")


def test_importing_trunkline_brings_no_agent_and_no_http() -> None:
    source = (
        "import sys, trunkline; trunkline.Gateway; "
        "print([name for name in sys.modules if name.startswith(('httpx', 'openai', 'trunkline.core.agents'))])"
    )
    done = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

"""The settings of an agent that asks a model, and what is wrong with unusable ones."""

import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.for_each import for_each
from trunkline.core.agents.openai.agent import OpenAIAgent
from trunkline.core.agents.openai.config import OpenAIConfig
from trunkline.core.agents.openai.endpoint import MISSING, LateClient
from trunkline.core.errors import ConfigError


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1"),
        ("https://example.org/v1/chat/completions", "https://example.org/v1"),
        (" http://[::1]:8080 ", "http://[::1]:8080"),
    ],
)
def test_an_address_may_be_written_in_several_ways(given: str, address: str) -> None:
    assert OpenAIConfig(model="m", base_url=given).base_url == address


@for_each(
    ("settings", "words"),
    [
        ({"base_url": "example.org/v1"}, "expected an address such as"),
        ({"base_url": "ftp://example.org"}, "expected an address such as"),
        ({"base_url": "http://"}, "expected an address such as"),
        ({"base_url": "http://a:99999/"}, "expected an address such as"),
        ({"base_url": "https://user:password@example.org/v1"}, "belongs into `api_key`"),
        ({"base_url": "https://example.org/v1?key=1"}, "belongs into `api_key`"),
        ({"options": {"model": "other"}}, "`model` has a setting of its own here"),
        ({"options": {"messages": []}}, "`messages` is set by the agent"),
        ({"model": ""}, "at least 1 character"),
        ({"timeout": 0}, "greater than 0"),
        ({"tools": ["rockets"]}, "'message' or 'hands'"),
        ({"api_key": "sk-1"}, "valid dictionary or instance of Secret"),
        ({"temperature": 0.3}, "Extra inputs"),
    ],
)
def test_unusable_settings_are_refused_in_words(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        OpenAIConfig.model_validate({"model": "m", **settings})


@pytest.mark.parametrize("key", ["sk\n1", "sk 1", "schlüssel", "sk\x00"])
def test_a_key_that_is_none_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(ConfigError) as failed:
        OpenAIAgent(OpenAIConfig(model="m"), key)
    assert key not in str(failed.value)


def test_a_library_that_is_absent_is_one_line_when_an_agent_is_made() -> None:
    source = (
        "import sys; sys.modules['openai'] = None\n"
        "from trunkline.core.agents.openai.agent import OpenAIAgent\n"
        "from trunkline.core.agents.openai.config import OpenAIConfig\n"
        "assert 'httpx' not in sys.modules\n"
        "config = OpenAIConfig(model='m')\n"
        "try: OpenAIAgent(config)\n"
        "except Exception as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == f"Unusable configuration: {MISSING}"


def test_making_an_agent_does_not_load_the_library() -> None:
    source = (
        "import sys\n"
        "from trunkline.core.agents.openai.agent import OpenAIAgent\n"
        "from trunkline.core.agents.openai.config import OpenAIConfig\n"
        "OpenAIAgent(OpenAIConfig(model='m'))\n"
        "print([name for name in ('openai', 'httpx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


@pytest.mark.anyio
async def test_settings_of_the_environment_do_not_leak_to_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "http://from.the.environment")
    client = await LateClient(OpenAIConfig(model="m", base_url="http://127.0.0.1:1/v1"), None).get()
    assert "environment" not in f"{client.api_key} {client.base_url} {client.default_headers}"

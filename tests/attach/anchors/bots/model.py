"""What all these bots have in common: the model, asked with what was said in one place so far."""

import json
import os
import urllib.request

_said: dict[object, list[dict[str, str]]] = {}


def ask(place: object, text: str) -> str:
    """The answer of the model. Blocks."""
    said = _said.setdefault(place, [])
    said.append({"role": "user", "content": text})
    request = urllib.request.Request(
        f"{os.environ['OPENAI_BASE_URL']}/chat/completions",
        json.dumps({"model": os.environ["OPENAI_MODEL"], "messages": said}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        answer = json.load(response)["choices"][0]["message"]["content"]
    said.append({"role": "assistant", "content": answer})
    return answer

"""Calls of the Bot API, as a bot of somebody else makes them."""

import json
import urllib.request
from typing import Any

from trunkline.app.fakes.client import FakesClient


def bot(fakes: FakesClient, method: str, **body: Any) -> Any:
    """A call of the Bot API, as any bot makes it."""
    url = f"{fakes.url('telegram')}/bot{fakes.token('telegram')}/{method}"
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.load(response)["result"]

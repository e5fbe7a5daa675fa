"""An example of each command, for the end of its ``--help``."""

from collections.abc import Sequence

_EXAMPLES = """\
trunkline tour
trunkline attach --command 'python bot.py' --report found
trunkline attach doctor toy
trunkline new twice.yaml
trunkline new lost.yaml --yes --symptom lost --platform slack --place ops/deploy --text 'It is deployed.'
trunkline new again.yaml --from run.jsonl
trunkline run scenarios/museum/B001-announced-twice.yaml --bug own
trunkline run scenarios/tour/told-twice.yaml --bug own --html told-twice.html
trunkline explore scenarios/tour --jobs 2
trunkline fuzz --time 60s --corpus found
trunkline shrink twice.yaml --output smaller.yaml
trunkline upgrade scenarios
trunkline init
trunkline init --yes --platform telegram --token TELEGRAM_TOKEN --agent openai --model gpt-x --key none
trunkline doctor --config gateway.yaml
trunkline serve --config gateway.yaml
trunkline fakes --platforms telegram
trunkline schema --gateway
trunkline queue list --url http://127.0.0.1:8420
trunkline queue show m1.final --store gateway.db
trunkline queue retry m1.final --url http://127.0.0.1:8420
trunkline queue resolve m1.final --sent --store gateway.db
trunkline queue purge --older-than 7d --store gateway.db
trunkline bindings list --url http://127.0.0.1:8420
trunkline bindings unbind b1 --reason 'the work is done' --store gateway.db
trunkline hands list --callback undeliverable --store gateway.db
trunkline hands show m1.hand1 --store gateway.db
trunkline hands cancel m1.hand1 --url http://127.0.0.1:8420
trunkline hands retry-callback m1.hand1 --store gateway.db
trunkline hands discard m1.hand1 --store gateway.db
trunkline hands take archive --store gateway.db --json
trunkline hands progress m1.hand1 'half of it' --ticket T1 --store gateway.db
trunkline hands answer m1.hand1 'Found 3.' --ticket T1 --store gateway.db
trunkline transcript agent:main:main --store gateway.db
trunkline transcript erase --person webchat:ana --store gateway.db
trunkline transcript erasures --store gateway.db
trunkline store check gateway.db
trunkline store backup gateway.db copy.db
trunkline store restore copy.db gateway.db
trunkline store copy gateway.db 'postgresql://trunkline@db.internal/chat?schema=support'
trunkline explain inbound --channel slack --kind channel --peer C0123
trunkline explain send channel:C0123 --channel slack
trunkline explain key agent:main:telegram:group:-100:topic:7
trunkline explain policy --from slack:channel:C1 --to telegram:970312941
trunkline explain prompts --channel telegram --config gateway.yaml
trunkline explain heartbeat --agent watch --config gateway.yaml
trunkline watch http://127.0.0.1:8420
trunkline report run.jsonl --plain
trunkline report run.jsonl --html run.html
trunkline replay run.jsonl
trunkline diff before.jsonl after.jsonl
trunkline bugs twice
trunkline invariants --json
trunkline completion bash --install
"""


def examples_of(words: Sequence[str]) -> str:
    """The examples of the named command and of its subcommands; for none the first of all."""
    command = ["trunkline"]
    lines = _EXAMPLES.splitlines()
    found = lines[:1]
    for word in words:
        of_word = [line for line in lines if line.split()[: len(command) + 1] == [*command, word]]
        if of_word:
            command, found = [*command, word], of_word
    return "\n".join(["Examples:" if len(found) > 1 else "Example:", *(f"  {line}" for line in found)])

"""The words of a platform's `cannot`: capabilities, with the actions that need them, and single actions."""

from collections.abc import Iterable

from trunkline.core.action_catalogue import Action
from trunkline.core.values import Capability

#: capability -> the actions that need it
_NEED: dict[Capability, tuple[Action, ...]] = {
    Capability.POLL: (Action.POLL, Action.POLL_VOTE, Action.POLL_RESULTS),
    Capability.THREADS: (
        *(Action.THREAD_CREATE, Action.THREAD_REPLY, Action.THREAD_LIST, Action.TOPIC_CREATE, Action.TOPIC_EDIT),
    ),
    Capability.MEDIA: (Action.SEND_ATTACHMENT, Action.UPLOAD_FILE, Action.DOWNLOAD_FILE),
}
_CAPABILITIES = frozenset(Capability)
_ACTIONS = frozenset(Action)

#: every word that can be taken away
ABILITIES: tuple[str, ...] = tuple(dict.fromkeys([*map(str, Capability), *map(str, Action)]))


def lost_to(words: Iterable[str]) -> tuple[frozenset[Capability], frozenset[Action]]:
    """The capabilities and actions that an account loses; `reactions` is every kind of reaction."""
    given = frozenset(words)
    capabilities = frozenset(Capability(word) for word in given if word in _CAPABILITIES)
    actions = {Action(word) for word in given if word in _ACTIONS}
    actions |= {action for capability in capabilities for action in _NEED.get(capability, ())}
    return capabilities, frozenset(actions | ({Action.REACT} if Action.REACTIONS in actions else set()))

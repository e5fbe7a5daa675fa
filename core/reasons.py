"""The closed set of reason codes: one enum, shown unchanged in events, queue rows, CLI and TUI.

Nothing is dropped, suppressed, redirected or given up without one (invariant V1). The sentence of each code is its
documentation; `docs/reasons.md` is generated from here.
"""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why something happened, or did not."""

    # inbound
    DUPLICATE_MESSAGE = "duplicate-message"
    DUPLICATE_REPLAY = "duplicate-replay"
    EMPTY_MESSAGE = "empty-message"
    # why a route binding won or lost
    MATCHED = "matched"
    OTHER_CHANNEL = "other-channel"
    OTHER_ACCOUNT = "other-account"
    OTHER_PEER = "other-peer"
    OTHER_GUILD = "other-guild"
    OTHER_TEAM = "other-team"
    ROLE_MISSING = "role-missing"
    LESS_SPECIFIC = "less-specific"
    DECLARED_LATER = "declared-later"
    DEFAULT_AGENT = "default-agent"
    # configuration and sessions
    SCOPE_CHANGED = "scope-changed"
    KEY_MIGRATED = "key-migrated"
    KEYS_MERGED = "keys-merged"
    SHARED_MAIN = "shared-main"
    # sends that name a target, an account or a session
    BAD_TARGET = "bad-target"
    AMBIGUOUS_TARGET = "ambiguous-target"
    UNKNOWN_CHANNEL = "unknown-channel"
    UNKNOWN_ACCOUNT = "unknown-account"
    BAD_SESSION_KEY = "bad-session-key"
    NOTHING_TO_SEND = "nothing-to-send"
    TEXT_TOO_LONG = "text-too-long"
    BAD_TEXT = "bad-text"
    UNSUPPORTED = "unsupported"
    BAD_POLL = "bad-poll"
    DRY_RUN = "dry-run"
    BAD_IDEMPOTENCY_KEY = "bad-idempotency-key"
    IDEMPOTENT_REPEAT = "idempotent-repeat"
    # messages of bots and of the gateway itself
    OWN_ECHO = "own-echo"
    BOT_IGNORED = "bot-ignored"
    DUPLICATE_PROXY = "duplicate-proxy"
    # session bindings: why one won, lost, ended, or could not be made
    BOUND_SESSION = "bound-session"
    BOUND_DESTINATION = "bound-destination"
    REQUESTER_MATCH = "requester-match"
    SINGLE_ACTIVE_BINDING = "single-active-binding"
    SINGLE_ACTIVE_BINDING_FALLBACK = "single-active-binding-fallback"
    MISSING_TARGET_SESSION = "missing-target-session"
    NO_ACTIVE_BINDING = "no-active-binding"
    MISSING_REQUESTER = "missing-requester"
    AMBIGUOUS_WITHOUT_REQUESTER = "ambiguous-without-requester"
    INVALID_REQUESTER = "invalid-requester"
    NO_REQUESTER_MATCH = "no-requester-match"
    OTHER_CONVERSATION = "other-conversation"
    NOT_ACTIVE = "not-active"
    UNBOUND = "unbound"
    REBOUND = "rebound"
    IDLE_EXPIRED = "idle-expired"
    MAX_AGE_EXPIRED = "max-age-expired"
    THREAD_ARCHIVED = "thread-archived"
    THREAD_GONE = "thread-gone"
    BINDING_ADAPTER_UNAVAILABLE = "binding-adapter-unavailable"
    BINDING_CAPABILITY_UNSUPPORTED = "binding-capability-unsupported"
    BINDING_CREATE_FAILED = "binding-create-failed"
    BOUND_BY_ANOTHER = "bound-by-another"
    BINDING_SELECTOR_MISSING = "binding-selector-missing"
    UNKNOWN_SESSION = "unknown-session"
    BAD_TTL = "bad-ttl"
    IDENTITY_GONE = "identity-gone"
    THREAD_NOTICE = "thread-notice"
    # commands that peers give the gateway
    CONTROL_REPLY = "control-reply"
    NOT_PERMITTED = "not-permitted"
    UNKNOWN_COMMAND = "unknown-command"
    # why a destination was chosen
    REPLY_TO_ORIGIN = "reply-to-origin"
    REPLY_IN_OPENED_THREAD = "reply-in-opened-thread"
    EXPLICIT_TARGET = "explicit-target"
    CALLBACK_TURN = "callback-turn"
    DIRECT_ANNOUNCE = "direct-announce"
    HAND_SESSION_ROUTE = "hand-session-route"
    REQUESTER_REPLACED = "requester-replaced"
    CLIENT_SEND = "client-send"
    # why nothing is said
    NO_REPLY = "no-reply"
    NO_ORIGIN = "no-origin"
    ALREADY_QUEUED = "already-queued"
    # turns and hands
    AGENT_RAISED = "agent-raised"
    UNKNOWN_AGENT = "unknown-agent"
    UNKNOWN_HAND = "unknown-hand"
    HAND_RAISED = "hand-raised"
    HAND_DEADLINE = "hand-deadline"
    PROCESS_DIED = "process-died"
    ALREADY_FINISHED = "already-finished"
    # delivery
    ACCEPTED = "accepted"
    FOUND_BY_LOOKUP = "found-by-lookup"
    NOT_FOUND_BY_LOOKUP = "not-found-by-lookup"
    LOOKUP_FAILED = "lookup-failed"
    NOT_SENT = "not-sent"
    RATE_LIMITED = "rate-limited"
    PLATFORM_ERROR = "platform-error"
    REFUSED = "refused"
    PLACE_GONE = "place-gone"
    UNAUTHORIZED = "unauthorized"
    RESPONSE_LOST = "response-lost"
    CRASH_AMBIGUOUS = "crash-ambiguous"
    SAME_KEY_RESEND = "same-key-resend"
    ATTEMPTS_EXHAUSTED = "attempts-exhausted"
    TOO_OLD = "too-old"
    NO_ADAPTER = "no-adapter"
    PARKED = "parked"
    MISPLACED = "misplaced"
    RECOVERED = "recovered"
    NO_RECEIPT = "no-receipt"
    KEY_EXPIRED = "key-expired"
    MARKED_RESEND = "marked-resend"
    GATEWAY_PATH = "gateway-path"
    NOT_READY = "not-ready"
    PACED = "paced"
    # hooks
    KEPT_BY_HOOKS = "kept-by-hooks"
    MODIFIED_BY_HOOK = "modified-by-hook"
    CANCELLED_BY_HOOK = "cancelled-by-hook"
    EMPTY_AFTER_HOOK = "empty-after-hook"
    HOOK_RAISED = "hook-raised"
    BAD_HOOK_ANSWER = "bad-hook-answer"
    # operators, other processes
    OPERATOR_RETRY = "operator-retry"
    OPERATOR_SENT = "operator-sent"
    OPERATOR_UNSENT = "operator-unsent"
    LEASE_FREE = "lease-free"
    LEASE_EXPIRED = "lease-expired"
    HOLDER_DEAD = "holder-dead"
    LEASE_HELD = "lease-held"
    STORE_ERROR = "store-error"
    MIRROR_REFUSED = "mirror-refused"
    BROKEN_ROW = "broken-row"
    CHANGED_ELSEWHERE = "changed-elsewhere"
    RETENTION = "retention"

    @property
    def sentence(self) -> str:
        """One sentence for people."""
        return _SENTENCES[self]


_SENTENCES: dict[Reason, str] = {
    Reason.DUPLICATE_MESSAGE: "The platform delivered a message again under the id it already had.",
    Reason.DUPLICATE_REPLAY: "The platform replayed a message under a new id; sender, time and text are the same.",
    Reason.EMPTY_MESSAGE: "The message carries nothing to act on.",
    Reason.MATCHED: "Every constraint of the binding holds and no earlier tier matched.",
    Reason.OTHER_CHANNEL: "The binding names another channel.",
    Reason.OTHER_ACCOUNT: "The binding names another account (no account means the default account only).",
    Reason.OTHER_PEER: "The binding names another peer, or a peer of another kind.",
    Reason.OTHER_GUILD: "The binding names another guild.",
    Reason.OTHER_TEAM: "The binding names another team.",
    Reason.ROLE_MISSING: "The sender holds none of the roles that the binding lists.",
    Reason.LESS_SPECIFIC: "A binding of a more specific tier matched.",
    Reason.DECLARED_LATER: "A binding of the same tier was declared before it.",
    Reason.DEFAULT_AGENT: "No binding matched: the default agent answers.",
    Reason.SCOPE_CHANGED: "The configured scope changed, and with it the session key of this conversation.",
    Reason.KEY_MIGRATED: "An earlier version wrote the session under another form of its key.",
    Reason.KEYS_MERGED: "Two stored keys are one conversation: the session written last goes on.",
    Reason.SHARED_MAIN: "People who are not linked share one session, because the DM scope is main.",
    Reason.BAD_TARGET: "The target does not name a place on its platform.",
    Reason.AMBIGUOUS_TARGET: "The target may name several things; more must be said.",
    Reason.UNKNOWN_CHANNEL: "No adapter serves that channel.",
    Reason.UNKNOWN_ACCOUNT: "The gateway has no such account on that channel.",
    Reason.BAD_SESSION_KEY: "The text is not a session key.",
    Reason.NOTHING_TO_SEND: "There is neither text nor media.",
    Reason.BAD_IDEMPOTENCY_KEY: "The idempotency key is empty, or a text that cannot be stored.",
    Reason.IDEMPOTENT_REPEAT: "A send with the same idempotency key came before; this one gets its result.",
    Reason.OWN_ECHO: "The platform brought back what the gateway itself had posted, by a webhook of its own.",
    Reason.BOT_IGNORED: "A bot or a webhook wrote it, and the channel is configured to ignore those.",
    Reason.DUPLICATE_PROXY: "A proxy posted it instead of a message that is known already.",
    Reason.BOUND_SESSION: "The conversation is bound to a session, which gets its messages.",
    Reason.BOUND_DESTINATION: "The session has a bound conversation, and its completion goes there and nowhere else.",
    Reason.REQUESTER_MATCH: "It is the conversation of the requester, or the only one on its channel and account.",
    Reason.SINGLE_ACTIVE_BINDING: "Nobody is known to have asked, and the session has one bound conversation.",
    Reason.SINGLE_ACTIVE_BINDING_FALLBACK: "The session has one bound conversation, on another channel or account.",
    Reason.MISSING_TARGET_SESSION: "No session was named.",
    Reason.NO_ACTIVE_BINDING: "The session has no conversation that is bound now.",
    Reason.MISSING_REQUESTER: "Nobody is known to have asked, and destinations are not guessed.",
    Reason.AMBIGUOUS_WITHOUT_REQUESTER: "Nobody is known to have asked, and several conversations are bound.",
    Reason.INVALID_REQUESTER: "The requester has no channel or no conversation.",
    Reason.NO_REQUESTER_MATCH: "No bound conversation is that of the requester, or the only one on its channel.",
    Reason.OTHER_CONVERSATION: "It is another conversation than the requester's, and not the only one there.",
    Reason.NOT_ACTIVE: "The binding takes nothing new.",
    Reason.UNBOUND: "Somebody unbound the conversation.",
    Reason.REBOUND: "The conversation was bound to another session.",
    Reason.IDLE_EXPIRED: "Nothing was said in the bound conversation for too long.",
    Reason.MAX_AGE_EXPIRED: "The binding reached its greatest age.",
    Reason.THREAD_ARCHIVED: "The thread is archived, and may not be unarchived.",
    Reason.THREAD_GONE: "The thread is deleted, or cannot be seen any more.",
    Reason.BINDING_ADAPTER_UNAVAILABLE: "No adapter of that channel and account can bind conversations.",
    Reason.BINDING_CAPABILITY_UNSUPPORTED: "The adapter cannot bind a conversation in this way.",
    Reason.BINDING_CREATE_FAILED: "The platform did not give a conversation to bind.",
    Reason.BOUND_BY_ANOTHER: "The conversation is bound by somebody else.",
    Reason.BINDING_SELECTOR_MISSING: "Neither a binding nor a session was named.",
    Reason.UNKNOWN_SESSION: "There is no such session.",
    Reason.BAD_TTL: "A time to live is a positive number of seconds.",
    Reason.IDENTITY_GONE: "The webhook that should speak is gone or may not be used.",
    Reason.THREAD_NOTICE: "A word that something could not be said where it belongs, without its content.",
    Reason.CONTROL_REPLY: "The gateway answers a command where it was given.",
    Reason.NOT_PERMITTED: "Whoever asked may not do that.",
    Reason.UNKNOWN_COMMAND: "There is no such command.",
    Reason.REPLY_TO_ORIGIN: "The answer goes to the exact place that the question came from.",
    Reason.REPLY_IN_OPENED_THREAD: "Auto-thread is on: the answer goes to the thread opened on the question.",
    Reason.EXPLICIT_TARGET: "The agent named the target.",
    Reason.CALLBACK_TURN: "The hand's result is given to the requester's session as one turn.",
    Reason.DIRECT_ANNOUNCE: "The hand's result is posted as it is, without a turn of the requester.",
    Reason.HAND_SESSION_ROUTE: "The hand's own session resolved to this place.",
    Reason.REQUESTER_REPLACED: "The requester's session was reset meanwhile: the result is posted, and starts no turn.",
    Reason.CLIENT_SEND: "A client of the gateway asked for it, outside of any turn.",
    Reason.NO_REPLY: "The agent chose to say nothing.",
    Reason.NO_ORIGIN: "The turn was not started from any conversation, so a final text has nowhere to go.",
    Reason.ALREADY_QUEUED: "The same turn queued the same intent before (a re-run after a crash).",
    Reason.AGENT_RAISED: "The agent raised an error; the turn ended without an answer.",
    Reason.UNKNOWN_AGENT: "The route names an agent that is not installed.",
    Reason.UNKNOWN_HAND: "The agent delegated to a hand that is not installed.",
    Reason.HAND_RAISED: "The hand raised an error.",
    Reason.HAND_DEADLINE: "The hand did not finish within its deadline.",
    Reason.PROCESS_DIED: "The process that ran it died.",
    Reason.ALREADY_FINISHED: "A first result was stored before; the first one counts.",
    Reason.ACCEPTED: "The platform accepted it.",
    Reason.FOUND_BY_LOOKUP: "The platform was asked and has it.",
    Reason.NOT_FOUND_BY_LOOKUP: "The platform was asked, after the request's lifetime, and does not have it.",
    Reason.LOOKUP_FAILED: "The look-up itself failed; that is not a no.",
    Reason.NOT_SENT: "The failure is proven to precede the platform.",
    Reason.RATE_LIMITED: "The platform asked to wait.",
    Reason.PLATFORM_ERROR: "The platform said it did not take it, for a reason that may pass.",
    Reason.REFUSED: "The platform refused it for good.",
    Reason.PLACE_GONE: "The conversation or thread no longer takes messages.",
    Reason.UNAUTHORIZED: "The platform did not accept the account's token.",
    Reason.RESPONSE_LOST: "The request left, and no answer came back: it may have been accepted.",
    Reason.CRASH_AMBIGUOUS: "The process died while the request may have been on the wire.",
    Reason.SAME_KEY_RESEND: "Resent under the same idempotency key: the platform keeps one.",
    Reason.ATTEMPTS_EXHAUSTED: "The attempts allowed were used up.",
    Reason.TOO_OLD: "It is older than the age limit.",
    Reason.NO_ADAPTER: "No adapter is installed for that channel and account.",
    Reason.PARKED: "Nobody can tell whether it was accepted: parked for a person, never resent silently.",
    Reason.MISPLACED: "The platform accepted it, and its receipt shows another place than the one asked for.",
    Reason.RECOVERED: "Found unfinished at start.",
    Reason.NO_RECEIPT: "The answer names no message, and this platform's answers do: that is no evidence of delivery.",
    Reason.KEY_EXPIRED: "The platform has forgotten the idempotency key, so the chunk cannot be resent under it.",
    Reason.MARKED_RESEND: "It may have been accepted: by policy it is sent once more, visibly marked.",
    Reason.GATEWAY_PATH: "The direct path provably did not reach the platform: the gateway path is used.",
    Reason.NOT_READY: "The channel is not ready; waiting costs no attempt.",
    Reason.PACED: "The configured rate of recovered messages is reached.",
    Reason.KEPT_BY_HOOKS: "The hooks left it as it is.",
    Reason.MODIFIED_BY_HOOK: "A hook changed the text before it was stored.",
    Reason.CANCELLED_BY_HOOK: "A hook cancelled it: it is not sent, and its text is not stored.",
    Reason.EMPTY_AFTER_HOOK: "The hooks left nothing that can be seen.",
    Reason.HOOK_RAISED: "A hook raised an error: the message went on without it, unless the hook is required.",
    Reason.BAD_HOOK_ANSWER: "A hook answered something that is no answer: that counts as an error of the hook.",
    Reason.OPERATOR_RETRY: "An operator had it tried again.",
    Reason.OPERATOR_SENT: "An operator says that the platform has it.",
    Reason.OPERATOR_UNSENT: "An operator says that the platform does not have it.",
    Reason.LEASE_FREE: "No process holds the store.",
    Reason.LEASE_EXPIRED: "The process that holds the store has not renewed its lease in time.",
    Reason.HOLDER_DEAD: "The process that held the store is proven dead.",
    Reason.LEASE_HELD: "Another process holds the store.",
    Reason.TEXT_TOO_LONG: "The text is longer than the gateway takes.",
    Reason.BAD_TEXT: "The text is no valid Unicode.",
    Reason.UNSUPPORTED: "The channel's adapter cannot do that.",
    Reason.BAD_POLL: "The poll cannot be asked like this.",
    Reason.DRY_RUN: "Asked for as a dry run: nothing was stored or sent.",
    Reason.MIRROR_REFUSED: "The store refused the transcript line; it is tried again until it is there.",
    Reason.BROKEN_ROW: "Its stored row cannot be read: it is set aside, and stops no other.",
    Reason.CHANGED_ELSEWHERE: "Somebody else has changed the stored row: it is read again.",
    Reason.RETENTION: "It ended longer ago than finished rows are kept.",
    Reason.STORE_ERROR: "The store refused the write; it is tried again.",
}

"""The closed set of reason codes: one enum, shown unchanged in events, queue rows, the CLI and the app.

Nothing is dropped, suppressed, redirected or given up without a reason (invariant V1). The sentence of each code is its
documentation; `docs/reasons.md` is generated from this table.
"""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why something happened, or did not."""

    # inbound
    DUPLICATE_MESSAGE = "duplicate-message"
    DUPLICATE_REPLAY = "duplicate-replay"
    EMPTY_MESSAGE = "empty-message"
    BAD_ENVELOPE = "bad-envelope"
    UNDECIDABLE = "undecidable"
    # why a route rule won or lost
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
    BOUND_TO_OTHER_ACCOUNT = "bound-to-other-account"
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
    BAD_END_REASON = "bad-end-reason"
    BINDING_SELECTOR_MISSING = "binding-selector-missing"
    UNKNOWN_SESSION = "unknown-session"
    BAD_TTL = "bad-ttl"
    IDENTITY_GONE = "identity-gone"
    THREAD_NOTICE = "thread-notice"
    FAILED_NOTICE = "failed-notice"
    # commands from peers to the gateway
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
    # why nothing is sent
    NO_REPLY = "no-reply"
    NO_ORIGIN = "no-origin"
    ALREADY_QUEUED = "already-queued"
    # turns and hands
    AGENT_RAISED = "agent-raised"
    BAD_ANSWER = "bad-answer"
    BAD_ARGUMENT = "bad-argument"
    TURN_OVER = "turn-over"
    RUNS_EXHAUSTED = "runs-exhausted"
    RUNS_NOTICE = "runs-notice"
    UNKNOWN_AGENT = "unknown-agent"
    UNKNOWN_HAND = "unknown-hand"
    HAND_RAISED = "hand-raised"
    BAD_RESULT = "bad-result"
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
    ABANDONED = "abandoned"
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
    Reason.DUPLICATE_MESSAGE: "The platform delivered the message again under the same id.",
    Reason.DUPLICATE_REPLAY: "The platform replayed the message under a new id; sender, time and text are the same.",
    Reason.EMPTY_MESSAGE: "The message has no content to act on.",
    Reason.BAD_ENVELOPE: "The adapter handed over a message with unusable fields; it cannot be stored or answered.",
    Reason.UNDECIDABLE: "Deciding on the message raised an error; it stays unacknowledged.",
    Reason.MATCHED: "Every constraint of the route rule holds, and no more specific tier matched.",
    Reason.OTHER_CHANNEL: "The rule or binding names another channel.",
    Reason.OTHER_ACCOUNT: "The rule or binding names another account (a rule without one means the default account).",
    Reason.OTHER_PEER: "The route rule names another peer, or a peer of another kind.",
    Reason.OTHER_GUILD: "The route rule names another guild.",
    Reason.OTHER_TEAM: "The route rule names another team.",
    Reason.ROLE_MISSING: "The sender holds none of the roles that the route rule lists.",
    Reason.LESS_SPECIFIC: "A route rule of a more specific tier matched.",
    Reason.DECLARED_LATER: "A matching route rule of the same tier was declared earlier.",
    Reason.DEFAULT_AGENT: "No route rule matched: the default agent answers.",
    Reason.SCOPE_CHANGED: "The configured scope changed, and with it the session key of this conversation.",
    Reason.KEY_MIGRATED: "An earlier version stored the session under another form of its key.",
    Reason.KEYS_MERGED: "Two stored keys name the same conversation: the session used last is kept.",
    Reason.SHARED_MAIN: "Unlinked people share one session because the DM scope is main.",
    Reason.BAD_TARGET: "The target does not name a place on its platform.",
    Reason.AMBIGUOUS_TARGET: "The target can mean several places; it must be more specific.",
    Reason.UNKNOWN_CHANNEL: "No adapter serves that channel.",
    Reason.UNKNOWN_ACCOUNT: "The gateway has no such account on that channel.",
    Reason.BAD_SESSION_KEY: "The text is not a session key.",
    Reason.NOTHING_TO_SEND: "There is neither text nor media.",
    Reason.BAD_IDEMPOTENCY_KEY: "The idempotency key is empty, or a text that cannot be stored.",
    Reason.IDEMPOTENT_REPEAT: "An earlier send had the same idempotency key; this one returns its result.",
    Reason.OWN_ECHO: "The platform delivered a message that the gateway itself had posted through its webhook.",
    Reason.BOT_IGNORED: "A bot or webhook wrote it, and the channel is configured to ignore those.",
    Reason.BOUND_TO_OTHER_ACCOUNT: "The conversation is bound through another account of the gateway, which answers.",
    Reason.DUPLICATE_PROXY: "A proxy posted it in place of a message that was already received.",
    Reason.BOUND_SESSION: "The conversation is bound to a session, which receives its messages.",
    Reason.BOUND_DESTINATION: "The session has a bound conversation, and its completion goes there and nowhere else.",
    Reason.REQUESTER_MATCH: "It is the requester's conversation, or the only bound one on that channel and account.",
    Reason.SINGLE_ACTIVE_BINDING: "The requester is unknown, and the session has exactly one bound conversation.",
    Reason.SINGLE_ACTIVE_BINDING_FALLBACK: "The session's only bound conversation is on another channel or account.",
    Reason.MISSING_TARGET_SESSION: "No session was named.",
    Reason.NO_ACTIVE_BINDING: "The session has no active binding.",
    Reason.MISSING_REQUESTER: "The requester is unknown, and destinations are not guessed.",
    Reason.AMBIGUOUS_WITHOUT_REQUESTER: "The requester is unknown, and several conversations are bound.",
    Reason.INVALID_REQUESTER: "The requester has no channel or no conversation.",
    Reason.NO_REQUESTER_MATCH: "No bound conversation is the requester's, or the only one on that channel and account.",
    Reason.OTHER_CONVERSATION: "It is not the requester's conversation, nor the only one on that channel and account.",
    Reason.NOT_ACTIVE: "The binding is ending and accepts nothing new.",
    Reason.UNBOUND: "A peer or an operator unbound the conversation.",
    Reason.REBOUND: "The conversation was bound to another session.",
    Reason.IDLE_EXPIRED: "The bound conversation was idle for too long.",
    Reason.MAX_AGE_EXPIRED: "The binding reached its maximum age.",
    Reason.THREAD_ARCHIVED: "The thread is archived and cannot be unarchived.",
    Reason.THREAD_GONE: "The thread was deleted or is no longer visible to the bot.",
    Reason.BINDING_ADAPTER_UNAVAILABLE: "No adapter for that channel and account can bind conversations.",
    Reason.BINDING_CAPABILITY_UNSUPPORTED: "The adapter cannot bind a conversation in this way.",
    Reason.BINDING_CREATE_FAILED: "The platform could not create a conversation to bind.",
    Reason.BAD_END_REASON: "The reason that was given for an end is no text.",
    Reason.BOUND_BY_ANOTHER: "Another user bound the conversation.",
    Reason.BINDING_SELECTOR_MISSING: "Neither a binding nor a session was named.",
    Reason.UNKNOWN_SESSION: "There is no such session.",
    Reason.BAD_TTL: "The time to live is not a positive number of seconds.",
    Reason.IDENTITY_GONE: "The webhook that should post the message is gone or may not be used.",
    Reason.THREAD_NOTICE: "A notice, without its content, that a message could not be delivered to its thread.",
    Reason.FAILED_NOTICE: "The configured notice, without its content, that an answer could not be delivered.",
    Reason.CONTROL_REPLY: "The gateway answers a command in the conversation where it was given.",
    Reason.NOT_PERMITTED: "The requester may not do that.",
    Reason.UNKNOWN_COMMAND: "There is no such command.",
    Reason.REPLY_TO_ORIGIN: "The answer goes to the exact place that the message came from.",
    Reason.REPLY_IN_OPENED_THREAD: "Auto-thread is on: the answer goes to the thread opened on the message.",
    Reason.EXPLICIT_TARGET: "The agent named the target.",
    Reason.CALLBACK_TURN: "The hand's result becomes one turn of the requester's session.",
    Reason.DIRECT_ANNOUNCE: "The hand's result is posted unchanged, without a turn of the requester.",
    Reason.HAND_SESSION_ROUTE: "The hand's own session resolved to this place.",
    Reason.REQUESTER_REPLACED: "The requester has another session meanwhile: the result is posted without a turn.",
    Reason.CLIENT_SEND: "A client of the gateway requested it, outside any turn.",
    Reason.NO_REPLY: "The agent chose not to answer.",
    Reason.NO_ORIGIN: "The turn did not start from a conversation, so its final text has no destination.",
    Reason.ALREADY_QUEUED: "The same turn already queued the same intent (a re-run after a crash).",
    Reason.AGENT_RAISED: "The agent raised an error; the turn ended without an answer.",
    Reason.BAD_ANSWER: "The agent returned something that is no text; the turn ended without an answer.",
    Reason.BAD_ARGUMENT: "An argument has the wrong type, or is a text that cannot be stored.",
    Reason.TURN_OVER: "The turn had ended when its tool was called.",
    Reason.RUNS_EXHAUSTED: "The process died during every allowed run.",
    Reason.RUNS_NOTICE: "A notice that the message is not answered, because the process died during every run of it.",
    Reason.UNKNOWN_AGENT: "The route names an agent that is not installed.",
    Reason.UNKNOWN_HAND: "The agent delegated to a hand that is not installed.",
    Reason.HAND_RAISED: "The hand raised an error.",
    Reason.BAD_RESULT: "The hand returned something that is no text.",
    Reason.HAND_DEADLINE: "The hand did not finish within its deadline.",
    Reason.PROCESS_DIED: "The process that ran it died.",
    Reason.ALREADY_FINISHED: "A result was already stored; the first one counts.",
    Reason.ACCEPTED: "The platform accepted it.",
    Reason.FOUND_BY_LOOKUP: "A look-up found it on the platform.",
    Reason.NOT_FOUND_BY_LOOKUP: "A look-up after the request's lifetime did not find it on the platform.",
    Reason.LOOKUP_FAILED: "The look-up itself failed, which proves nothing.",
    Reason.NOT_SENT: "The request provably never reached the platform.",
    Reason.RATE_LIMITED: "The platform asked to wait.",
    Reason.PLATFORM_ERROR: "The platform did not accept it, for a reason that may be temporary.",
    Reason.REFUSED: "The platform refused it for good.",
    Reason.PLACE_GONE: "The conversation or thread no longer accepts messages.",
    Reason.UNAUTHORIZED: "The platform did not accept the account's token.",
    Reason.RESPONSE_LOST: "The request was sent and no response came back: it may have been accepted.",
    Reason.CRASH_AMBIGUOUS: "The process died while the request may have been on the wire.",
    Reason.SAME_KEY_RESEND: "Resent under the same idempotency key: the platform keeps only one.",
    Reason.ATTEMPTS_EXHAUSTED: "All allowed attempts were used.",
    Reason.TOO_OLD: "It is older than the age limit.",
    Reason.NO_ADAPTER: "No adapter is installed for that channel and account.",
    Reason.PARKED: "Whether it was accepted cannot be known: parked for an operator, never resent silently.",
    Reason.MISPLACED: "The platform accepted it, but the receipt shows another place than the requested one.",
    Reason.RECOVERED: "Found unfinished at start.",
    Reason.NO_RECEIPT: "The response names no message, as this platform's responses must: it is no proof of delivery.",
    Reason.KEY_EXPIRED: "The platform has forgotten the idempotency key, so the chunk cannot be resent under it.",
    Reason.MARKED_RESEND: "It may have been accepted: the policy is to send it once more, visibly marked.",
    Reason.GATEWAY_PATH: "The direct transport provably did not reach the platform: the gateway transport is used.",
    Reason.NOT_READY: "The channel is not ready; waiting uses no attempt.",
    Reason.PACED: "The configured rate limit for recovered messages is reached.",
    Reason.KEPT_BY_HOOKS: "The hooks left it unchanged.",
    Reason.MODIFIED_BY_HOOK: "A hook changed the text before it was stored.",
    Reason.CANCELLED_BY_HOOK: "A hook cancelled it: it is not sent and its text is not stored.",
    Reason.EMPTY_AFTER_HOOK: "The hooks left nothing visible.",
    Reason.HOOK_RAISED: "A hook raised an error: the message is sent without it unless the hook is required.",
    Reason.BAD_HOOK_ANSWER: "A hook returned an invalid answer, which counts as an error of the hook.",
    Reason.OPERATOR_RETRY: "An operator retried it.",
    Reason.OPERATOR_SENT: "An operator confirmed that the platform has it.",
    Reason.OPERATOR_UNSENT: "An operator confirmed that the platform does not have it.",
    Reason.ABANDONED: "An operator gave it up while a chunk was in doubt: whether that was accepted stays unknown.",
    Reason.LEASE_FREE: "No process holds the store.",
    Reason.LEASE_EXPIRED: "The process that holds the store has not renewed its lease in time.",
    Reason.HOLDER_DEAD: "The process that held the store is provably dead.",
    Reason.LEASE_HELD: "Another process holds the store.",
    Reason.TEXT_TOO_LONG: "The text is longer than the gateway accepts.",
    Reason.BAD_TEXT: "The text is not valid Unicode.",
    Reason.UNSUPPORTED: "The channel's adapter cannot do that.",
    Reason.BAD_POLL: "The poll is invalid.",
    Reason.DRY_RUN: "The send was a dry run: nothing was stored or sent.",
    Reason.MIRROR_REFUSED: "The store refused the transcript line; the write is retried until it succeeds.",
    Reason.BROKEN_ROW: "Its stored row cannot be read: it is set aside and blocks no other.",
    Reason.CHANGED_ELSEWHERE: "Another process or an operator changed the stored row: it is read again.",
    Reason.RETENTION: "It ended before the retention period of finished rows.",
    Reason.STORE_ERROR: "The store refused the write; it is retried.",
}

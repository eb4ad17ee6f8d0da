"""The error tree: every error that may reach the user, with its cause and its next step.

    CogencyError
    ├── UserFacingError      the user's: an invalid command, setting or argument
    │   ├── UsageError
    │   │   └── OpenElsewhereError   another process has the conversation open
    │   └── ConfigError
    ├── ProviderError            the peer's: a model endpoint that refuses, fails or sends nonsense
    │   ├── AuthenticationError
    │   ├── PermissionDeniedError
    │   ├── ModelNotFoundError
    │   ├── RateLimitError
    │   ├── OverloadedError
    │   ├── ContextTooLongError
    │   ├── BadRequestError
    │   ├── NetworkError
    │   │   └── SessionLostError
    │   ├── SessionRefusedError
    │   ├── ProviderTimeoutError
    │   └── ProviderProtocolError
    ├── BudgetError              the budget is exhausted; nothing was sent
    ├── ToolError                a tool failed; the model receives the error
    │   ├── JournalError         a change cannot be recorded beforehand; it was not made
    │   ├── StrangerError        a failure described in the words of an untrusted source
    │   ├── RefusedError         permissions refused a call
    │   │   ├── ModeError        the permission mode does not allow it at all
    │   │   └── DeclinedError    the user declined it
    │   └── WorkspaceError       a path or a file cannot be used as asked
    │       ├── ConsentError
    │       └── LossError
    ├── HistoryServerError       the peer's: a team's database that refuses, fails or is out of reach
    └── StoreError               the machine's: the data directory or the database

A message names the problem and its place; `hint` is the next step, and may be empty.
"""

from collections.abc import Sequence


def sentence(text: str) -> str:
    """Return the text with a full stop, if it has no end."""
    return text if not text or text.endswith((".", "!", "?", "…")) else f"{text}."


def in_words(names: Sequence[str], most: int | None = None) -> str:
    """Name things in a sentence, at most so many of them: `a`, `a and b`, `a, b and 3 more`."""
    named = list(names[:most])
    if len(named) < len(names):
        named.append(f"{len(names) - len(named):,} more")
    return " and ".join(filter(None, (", ".join(named[:-1]), *named[-1:])))


class CogencyError(Exception):
    """Base of all errors that the program reports by itself.

    `str(error)` is one line for the user; `hint` is the next step (may be empty). `kind` names the failure in
    a word or two, in the store, too: it never changes.
    """

    kind = "turn"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def sentence(self) -> str:
        """The message with its full stop."""
        return sentence(str(self))

    @property
    def advice(self) -> str:
        """The message with its next step, in one line."""
        return f"{self.sentence} {self.hint}".strip() if self.hint else str(self)


class UserFacingError(CogencyError):
    """The user's input cannot be used."""

    kind = "usage"


class UsageError(UserFacingError):
    """A command or argument that cannot be carried out (exit status 2 on the command line)."""


class UnsentError(UserFacingError):
    """The user interrupted what precedes a message, which is not sent."""


class OpenElsewhereError(UsageError):
    """A conversation that another process has open."""


class ConfigError(UserFacingError):
    """A configuration file or variable that is invalid, or cannot be read or written."""


class ProviderError(CogencyError):
    """A model endpoint failed. `retryable`: another attempt may succeed."""

    kind = "provider"
    retryable = False


class AuthenticationError(ProviderError):
    """No key, or one that the endpoint rejects."""

    kind = "authentication"


class PermissionDeniedError(ProviderError):
    """The key is valid, but lacks the permission."""

    kind = "permission"


class ModelNotFoundError(ProviderError):
    """The endpoint does not have this model."""

    kind = "model"


class RateLimitError(ProviderError):
    """Too many requests or tokens. `retry_after` is the requested wait in seconds, if any."""

    kind = "rate limit"
    retryable = True

    def __init__(self, message: str, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after


class OverloadedError(ProviderError):
    """The endpoint is up but cannot serve now (HTTP 5xx, 529). `retry_after` as for rate limits."""

    kind = "overload"
    retryable = True

    def __init__(self, message: str, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after


class ContextTooLongError(ProviderError):
    """The conversation does not fit the model's context."""

    kind = "context"


class BadRequestError(ProviderError):
    """The endpoint refused the request; its own words are in the message."""

    kind = "request"


class NetworkError(ProviderError):
    """No connection, or one that broke."""

    kind = "network"
    retryable = True


class SessionLostError(NetworkError):
    """An open session is gone: dropped, expired, evicted. The history is in the store."""


class SessionRefusedError(ProviderError):
    """The endpoint has no sessions for this model; requests may work."""

    kind = "session"


class ProviderTimeoutError(ProviderError):
    """The endpoint did not answer in time."""

    kind = "timeout"
    retryable = True


class ProviderProtocolError(ProviderError):
    """The endpoint sent something that its protocol does not allow; the message describes it."""

    kind = "protocol"


class EmptyAnswerError(ProviderProtocolError):
    """The model wrote nothing: neither text nor a call."""


class HistoryServerError(CogencyError):
    """A team's database cannot be used. `passing`: another attempt may succeed."""

    kind = "history server"

    def __init__(self, message: str, hint: str = "", *, passing: bool = False) -> None:
        super().__init__(message, hint)
        self.passing = passing


class ConversationGoneError(HistoryServerError):
    """A conversation is no longer in a team's database, or no longer shared with the user."""


class BudgetError(CogencyError):
    """A request would pass a limit of the budget, and the user did not allow that. It was not sent.
    `declined`: the user was asked."""

    kind = "budget"

    def __init__(self, message: str, hint: str = "", *, declined: bool = False) -> None:
        super().__init__(message, hint)
        self.declined = declined


class ToolError(CogencyError):
    """A tool could not do what was asked. The text goes to the model as a failed result; `brief` is one line
    for the user: the message, unless that is worded for the model.
    """

    kind = "tool"

    def __init__(self, message: str, hint: str = "", *, brief: str = "") -> None:
        super().__init__(message, hint)
        self.brief = brief or message


class JournalError(ToolError):
    """A change, or a command, that cannot be recorded beforehand, so that it could not be reverted. Nothing
    was done.
    """


class StrangerError(ToolError):
    """A tool could not do what was asked, and its message contains words of the source that it was reading:
    the source counts as read.
    """


class RefusedError(ToolError):
    """A call that may not run. `reason` is a clause; the message adds what may run instead."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class ModeError(RefusedError):
    """A call that the permission `mode` does not allow, whatever the user would answer."""

    def __init__(self, message: str, reason: str, mode: str) -> None:
        super().__init__(message, reason)
        self.mode = mode


class DeclinedError(RefusedError):
    """A call that the user has declined; `words` are theirs, if any; or that they `skipped` its questions."""

    def __init__(self, message: str, reason: str, words: str = "", *, skipped: bool = False) -> None:
        super().__init__(message, reason)
        self.words = words
        self.skipped = skipped


class WorkspaceError(ToolError):
    """A path or a file that cannot be used as asked."""


class LossError(WorkspaceError):
    """The action would lose something for good, and the user did not consent."""


class ConsentError(WorkspaceError):
    """The action would change files that need the user's consent; the message names them."""


class StoreError(CogencyError):
    """The data directory or the database cannot be used."""

    kind = "store"

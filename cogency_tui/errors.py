"""Every error that may reach a person: what happened, and what to do next.

    CogencyError
    ├── PersonError              the person's: a command, a setting, an argument that cannot be
    │   ├── UsageError
    │   └── ConfigError
    ├── ProviderError            the peer's: a model endpoint that refuses, fails or talks nonsense
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
    ├── BudgetError              what may be spent is spent; nothing was sent
    ├── ToolError                a tool that could not do what was asked; the model is told
    │   ├── JournalError         a change that cannot be recorded beforehand; it was not made
    │   ├── RefusedError         permissions, or the user, did not let a call run
    │   └── WorkspaceError       a path or a file that cannot be used as asked
    │       ├── ConsentError
    │       └── LossError
    └── StoreError               the machine's: the data directory or the database

A message says what was wrong and where; `hint` says what to do about it, and may be empty.
"""


class CogencyError(Exception):
    """Base of all errors that the program reports by itself.

    `str(error)` is one line for the person; `hint` is the next step (may be empty).
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def advice(self) -> str:
        """The message with its next step, in one line."""
        return f"{self} {self.hint}".strip()


class PersonError(CogencyError):
    """Something that the person gave cannot be used."""


class UsageError(PersonError):
    """A command line that cannot be carried out (exit status 2)."""


class ConfigError(PersonError):
    """A configuration file or variable that cannot be read as meant."""


class ProviderError(CogencyError):
    """A model endpoint did not deliver. `retryable` says whether asking again may help."""

    retryable = False


class AuthenticationError(ProviderError):
    """No key, or one that the endpoint does not accept."""


class PermissionDeniedError(ProviderError):
    """The key is known, but may not do this."""


class ModelNotFoundError(ProviderError):
    """The endpoint does not have this model."""


class RateLimitError(ProviderError):
    """Too many requests or tokens. `retry_after` is the wait in seconds that was asked for, if any."""

    retryable = True

    def __init__(self, message: str, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after


class OverloadedError(ProviderError):
    """The endpoint is up but cannot serve now (HTTP 5xx, 529). `retry_after` as for rate limits."""

    retryable = True

    def __init__(self, message: str, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after


class ContextTooLongError(ProviderError):
    """The conversation does not fit the model's context."""


class BadRequestError(ProviderError):
    """The endpoint refused the request; its own words are in the message."""


class NetworkError(ProviderError):
    """No connection, or one that broke."""

    retryable = True


class SessionLostError(NetworkError):
    """A session that was open is gone: dropped, expired, evicted. The history is in the store."""


class SessionRefusedError(ProviderError):
    """The endpoint has no sessions for this model; requests may work."""


class ProviderTimeoutError(ProviderError):
    """The endpoint did not answer in time."""

    retryable = True


class ProviderProtocolError(ProviderError):
    """The endpoint answered something that its protocol does not allow; the message says what."""


class BudgetError(CogencyError):
    """A request would pass a limit of the budget, and nobody allowed that. It was not sent."""


class ToolError(CogencyError):
    """A tool could not do what was asked. The text goes to the model as a failed result."""


class JournalError(ToolError):
    """A change, or a command, that cannot be recorded beforehand, so that it could not be reverted. Nothing
    was done."""


class StrangerError(ToolError):
    """A tool could not do what was asked, and says so in part in the words of what it was reading: that
    counts as read."""


class RefusedError(ToolError):
    """A call that may not run. `reason` says why in a clause; the message adds what may run instead."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class WorkspaceError(ToolError):
    """A path or a file that cannot be used as asked."""


class LossError(WorkspaceError):
    """What was asked for would lose something for good, and nobody said that it may."""


class ConsentError(WorkspaceError):
    """Files would be changed that the user has to be asked about first; the message names them."""


class StoreError(CogencyError):
    """The data directory or the database cannot be used."""

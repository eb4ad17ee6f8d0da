"""Child processes that parse untrusted content.

Invariant: a page can affect a parser only in that process: it can be killed, has bounded memory, and has
none of our secrets in its environment.
"""

from cogency_tui.child_processes import Job

_MEMORY = 1 << 30
_MOST = 1 << 24
_NETWORK_NAMES = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "DDGS_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
)
"""Environment variables that configure the network."""


async def in_child(module: str, request: bytes, seconds: float, name: str) -> bytes:
    """Compute `answer(request)` of a module in a child process; `name` is the work's in an error.

    Raises:
        ToolError: raised there, or the process failed or took longer than `seconds`.
    """
    job = Job(module, most=_MOST, memory=_MEMORY, variables=_NETWORK_NAMES)
    return await job.answer(request, seconds=seconds, name=name)

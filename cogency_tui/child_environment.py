"""The environment of the program's child processes, and of the programs that they start.

Invariant: no environment made here has a key of ours, or a variable that looks like a secret; git takes no
directory for a bare repository by itself in it.
"""

import re
from collections.abc import Collection, Mapping

from cogency_tui.redaction import resembles_key

_SECRET_NAME = re.compile(
    r"(^|_)(KEY|KEYS|APIKEY|TOKEN|TOKENS|SECRET|SECRETS|PAT|PWD|PASS|CREDENTIAL|CREDENTIALS|AUTH)$"
    r"|PASSWORD|PASSWD|PASSPHRASE|API_?KEY|ACCESS_KEY|PRIVATE_KEY|SECRET_|_SECRET|TOKEN_|CONNECTION_STRING",
    re.IGNORECASE,
)
_ORDINARY_NAMES = frozenset({"PWD", "OLDPWD"})

_keys: set[str] = set()
"""The known variables of our own environment that hold keys."""

_GIT_SETTING = ("safe.bareRepository", "explicit")
_MOST_SETTINGS = 1_000


def withhold_from_children(names: Collection[str]) -> None:
    """Note variables that hold keys: no process started from now on receives them."""
    _keys.update(names)


def without_secrets(environ: Mapping[str, str], secrets: Collection[str] = ()) -> dict[str, str]:
    """The environment of a program of the user's: `environ` without the variables named in `secrets` or
    noted before, those that hold the same values, and those that look like a secret by their name or value.
    """
    secrets = {*secrets, *_keys}
    values = {environ[name] for name in secrets if environ.get(name)}
    clean = {
        name: value
        for name, value in environ.items()
        if name in _ORDINARY_NAMES
        or not (name in secrets or value in values or _SECRET_NAME.search(name) or resembles_key(value))
    }
    return _with_git_setting(clean)


def _with_git_setting(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` with our git setting after those that the user sets by variables."""
    numbered = re.compile(r"GIT_CONFIG_(COUNT|(KEY|VALUE)_\d+)")
    found = {name: value for name, value in environ.items() if not numbered.fullmatch(name)}
    given = environ.get("GIT_CONFIG_COUNT", "")
    count = min(int(given), _MOST_SETTINGS) if given.isascii() and given.isdecimal() else 0
    pairs = [(environ.get(f"GIT_CONFIG_KEY_{n}"), environ.get(f"GIT_CONFIG_VALUE_{n}")) for n in range(count)]
    # A value that was a secret has been removed: git refuses to run with half of a pair.
    whole = [(key, value) for key, value in pairs if key is not None and value is not None]
    settings = [*(pair for pair in whole if pair != _GIT_SETTING), _GIT_SETTING]
    for number, (key, value) in enumerate(settings):
        found[f"GIT_CONFIG_KEY_{number}"] = key
        found[f"GIT_CONFIG_VALUE_{number}"] = value
    return found | {"GIT_CONFIG_COUNT": str(len(settings))}

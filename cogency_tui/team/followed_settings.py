"""The `[history]` table of the user's configuration, followed while it changes: what becomes private is not
sent any more, although the worker has begun before."""

from pathlib import Path

from msgspec.structs import asdict, replace

from cogency_tui.config.layers import load_settings
from cogency_tui.config.schema import HistorySettings, config_path
from cogency_tui.errors import ConfigError


class FileStamp:
    """Notices changes of a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = self._now()

    @property
    def is_touched(self) -> bool:
        """True if the file has changed since the last `note`."""
        return self._now() != self._seen

    def note(self) -> None:
        """Note the file as it is, before it is read."""
        self._seen = self._now()

    def _now(self) -> tuple[int, int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino


class FollowedSettings:
    """Settings that begin as `given` and follow the file: what changes in it replaces what is given. Projects
    that are private in either are private."""

    def __init__(self, given: HistorySettings) -> None:
        self._stamp = FileStamp(config_path())
        self._read = load_settings().history
        self._problem: ConfigError | None = None
        self._added = [each for each in given.private if each not in self._read.private]
        self.current = replace(given, private=[*self._added, *self._read.private])

    @property
    def is_touched(self) -> bool:
        """True if the file has changed since it was read."""
        return self._stamp.is_touched

    def refresh(self) -> None:
        """Read the file again if it has changed.

        Raises:
            ConfigError: it cannot be used, so that it is not known what is private.
        """
        if self._stamp.is_touched:
            self._stamp.note()
            try:
                self._follow(load_settings().history)
                self._problem = None
            except ConfigError as exc:
                self._problem = exc
        if self._problem is not None:
            raise self._problem

    def _follow(self, now: HistorySettings) -> None:
        before, private = asdict(self._read), [*self._added, *now.private]
        changed = {name: value for name, value in asdict(now).items() if value != before[name]}
        self.current, self._read = replace(self.current, **changed | {"private": private}), now


class FixedSettings:
    """Settings that follow no file, as those that an embedding program gives."""

    is_touched = False

    def __init__(self, given: HistorySettings) -> None:
        self.current = given

    def refresh(self) -> None:
        """Do nothing."""

"""Checks the machine, the configuration, the project and the store, with the next step for each problem."""

import asyncio
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from cogency_tui.agent.permissions.rules import FILE_NAME as RULES
from cogency_tui.agent.permissions.rules import Rules
from cogency_tui.agent.project.settings import project_settings_of
from cogency_tui.agent.project.trust import TrustState, name_parts
from cogency_tui.config.layers import load_settings
from cogency_tui.config.schema import Settings, config_path
from cogency_tui.errors import CogencyError, ConfigError, WorkspaceError
from cogency_tui.providers import tokenizer
from cogency_tui.providers.base import Provider
from cogency_tui.providers.configured_providers import (
    KnownProvider,
    create_provider,
    known_providers,
    list_models,
)
from cogency_tui.providers.models import Ending, ModelFacts, ending_of, load_models
from cogency_tui.search_paths import find_program
from cogency_tui.store.check_and_repair import Damage, check, extent
from cogency_tui.store.copies import DIRECTORY as COPIES
from cogency_tui.store.copies import copies_in
from cogency_tui.store.database import FILE
from cogency_tui.store.search.index_file import BLOBS, INDEX
from cogency_tui.store.search.search_thread import SearchService
from cogency_tui.store.store import Store
from cogency_tui.tools.shell.sandbox import Sandbox
from cogency_tui.workspace.paths import Workspace

_EXTRAS = {
    "web": ("ddgs", "web search for the agent"),
    "mcp": ("mcp", "tools of MCP servers"),
    "acp": ("acp", "the agent in editors"),
    "serve": ("textual_serve", "the interface in a browser"),
    "sync": ("pyrage", "conversations of your other machines"),
    "postgres": ("asyncpg", "conversations shared with a team"),
    "tokenizer": ("tiktoken", "token counts of OpenAI models before they report any"),
}
_PATIENCE = 10.0
"""Seconds for an endpoint to answer."""


_REPAIR = "Recover the readable part with `cogency-tui doctor --repair`; the damaged file is preserved."

MARKS = {"ok": "✓", "note": "·", "bad": "✗"}
"""A mark for each state of a finding."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `bad`: something that was asked for cannot work."""

    name: str
    state: Literal["ok", "note", "bad"]
    what: str
    advice: str = ""


async def check_installation(project: Path, data: Path) -> list[Finding]:
    """Check the program, the configuration, `project` (resolved) and the store in `data`. Blocks."""
    return [*_program(), *_configuration(), *_project(project), *await _data(data)]


async def check_machine(project: Path, settings: Settings) -> list[Finding]:
    """The sandbox as it would be in `project` (resolved), git, the extras and the tokenizer's file."""
    extras = (_extra(name) for name in _EXTRAS)
    servers = await asyncio.to_thread(_language_servers, project, settings)
    return [await _sandbox(project, settings), _git(), servers, *extras, *_tokenizer()]


async def check_endpoints(settings: Settings) -> list[Finding]:
    """Ask each provider that has a key for its models."""
    asked = [each for each in known_providers(settings, os.environ) if each.base_url and each.key_found]
    return list(await asyncio.gather(*(_endpoint(settings, provider) for provider in asked)))


async def _sandbox(project: Path, settings: Settings) -> Finding:
    sandbox = Sandbox("auto")
    try:
        works = await sandbox.probe(Workspace(project))
    except WorkspaceError as exc:
        return Finding("sandbox", "note", str(exc), exc.hint)
    finally:
        await sandbox.close()
    if works:
        off = settings.sandbox == "off"
        advice = "Run commands in it with `cogency-tui config set sandbox auto`." if off else ""
        what = f"bwrap available{', not enabled' * off}"
        return Finding("sandbox", "note" if off else "ok", what, advice)
    state = "bad" if settings.sandbox == "require" else "note"
    reason = sandbox.state.removeprefix("not sandboxed: ")
    advice = "Install bubblewrap (Linux) to run commands without network access."
    return Finding("sandbox", state, reason, advice)


def _git() -> Finding:
    path = find_program("git")
    if path:
        return Finding("git", "ok", path, "")
    return Finding("git", "note", "not found", "Install git to show the branch and its state in the header.")


def _language_servers(project: Path, settings: Settings) -> Finding:
    """The language servers that are installed, and those that would be used."""
    from cogency_tui.tools.language_servers.table import load_table

    name = "language servers"
    if not settings.diagnostics:
        advice = "Turn them on with `cogency-tui config set diagnostics true`."
        return Finding(name, "note", "switched off", advice)
    table = load_table(settings.language_servers)
    found = [each for each in table if each.find(project, os.environ, allowed=False)]
    missing = ", ".join(each.name for each in table if each not in found)
    if not found:
        return Finding(name, "note", "none found", f"Edits are checked once one is in PATH: {missing}.")
    absent = f" (not found: {missing})" if missing else ""
    return Finding(name, "ok", f"{', '.join(each.name for each in found)}{absent}")


def _extra(name: str) -> Finding:
    module, what = _EXTRAS[name]
    if find_spec(module) is not None:
        return Finding(f"extra {name}", "ok", f"installed: {what}", "")
    return Finding(f"extra {name}", "note", f"not installed: {what}", f"pip install 'cogency-tui[{name}]'")


def _tokenizer() -> Iterator[Finding]:
    """The file without which the tokenizer cannot be used. It is never downloaded unasked."""
    if not tokenizer.is_installed():
        return
    file, encoding = tokenizer.ranks_file(), tokenizer.ENCODING
    if tokenizer.has_ranks():
        yield Finding("tokenizer", "ok", f"{encoding} is in {file.parent}")
        return
    load = f"import tiktoken; tiktoken.get_encoding('{encoding}')"
    lasts = "" if "TIKTOKEN_CACHE_DIR" in os.environ else "Set TIKTOKEN_CACHE_DIR to a folder that lasts. "
    advice = f'{lasts}Download it once (3.6 MB, from OpenAI): {sys.executable} -c "{load}"'
    yield Finding("tokenizer", "note", f"{encoding} is not in {file.parent}: tokens are estimated", advice)


async def _endpoint(settings: Settings, provider: KnownProvider) -> Finding:
    chosen = provider.name == settings.provider
    name = f"endpoint {provider.name}{' *' * chosen}"
    try:
        async with asyncio.timeout(_PATIENCE):
            models = await list_models(settings, os.environ, provider)
    except CogencyError as exc:
        return Finding(name, "bad" if chosen else "note", str(exc), exc.hint)
    except TimeoutError:
        return Finding(name, "bad" if chosen else "note", f"no answer within {_PATIENCE:.0f} s", "")
    what = f"responds, with {len(models)} model{'' if len(models) == 1 else 's'}"
    stated = [ending_of(ModelFacts(ends=each.ends)) for each in models if each.name == provider.model]
    if ending := next(filter(None, stated), None):
        what = f"{what}; according to it {provider.model} {ending}"
        return Finding(name, _severity(ending) if chosen else "note", what, _another(provider.name))
    return Finding(name, "ok", what, "")


def settings_or_defaults() -> Settings:
    """The user's settings; the defaults if these cannot be read, which another check reports."""
    try:
        return load_settings()
    except ConfigError:
        return Settings()


def _program() -> Iterator[Finding]:
    yield Finding("program", "ok", f"cogency-tui {version('cogency-tui')}, textual {version('textual')}")
    yield Finding("python", "ok", f"{platform.python_version()} on {platform.system()} ({sys.executable})")
    term = os.environ.get("TERM", "")
    colours = os.environ.get("COLORTERM", "")
    if not sys.stdout.isatty():
        yield Finding(
            "terminal", "note", "stdout is not a terminal", "The interface needs a terminal; `run` does not."
        )
    elif term in ("", "dumb"):
        advice = "Set TERM, for example to xterm-256color."
        yield Finding("terminal", "bad", f"TERM is {term or 'not set'}", advice)
    else:
        yield Finding("terminal", "ok", f"{term}, {colours or '256 colors or fewer'}")


def _configuration() -> Iterator[Finding]:
    path = config_path()
    settings = Settings()
    try:
        settings = load_settings(path)
    except ConfigError as exc:
        yield Finding("configuration", "bad", str(exc), exc.hint)
    else:
        what = str(path) if path.exists() else f"{path} (not found; using defaults)"
        yield Finding("configuration", "ok", what)
    yield _models()
    try:
        provider = create_provider(settings, os.environ)
    except ConfigError as exc:
        yield Finding("provider", "bad", str(exc), exc.hint)
    else:
        yield from _ending(provider)
    for provider in known_providers(settings, os.environ):
        yield _provider(provider, chosen=provider.name == settings.provider)


def _project(project: Path) -> Iterator[Finding]:
    """Check the user's rules, and the configuration of the project, as far as it is trusted."""
    rules = Rules(config_path().with_name(RULES), project)
    count = len(rules.list())
    if rules.problem:
        yield Finding("permissions", "bad", rules.problem)
    elif count:
        yield Finding("permissions", "ok", f"{count} rule{'' if count == 1 else 's'} in {rules.path}")
    try:
        settings = project_settings_of(project)
    except ConfigError:
        return
    survey = settings.survey()
    settings.refresh()
    yield from (Finding("hooks", "bad", problem) for problem in settings.hook_problems)
    if survey.state is TrustState.NOTHING:
        return
    others = [problem for problem in settings.problems if problem not in settings.hook_problems]
    names = name_parts(survey.parts if survey.state is not TrustState.CHANGED else survey.inactive)
    what = f"{project}: {names} {survey.state.label}"
    if survey.state is TrustState.REFUSED:
        yield Finding("project", "note", what)
    elif survey.state is not TrustState.TRUSTED:
        advice = survey.problem or "Review and trust it with `cogency-tui trust`."
        yield Finding("project", "note", f"{what}: not used", advice)
    elif others:
        yield Finding("project", "bad", " ".join(others))
    else:
        yield Finding("project", "ok", what)


def _models() -> Finding:
    """The user's own file of models, beside the configuration."""
    path = config_path().with_name("models.toml")
    try:
        load_models(path)
    except ConfigError as exc:
        return Finding("models", "bad", str(exc), exc.hint)
    return Finding(
        "models", "ok", str(path) if path.exists() else f"{path} (none: the built-in list is used)"
    )


def _ending(provider: Provider) -> Iterator[Finding]:
    """Report the model in force if it ends soon, or has ended."""
    if ending := ending_of(provider.facts):
        state, advice = _severity(ending), _another(provider.name)
        yield Finding("model", state, f"{provider.model} {ending}", advice)


def _severity(ending: Ending) -> Literal["note", "bad"]:
    return "bad" if ending.is_past else "note"


def _another(provider: str) -> str:
    return f"Choose another: `cogency-tui models {provider}` lists them."


def _provider(provider: KnownProvider, *, chosen: bool) -> Finding:
    """The capabilities of a provider, and whether its key is found; never the key."""
    title = f"{provider.name}{' *' if chosen else ''}"
    what = f"{provider.model or 'no model chosen'}, {'resume and replay' if provider.resumes else 'replay'}"
    if not provider.key_source:
        return Finding(title, "ok", f"{what}, needs no key")
    if provider.key_found:
        return Finding(title, "ok", f"{what}, key found in {provider.key_source}")
    state = "bad" if chosen else "note"
    return Finding(title, state, f"{what}, no key", f"Set {provider.key_source} to use it.")


async def _data(directory: Path) -> list[Finding]:
    try:
        damages = await asyncio.to_thread(check, directory)
    except CogencyError as exc:
        return [Finding("store", "bad", str(exc), exc.hint)]
    findings = [_damaged(damage) for damage in damages]
    return findings if any(damage.of_store for damage in damages) else [*findings, await _store(directory)]


async def verify_store(directory: Path) -> list[Finding]:
    """Read everything that the store in `directory` has, and check each event against the hash chain."""
    if not ((directory / FILE).exists() or copies_in(directory)):
        return [Finding("store", "ok", f"{directory} has no history yet")]
    findings = await _data(directory)
    try:
        found = await asyncio.to_thread(extent, directory)
    except CogencyError as exc:
        return findings or [Finding("store", "bad", str(exc), exc.hint)]
    is_whole = not any(finding.state == "bad" for finding in findings)
    what = f"{_counted(found.conversations, 'conversation')}, {_counted(found.events, 'event')}"
    what += ", all as recorded" if is_whole else ""
    findings.append(Finding("history", "ok" if is_whole else "note", what))
    if found.lost:
        what = f"{_counted(found.lost, 'event')} lost, as an earlier repair reported"
        findings.append(Finding("history", "note", what))
    if found.unchained:
        what = f"{_counted(found.unchained, 'event')} without an entry in the hash chain"
        findings.append(Finding("history", "note", what))
    named = {finding.name for finding in findings}
    if "contents" not in named:
        findings.append(Finding("contents", "ok", f"{_counted(found.contents, 'stored version')} of files"))
    if "copies" not in named:
        names = ", ".join(copy.name for copy in found.copies) or "none yet"
        findings.append(Finding("copies", "ok" if found.copies else "note", names))
    return findings


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _damaged(damage: Damage) -> Finding:
    if damage.of_store:
        return Finding("store", "bad", f"{damage.path} is damaged: {damage.what}", _REPAIR)
    if damage.path.name == INDEX:
        advice = "It is rebuilt automatically, or by `cogency-tui doctor --rebuild`; no data is lost."
        return Finding("search index", "note", f"{damage.path} is damaged: {damage.what}", advice)
    if damage.path.name == BLOBS:
        advice = "Restore what is still in the files with `cogency-tui doctor --repair`."
        return Finding("contents", "bad", f"{damage.path} is damaged: {damage.what}", advice)
    return Finding(
        "copies" if damage.path.parent.name == COPIES else "history", "bad", f"{damage.path}: {damage.what}"
    )


async def _store(directory: Path) -> Finding:
    try:
        async with await Store.open(directory) as store:
            count = await store.count()
            indexed = await _indexed(store)
            notices = "; ".join(store.new_notices())
            await store.acknowledge()
    except CogencyError as exc:
        return Finding("store", "bad", str(exc), exc.hint)
    what = f"{directory}, {count} conversation{'' if count == 1 else 's'}, {indexed}"
    return Finding("store", "note" if notices else "ok", f"{what}; {notices}" if notices else what)


async def _indexed(store: Store) -> str:
    """The extent of the search index. It needs no optional feature of SQLite."""
    service = SearchService(store.database.path.parent, store.notices)
    try:
        done, total = await service.run(lambda searcher: searcher.extent())
    finally:
        await service.close()
    if total and not done:
        return "search index not built yet: the first search builds it"
    return f"{done:,} of {total:,} events indexed for search"

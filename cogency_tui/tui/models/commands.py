"""Commands that change how the agent works: mode, effort, dialect, permissions and model, at any time."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from cogency_tui.agent.dialect_choice import dialect_for, reason_for
from cogency_tui.config.schema import (
    DIALECT_CHOICES,
    EFFORT_CHOICES,
    MODES,
    PERMISSIONS,
    DialectChoice,
    EffortChoice,
    Mode,
    Permissions,
)
from cogency_tui.errors import CogencyError, StoreError
from cogency_tui.providers.efforts import describe_effort, substitute
from cogency_tui.providers.models import ending_of
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.display_protocol import Display
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.workspace.protected_names import short_path

if TYPE_CHECKING:
    from cogency_tui.agent.agent import Agent
    from cogency_tui.tui.models.model import Chosen, ModelList


_MODES_SHOWN: dict[Mode, str] = {"auto": "automatic", "resume": "resume", "replay": "replay"}
"""The modes in words: `auto` alone is a permission mode."""


def _effort_notice(agent: "Agent") -> str:
    effort, provider = agent.effort, agent.provider
    if agent.refuses(effort):
        return f"Reasoning effort: {effort}. {provider.model} refused it before, and uses its own default."
    instead = "" if effort == "auto" else substitute(provider.facts.efforts, effort)
    word = "the model's default" if effort == "auto" else effort
    given = f" ({provider.model} gets {instead})" if instead else ""
    return f"Reasoning effort: {word}{given}. Takes effect at the next step."


class ModelCommands(FeatureCommands):
    """Applies the user's choices, and shows them in `display` at once."""

    def __init__(self, screen: Screen[Any], bridge: Bridge, display: Display) -> None:
        super().__init__(screen, bridge)
        self._agent = bridge.agent
        self._display = display

    def handlers(self) -> dict[str, Handler]:
        return {
            "cycle_mode": self.cycle_mode,
            "set_mode": self.set_mode,
            "set_dialect": self.set_dialect,
            "set_effort": self.set_effort,
            "choose_model": self.choose_model,
        }

    def _apply(self) -> None:
        """Show a choice, and store it with the conversation."""
        self._display.show_state()
        if (id := self._bridge.conversation_id) is not None:
            self._screen.run_worker(partial(self._remember, id), group="choices")

    async def _remember(self, id: str) -> None:
        # The next message stores what could not be stored now.
        with suppress(StoreError):
            await self._agent.store_choices(id)

    def cycle_mode(self, _argument: str = "") -> None:
        """Switch to the next mode that the provider supports."""
        at = MODES.index(self._agent.mode) + 1
        following: list[Mode] = [*MODES[at:], *MODES[:at]]
        chosen: Mode = next(each for each in following if not self._prevents(each))
        self._use_mode(chosen, skipped=self._prevents(following[0]))

    def set_mode(self, mode: str) -> None:
        """Switch to this mode, or to one that the user chooses from a list."""
        if not mode:
            self._offer("mode", self._agent.mode, self.set_mode)
            return
        chosen: list[Mode] = [each for each in MODES if each == mode]
        use = chosen[0] if chosen else self._agent.mode
        if chosen and (reason := self._prevents(use)):
            self.warn(f"{reason} Session mode is still {_MODES_SHOWN[self._agent.mode]}.")
        else:
            self._use_mode(use)

    def _prevents(self, mode: Mode) -> str:
        """Why the provider cannot do this mode, as a sentence; empty if it can."""
        provider = self._agent.provider
        can = mode != "resume" or provider.resumes
        return "" if can else f"{provider.name} has no sessions to resume."

    def _use_mode(self, mode: Mode, *, skipped: str = "") -> None:
        """Switch to `mode`; `skipped` is why the mode before it was passed over."""
        from cogency_tui.config.options import options

        self._agent.mode = mode
        self._display.show_state()
        meaning = options()["mode"].means[mode]
        self.say(f"Session mode {_MODES_SHOWN[mode]}: {meaning}{skipped and f'. {skipped}'}")

    def set_dialect(self, dialect: str) -> None:
        """Switch to this dialect from the next step on, or to one that the user chooses from a list."""
        agent = self._agent
        if not dialect:
            self._offer("dialect", agent.dialect or agent.settings.dialect, self.set_dialect)
            return
        chosen: list[DialectChoice] = [each for each in DIALECT_CHOICES if each == dialect]
        if chosen:
            agent.dialect = chosen[0]
            self._apply()
            used = dialect_for(agent.dialect, agent.provider)
            why = f" ({reason_for(agent.dialect, agent.provider)})" if used != agent.dialect else ""
            self.say(f"Dialect: {used}{why}. Takes effect at the next step.")

    def set_effort(self, effort: str) -> None:
        """Switch to this effort from the next step on, or to one that the user chooses from a list."""
        agent = self._agent
        if not effort:
            self._offer("effort", agent.effort, self.set_effort)
            return
        chosen: list[EffortChoice] = [each for each in EFFORT_CHOICES if each == effort]
        if chosen:
            agent.effort = chosen[0]
            self._apply()
            self.say(_effort_notice(agent))

    def _cycle_effort(self) -> str:
        """Switch to the next effort, the model's default after the highest one; return it as it is shown."""
        at = EFFORT_CHOICES.index(self._agent.effort) + 1
        self._agent.effort = EFFORT_CHOICES[at % len(EFFORT_CHOICES)]
        self._apply()
        return self._effort_shown()

    def _effort_shown(self) -> str:
        agent = self._agent
        instead = "" if agent.effort == "auto" else substitute(agent.provider.facts.efforts, agent.effort)
        return describe_effort(agent.effort, instead, refused=agent.refuses(agent.effort))

    def _offer(self, key: str, current: str, choose: Callable[[str], None]) -> None:
        """List the choices of the option `key`, and pass the chosen one to `choose`."""
        from cogency_tui.config.options import options
        from cogency_tui.tui.kit.choice_dialog import ChoiceDialog, ChoiceRow

        def chosen(value: str | None) -> None:
            if value is not None:
                choose(value)

        option = options()[key]
        refused = {each for each in EFFORT_CHOICES if key == "effort" and self._agent.refuses(each)}
        means = dict.fromkeys(refused, f"refused by {self._agent.provider.model}")
        meaning = {**option.means, **means}
        rows = [ChoiceRow(each, meaning.get(each, ""), each == current) for each in option.choices]
        app_of(self._screen).push_screen(ChoiceDialog(option.label, rows), chosen)

    def set_permissions(self, permissions: str) -> None:
        """Switch to this permission mode."""
        chosen: list[Permissions] = [each for each in PERMISSIONS if each == permissions]
        self._agent.permissions = chosen[0] if chosen else self._agent.permissions
        self._display.show_state()

    async def choose_model(self, requested: str) -> None:
        """Switch to the model `requested`: `PROVIDER` or `PROVIDER/MODEL`, or one that the user picks."""
        from cogency_tui.tui.models.model import Chosen, ModelList
        from cogency_tui.tui.models.screen import PickerScreen

        models = ModelList(self._agent.settings)
        if requested:
            provider, _slash, model = requested.partition("/")
            await self._use(models, Chosen(provider, model))
            return
        current = Chosen(self._agent.provider.name, self._agent.provider.model)

        async def use(chosen: Chosen | None) -> None:
            if chosen is not None:
                await self._use(models, chosen)

        picker = PickerScreen(models, current, effort=self._effort_shown(), cycle_effort=self._cycle_effort)
        app_of(self._screen).push_screen(picker, use)

    async def _use(self, models: "ModelList", chosen: "Chosen") -> None:
        provider, known = self._agent.provider, models.find(chosen.provider)
        own = known.model if known else ""
        if (provider.name, provider.model) == (chosen.provider, chosen.model or own):
            if chosen.keep:
                await self._store(chosen)
            else:
                self.say(f"Already using {provider.name}/{provider.model}.")
            return
        try:
            await self._agent.choose_model(chosen.provider, chosen.model)
        except CogencyError as exc:
            self.complain(exc)
            return
        self._apply()
        provider = self._agent.provider
        if chosen.keep:
            await self._store(chosen)
        elif known is not None and not known.key_found:
            self.warn(f"{known.name} has no API key yet. Set {known.key_source} and restart to use it.")
        elif ending := ending_of(provider.facts):
            self.warn(f"Switched to {provider.name}/{provider.model}, which {ending}.")
        else:
            self.say(f"Switched to {provider.name}/{provider.model}.")

    async def _store(self, chosen: "Chosen") -> None:
        """Write the choice into the user's configuration."""
        from cogency_tui.agent.editable_options import Preferences

        own, options = Preferences(), self._chosen_options(chosen)
        try:
            for key, name in options.items():
                await asyncio.to_thread(own.set, key, name)
            await asyncio.to_thread(self._agent.reload)
        except CogencyError as exc:
            self.complain(exc)
            return
        what = f"Using {chosen.provider}/{chosen.model}, saved as the default"
        effort = f", with effort {options['effort']}," if "effort" in options else ""
        saved = f"{what}{effort} in {short_path(own.path)}."
        if above := self._overriding():
            self.warn(f"{saved} {above} still overrides it at the next start.")
        else:
            self.say(saved)

    def _chosen_options(self, chosen: "Chosen") -> dict[str, str]:
        """The options that a choice saves: the effort, too, where it is not the configured one."""
        options = {"provider": chosen.provider, "model": chosen.model}
        changed = self._agent.effort != self._agent.settings.effort
        return {**options, "effort": self._agent.effort} if changed else options

    def _overriding(self) -> str:
        """What overrides the model of the user's configuration; empty if nothing does."""
        origins = map(self._agent.configured.origin, ("provider", "model"))
        return next((each.where for each in origins if each.source not in ("user", "default")), "")

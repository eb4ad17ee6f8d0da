"""The model picker: a provider, then one of its models; filtered as the user types, which finds models of the
current provider, too.

Known models are listed at once; the provider's own list replaces them when it arrives, or the reason of its
failure is shown. The current provider is asked for it once a text is typed that names no provider. A model is
tested, and stored in the configuration, only on the user's request.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from operator import attrgetter
from time import monotonic
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input
from textual.worker import Worker

from cogency_tui.errors import CogencyError, ConfigError
from cogency_tui.providers.configured_providers import KnownProvider
from cogency_tui.providers.models import ListedModel
from cogency_tui.tui.kit.dialogs import Choice
from cogency_tui.tui.kit.filter_line import FilterField
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.list_dialog import ListDialog
from cogency_tui.tui.kit.select_list import LETTERS, SelectList, list_keys
from cogency_tui.tui.models.model import Chosen, ModelList, ModelRow
from cogency_tui.tui.models.picker_note import PickerNote
from cogency_tui.tui.models.rows import draw_model, draw_provider
from cogency_tui.tui.theme_styles import ThemeStyles
from cogency_tui.tui.transcript.units import Problem

_KNOWN = "Showing the built-in list."

Row = KnownProvider | ModelRow


class PickerScreen(ListDialog["Chosen | None", Row]):
    """Offers the models of `models`, and returns the choice; `current` is the one in force. `cycle_effort`
    switches to the next reasoning effort, and returns it; `effort` is the one in force. Only one that `saves`
    offers to save the choice.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", id="picker.back"),
        Binding("f2", "close", "Close", id="picker.close"),
        Binding("enter", "open", "Choose", id="picker.open"),
        Binding(
            "ctrl+s",
            "keep",
            "Use and save as default",
            id="picker.keep",
            tooltip="Use this model and save it as the default in the configuration",
        ),
        Binding(
            "ctrl+t",
            "test",
            "Test",
            id="picker.test",
            tooltip="Test the endpoint with a one-word request",
        ),
        Binding(
            "ctrl+e",
            "effort",
            "Effort",
            id="picker.effort",
            tooltip="Change the reasoning effort",
            priority=True,
        ),
        *list_keys("picker", without=LETTERS),
    ]
    AUTO_FOCUS = "FilterField"

    def __init__(
        self,
        models: ModelList,
        current: Chosen,
        *,
        effort: str = "auto",
        cycle_effort: Callable[[], str] | None = None,
        saves: bool = True,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._note = PickerNote(clock, id="picker-note")
        rows: SelectList[Row] = SelectList(self._draw_row, attrgetter("name"), id="picker-list")
        rows.notice = "No matching providers or models."
        super().__init__("picker", "Model", rows, self._note)
        self._models = models
        self._current = current
        self._effort = effort
        self._cycle_effort = cycle_effort
        self._saves = saves
        self._providers = models.providers()
        self._provider: KnownProvider | None = None
        self._used = next((each for each in self._providers if each.name == current.provider), None)
        self._offered: list[ModelRow] = []
        self._listed: list[ModelRow] | None = None
        """What the current provider lists, once it is asked; empty until it answers."""
        self._field = FilterField(id="picker-filter")
        self._filtered = ""
        self._asking: Worker[None] | None = None

    def parts(self) -> list[Widget]:
        return [self._field, self.rows, self._note]

    def on_mount(self) -> None:
        self._show_providers()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.catch_up()

    def choices(self) -> list[Choice]:
        if self._provider is None and not isinstance(self.rows.row, ModelRow):
            return [
                ("enter", "show models", "open"),
                ("ctrl+e", f"effort {self._effort}", "effort"),
                ("ctrl+t", "test", "test"),
                ("escape", "close", "back"),
            ]
        return [
            ("enter", "use", "open"),
            *([("ctrl+s", "save as default", "keep")] if self._saves else []),
            ("ctrl+e", f"effort {self._effort}", "effort"),
            ("ctrl+t", "test", "test"),
            ("escape", "close" if self._provider is None else "providers", "back"),
        ]

    async def clicked(self) -> None:
        self.action_open()

    async def moved(self) -> None:
        if self._provider is None:
            self._describe(self._selected_provider)
        self.show_selected()

    @property
    def _selected_provider(self) -> KnownProvider | None:
        """The selected provider, or that of the selected model."""
        if self._provider is not None:
            return self._provider
        row = self.rows.row
        return row if row is None or isinstance(row, KnownProvider) else self._used

    def action_open(self) -> None:
        self.catch_up()
        match self.rows.row:
            case KnownProvider() as provider:
                self._show_models(provider)
            case ModelRow(name=name) if (provider := self._selected_provider) is not None:
                self.dismiss(Chosen(provider.name, name))
            case _:
                pass

    def action_keep(self) -> None:
        self.catch_up()
        row, provider = self.rows.row, self._selected_provider
        if self._saves and provider is not None and isinstance(row, ModelRow):
            self.dismiss(Chosen(provider.name, row.name, keep=True))

    def action_effort(self) -> None:
        """Switch to the next reasoning effort, at once."""
        if self._cycle_effort is not None:
            self._effort = self._cycle_effort()
            self.show_selected()

    def action_test(self) -> None:
        """Test the selected model, or the default one of the selected provider."""
        self.catch_up()
        match self.rows.row:
            case KnownProvider() as provider:
                self._begin_testing(provider, provider.model)
            case ModelRow(name=name) if (provider := self._selected_provider) is not None:
                self._begin_testing(provider, name)
            case _:
                pass

    def action_back(self) -> None:
        if self._provider is None:
            self.dismiss(None)
        else:
            self._show_providers()

    def _show_providers(self) -> None:
        before = self._provider.name if self._provider else self._current.provider
        self._provider = None
        self._begin_step(before)

    def _describe(self, provider: KnownProvider | None) -> None:
        """Describe the selected provider; a request to another ends, and so does the report of it."""
        if provider is not self._note.provider:
            if self._asking:
                self._asking.cancel()
            self._note.report()
            self._note.about(provider)

    def _show_models(self, provider: KnownProvider) -> None:
        self._provider = provider
        here = provider.name == self._current.provider
        self._offered = []
        self._note.about(None)
        self._note.report()
        try:
            self._offered = self._models.known(provider)
        except ConfigError as exc:
            self._note.report(Problem(str(exc), exc.hint))
        else:
            self._begin_asking(provider)
        self._begin_step(self._current.model if here else provider.model)

    def _begin_asking(self, provider: KnownProvider) -> None:
        self._note.wait(f"Loading the models of {provider.name}")
        self._asking = self.run_worker(partial(self._ask, provider), group="models", exclusive=True)

    async def _ask(self, provider: KnownProvider) -> None:
        try:
            rows = await self._models.listed(provider)
        except CogencyError as exc:
            self._note.report(Problem(f"{exc.sentence} {_KNOWN}", exc.hint))
            return
        if rows:
            row = self.rows.row
            self._offered = rows
            self._note.report()
            self._filter(row.name if row else "")
        else:
            self._note.report(Problem(f"{provider.name} does not list its models. {_KNOWN}"))

    async def _ask_used(self, provider: KnownProvider) -> None:
        # Its failure is reported with the provider's models.
        with suppress(CogencyError):
            self._listed = await self._models.listed(provider)
        if self._listed and self._provider is None:
            row = self.rows.row
            self._filter(row.name if row else "")

    def _begin_testing(self, provider: KnownProvider, model: str) -> None:
        self._note.wait(f"Testing {provider.name}{f'/{model}' if model else ''}")
        self._asking = self.run_worker(partial(self._test, provider, model), group="models", exclusive=True)

    async def _test(self, provider: KnownProvider, model: str) -> None:
        try:
            result = await self._models.test(provider, model)
        except CogencyError as exc:
            self._note.report(Problem(str(exc), exc.hint))
        else:
            self._note.report(result=result)

    def _begin_step(self, selected: str) -> None:
        """Show the rows of the present step, with an empty filter."""
        self._field.value = ""
        self._filter(selected)
        self.show_selected()

    def catch_up(self) -> None:
        if self._field.value != self._filtered:
            self._filter()

    def _filter(self, selected: str = "") -> None:
        """Show the rows that match the filter, with the one named `selected` selected if it is there."""
        self._filtered = text = self._field.value
        words = text.casefold().split()
        if self._provider is None:
            shown = [each for each in self._providers if _matches(f"{each.name} {each.model}", words)]
            if self._used and self._listed is None and words and not _names(self._providers, words):
                self._listed = []
                self.run_worker(partial(self._ask_used, self._used), group="models-of-used")
            models = self._models_of_used(words)
            # The models come before a provider that only its default model matches.
            named = [each for each in shown if not models or _matches(each.name, words)]
            found = [*named, *models, *(each for each in shown if each not in named)]
            # No more than without a filter: the box would grow under the user's eyes.
            self.rows.show(found[: len(self._providers)], selected)
            facts = [_count("provider", len(shown), len(self._providers))] if shown or not models else []
            facts += [_count("model", len(models), len(models))] if models else []
            self.heading.state(" · ".join(facts))
            self._describe(self._selected_provider)
            self.show_selected()
            return
        models = [each for each in self._offered if _matches(each.name, words)]
        fact = f"{self._provider.name} · {_count('model', len(models), len(self._offered))}"
        if not models and text.strip():
            # A model that is not listed may still exist.
            models = [self._models.describe(self._provider, ListedModel(text.strip()))]
            fact = f"{self._provider.name} · no match: using your text"
        self.rows.show(models, selected)
        self.heading.state(fact)

    def _models_of_used(self, words: list[str]) -> list[ModelRow]:
        """The models of the current provider that match, as far as they are known; none without a filter."""
        if self._used is None or not words:
            return []
        try:
            found = {each.name: each for each in (*self._models.known(self._used), *(self._listed or ()))}
            return [each for name, each in found.items() if _matches(name, words)]
        except ConfigError:
            # It is reported with the provider's models.
            return []

    def _draw_row(self, row: Row, width: int, styles: ThemeStyles, on: str) -> Line:
        if isinstance(row, KnownProvider):
            return draw_provider(row, width, styles, on, current=row.name == self._current.provider)
        here = self._provider in (None, self._used)
        is_current = here and row.name == self._current.model
        if self._provider is None:
            row = replace(row, name=f"{self._current.provider}/{row.name}")
        return draw_model(row, width, styles, on, current=is_current)


def _names(providers: Sequence[KnownProvider], words: list[str]) -> bool:
    return any(_matches(each.name, words) for each in providers)


def _matches(text: str, words: list[str]) -> bool:
    return all(word in text.casefold() for word in words)


def _count(noun: str, shown: int, total: int) -> str:
    return f"{shown} of {total}" if shown != total else f"{total} {noun}{'' if total == 1 else 's'}"

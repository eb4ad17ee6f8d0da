"""The model picker: a provider, then one of its models; filtered as the user types.

Known models are listed at once; the provider's own list replaces them when it arrives, or the reason of its
failure is shown. A model is tested, and stored in the configuration, only on the user's request.
"""

from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input
from textual.worker import Worker

from cogency_tui.errors import CogencyError, ConfigError
from cogency_tui.providers.catalog import KnownProvider
from cogency_tui.tui.kit.dialogs import STYLES, Choice, Choices, Dialog
from cogency_tui.tui.kit.filter_line import FilterField
from cogency_tui.tui.kit.lines import Line
from cogency_tui.tui.kit.pane_title import PaneTitle
from cogency_tui.tui.kit.select_list import SelectList
from cogency_tui.tui.models.model import Chosen, ModelList, ModelRow
from cogency_tui.tui.models.rows import draw_model, draw_provider
from cogency_tui.tui.models.status_note import PickerNote
from cogency_tui.tui.transcript.units import Problem

_SHORT = 30
"""Lines of a screen below which no space is left free."""

_KNOWN = "These are the models that are known here."
_PROVIDER_KEYS: list[Choice] = [
    ("enter", "its models", "open"),
    ("ctrl+t", "test", "test"),
    ("escape", "close", "back"),
]
_MODEL_KEYS: list[Choice] = [
    ("enter", "use it", "open"),
    ("ctrl+s", "use and keep", "keep"),
    ("ctrl+t", "test", "test"),
    ("escape", "providers", "back"),
]


class ProviderChoices(SelectList[KnownProvider]):
    """Providers, one line each; `current` is the name of the one in force."""

    def __init__(self, current: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._current = current

    def draw_row(self, row: KnownProvider, on: str) -> Line:
        return draw_provider(row, self.text_width, self.inks, on, current=row.name == self._current)


class ModelChoices(SelectList[ModelRow]):
    """Models, one line each; `current` is the name of the one in force, if it is among them."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.current = ""

    def draw_row(self, row: ModelRow, on: str) -> Line:
        return draw_model(row, self.text_width, self.inks, on, current=row.name == self.current)


class PickerScreen(Dialog["Chosen | None"]):
    """Offers the models of `models`, and returns the choice; `current` is the one in force."""

    CSS_PATH = STYLES

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back", id="picker.back"),
        Binding("f2", "close", "Close", id="picker.close"),
        Binding("enter", "open", "Choose", id="picker.open"),
        Binding(
            "ctrl+s",
            "keep",
            "Use and keep",
            id="picker.keep",
            tooltip="Use this model, and write it into the configuration",
        ),
        Binding(
            "ctrl+t",
            "test",
            "Test",
            id="picker.test",
            tooltip="Ask the endpoint for one word, and say what came of it",
        ),
        Binding("up", "move(-1)", "Up", show=False, id="picker.up"),
        Binding("down", "move(1)", "Down", show=False, id="picker.down"),
        Binding("pageup", "move(-10)", "Page up", show=False, id="picker.page_up"),
        Binding("pagedown", "move(10)", "Page down", show=False, id="picker.page_down"),
    ]

    def __init__(self, models: ModelList, current: Chosen, *, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._models = models
        self._current = current
        self._clock = clock
        self._providers = models.providers()
        self._provider: KnownProvider | None = None
        self._rows: list[ModelRow] = []
        self._filtered = ""
        self._asking: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="picker"):
            yield PaneTitle("Model", id="picker-title")
            yield FilterField(id="picker-filter")
            yield ProviderChoices(self._current.provider, id="picker-providers")
            yield ModelChoices(id="picker-models")
            yield PickerNote(self._clock, id="picker-note")
            with Vertical(classes="dialog-foot"):
                yield Choices(_PROVIDER_KEYS)

    def on_mount(self) -> None:
        self._show_providers()

    def on_resize(self, event: events.Resize) -> None:
        """Give the lists the whole height of a short screen."""
        self.set_class(event.size.height < _SHORT, "-short")

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._catch_up()

    def on_select_list_chosen(self) -> None:
        self.action_open()

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        event.stop()
        self.call_next(self.run_action, event.action)

    def action_move(self, step: int) -> None:
        self._catch_up()
        (self.query_one(ModelChoices) if self._provider else self.query_one(ProviderChoices)).move(step)
        if self._provider is None:
            self._note.report()
            self._note.about(self.query_one(ProviderChoices).row)

    def action_open(self) -> None:
        self._catch_up()
        if self._provider is None:
            if provider := self.query_one(ProviderChoices).row:
                self._show_models(provider)
        elif row := self.query_one(ModelChoices).row:
            self.dismiss(Chosen(self._provider.name, row.name))

    def action_keep(self) -> None:
        self._catch_up()
        row = self.query_one(ModelChoices).row
        if self._provider is not None and row:
            self.dismiss(Chosen(self._provider.name, row.name, keep=True))

    def action_test(self) -> None:
        """Test the selected model, or the default one of the selected provider."""
        self._catch_up()
        if self._provider is None:
            if provider := self.query_one(ProviderChoices).row:
                self._begin_testing(provider, provider.model)
        elif row := self.query_one(ModelChoices).row:
            self._begin_testing(self._provider, row.name)

    def action_back(self) -> None:
        if self._provider is None:
            self.dismiss(None)
        else:
            self._show_providers()

    def action_close(self) -> None:
        self.dismiss(None)

    def _show_providers(self) -> None:
        if self._asking:
            self._asking.cancel()
        before = self._provider.name if self._provider else self._current.provider
        self._provider = None
        self._note.report()
        self._switch(_PROVIDER_KEYS)
        self._filter(before)

    def _show_models(self, provider: KnownProvider) -> None:
        self._provider = provider
        here = provider.name == self._current.provider
        self.query_one(ModelChoices).current = self._current.model if here else ""
        self._rows = []
        self._note.about(None)
        self._note.report()
        try:
            self._rows = self._models.known(provider)
        except ConfigError as exc:
            self._note.report(Problem(str(exc), exc.hint))
        else:
            self._begin_asking(provider)
        self._switch(_MODEL_KEYS)
        self._filter(self._current.model if here else provider.model)

    def _begin_asking(self, provider: KnownProvider) -> None:
        self._note.wait(f"Asking {provider.name} for its models")
        self._asking = self.run_worker(partial(self._ask, provider), group="models", exclusive=True)

    async def _ask(self, provider: KnownProvider) -> None:
        try:
            rows = await self._models.listed(provider)
        except CogencyError as exc:
            self._note.report(Problem(f"{exc} {_KNOWN}", exc.hint))
            return
        if rows:
            row = self.query_one(ModelChoices).row
            self._rows = rows
            self._note.report()
            self._filter(row.name if row else "")
        else:
            self._note.report(Problem(f"{provider.name} does not say which models it has. {_KNOWN}"))

    def _begin_testing(self, provider: KnownProvider, model: str) -> None:
        self._note.wait(f"Testing {provider.name}{f'/{model}' if model else ''}")
        self._asking = self.run_worker(partial(self._test, provider, model), group="models", exclusive=True)

    async def _test(self, provider: KnownProvider, model: str) -> None:
        try:
            said = await self._models.test(provider, model)
        except CogencyError as exc:
            self._note.report(Problem(str(exc), exc.hint))
        else:
            self._note.report(said=said)

    def _switch(self, keys: list[Choice]) -> None:
        """Show the list of the present step, with an empty filter."""
        picking = self._provider is not None
        self.query_one(ProviderChoices).display = not picking
        self.query_one(ModelChoices).display = picking
        self.query_one(Choices).offer(keys)
        self.query_one(FilterField).value = ""

    def _catch_up(self) -> None:
        """Apply the filter text typed so far."""
        if self.query_one(FilterField).value != self._filtered:
            self._filter()

    def _filter(self, selected: str = "") -> None:
        """Show the rows that match the filter, with the one named `selected` selected if it is there."""
        self._filtered = text = self.query_one(FilterField).value
        words = text.casefold().split()
        if self._provider is None:
            shown = [each for each in self._providers if _matches(each.name, words)]
            self.query_one(ProviderChoices).show(shown, _place(shown, selected))
            self.query_one(PaneTitle).state(_count("provider", len(shown), len(self._providers)))
            self._note.about(self.query_one(ProviderChoices).row)
            return
        models = [each for each in self._rows if _matches(each.name, words)]
        fact = f"{self._provider.name} · {_count('model', len(models), len(self._rows))}"
        if not models and text.strip():
            # A model that is not listed may still exist.
            models = [self._models.describe(self._provider, text.strip())]
            fact = f"{self._provider.name} · none match: as you typed it"
        self.query_one(ModelChoices).show(models, _place(models, selected))
        self.query_one(PaneTitle).state(fact)

    @property
    def _note(self) -> PickerNote:
        return self.query_one(PickerNote)


def _matches(name: str, words: list[str]) -> bool:
    return all(word in name.casefold() for word in words)


def _place(rows: list[KnownProvider] | list[ModelRow], name: str) -> int:
    """The place of the row with this name, else the first."""
    return next((place for place, row in enumerate(rows) if row.name == name), 0)


def _count(noun: str, shown: int, total: int) -> str:
    return f"{shown} of {total}" if shown != total else f"{total} {noun}{'' if total == 1 else 's'}"

"""The features of the main screen: their widgets, commands, dialogs and background work.

This module is the boundary of the start: it imports everything that the first frame does not need. What only
runs commands is imported with the first of these.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from time import time
from typing import TYPE_CHECKING

from cogency_tui.errors import CogencyError
from cogency_tui.protocol.events import Measure
from cogency_tui.tui.bridge import Bridge
from cogency_tui.tui.calls.background import BackgroundCommands
from cogency_tui.tui.calls.pane import ToolCalls
from cogency_tui.tui.commands_base import FeatureCommands, Handler
from cogency_tui.tui.conversation.commands import ConversationCommands
from cogency_tui.tui.conversation.pane import ConversationPane
from cogency_tui.tui.conversation.view import Conversation
from cogency_tui.tui.conversation.welcome import Choice, Offer, Recent, WelcomePicker
from cogency_tui.tui.cost.commands import CostCommands
from cogency_tui.tui.cost.context_usage import ContextFacts
from cogency_tui.tui.files.background_updates import FileCommands
from cogency_tui.tui.files.pane import FilesPane
from cogency_tui.tui.images.commands import ImageCommands
from cogency_tui.tui.kit.number_format import when
from cogency_tui.tui.kit.typed_app import app_of
from cogency_tui.tui.main.custom_commands import CustomCommands
from cogency_tui.tui.main.keys import main_key
from cogency_tui.tui.main.open_conversations import (
    OnOtherScreens,
    ScratchScreens,
    open_conversations_of,
)
from cogency_tui.tui.main.panes import Panes
from cogency_tui.tui.main.widget_updates import MainDisplay
from cogency_tui.tui.models.commands import ModelCommands
from cogency_tui.tui.profile.commands import ProfileCommands
from cogency_tui.tui.prompt.history_and_drafts import PromptCommands
from cogency_tui.tui.prompt.prompt import PROMPT_PREFIXES, Prompt
from cogency_tui.tui.prompt.prompt_and_queue import PromptBox
from cogency_tui.tui.questions.presenter import Questions
from cogency_tui.tui.recall.commands import RecallCommands
from cogency_tui.tui.review.commands import ReviewCommands
from cogency_tui.tui.status.background_updates import Surroundings
from cogency_tui.tui.subagents.commands import SubagentCommands
from cogency_tui.tui.terminal.pane_letters import PaneLetters
from cogency_tui.tui.timeline.commands import TimelineCommands
from cogency_tui.tui.transcript.units import Transcript
from cogency_tui.tui.trust.bar import TrustBar
from cogency_tui.tui.trust.commands import TrustCommands
from cogency_tui.tui.undo.commands import UndoCommands, preview

if TYPE_CHECKING:
    from cogency_tui.store.store import StoredConversation
    from cogency_tui.tui.help.screen import HelpGroup
    from cogency_tui.tui.history_import.commands import ImportCommands
    from cogency_tui.tui.main.screen import MainScreen
    from cogency_tui.tui.rerun.commands import RerunCommands
    from cogency_tui.tui.team.commands import TeamCommands


PANES_STYLES = Path(__file__).parent.parent / "styles" / "panes.tcss"


class Features:
    """The features of `screen`. `handlers` run the commands, by name."""

    def __init__(self, screen: "MainScreen", bridge: Bridge) -> None:
        self._screen = screen
        self._bridge = bridge
        self.display = display = MainDisplay(screen, bridge)
        self.pane_letters = PaneLetters(screen, screen.type_text, lambda: self.questions.has_focus)
        facts = ContextFacts(bridge.agent)
        self.updates = Surroundings(screen, bridge, facts, self._show_recent)
        self.start = WelcomePicker(
            lambda action: screen.call_next(screen.run_action, action),
            self._redraw_start,
            lambda: not display.transcript.units,
        )
        self.cost = CostCommands(screen, bridge, facts, display, lambda call: self.subagents.open(call=call))
        self.drafts = PromptCommands(screen, bridge, screen.number)
        self.conversations = ConversationCommands(
            screen,
            bridge,
            display,
            self._moved,
            partial(preview, screen),
            OnOtherScreens(screen),
            self.drafts.switch,
        )
        self.background = BackgroundCommands(
            *(screen, bridge, display.show_state, display.go_to_background),
            lambda: open_conversations_of(screen).titles_beside(screen),
        )
        self.review = ReviewCommands(screen, bridge, display, self._restored)
        self.files = FileCommands(screen, bridge, display, self.review.compare, self.updates.refresh_branch)
        self.questions = Questions(
            screen,
            display,
            screen.refresh_state,
            screen.take_typed,
            screen.action_step_back,
            lambda: screen.top,
        )
        self.trust = TrustCommands(screen, bridge)
        self.custom = CustomCommands(screen, bridge, screen.send)
        self.profile = ProfileCommands(screen, bridge, display)
        self.images = ImageCommands(screen, bridge)
        rerun = cache(self._rerun)
        self._importing = cache(self._history_import)
        self._sharing = cache(self._team_sharing)

        def ask_for_rerun(conversation_id: str, turn: int) -> None:
            rerun().ask(conversation_id, turn)

        recall = RecallCommands(screen, bridge, self.conversations, ask_for_rerun)
        self.timeline = TimelineCommands(
            screen, bridge, display, recall.fork, self._restored, self.images.view, ask_for_rerun
        )
        self.subagents = SubagentCommands(
            screen,
            bridge,
            display,
            lambda call: self.review.open(call=call),
            lambda: main_key("review", bridge.agent.settings.keys),
        )
        models = ModelCommands(screen, bridge, display)
        self.handlers: dict[str, Handler] = {
            "leave": lambda _argument: screen.leave(),
            "switch_conversation": lambda _argument: open_conversations_of(screen).show_switcher(),
        }
        self.handlers |= _handlers_of(
            self.conversations,
            self.background,
            recall,
            self.timeline,
            self.subagents,
            self.cost,
            models,
            self.trust,
            self.profile,
            UndoCommands(screen, bridge, self._restored),
            self.review,
            self.custom,
            self.images,
        )
        self.handlers |= {
            **_on_demand(rerun, "rerun"),
            **_on_demand(
                partial(self._permissions, models.set_permissions), "permissions", "cycle_permissions"
            ),
            **_on_demand(self._hooks, "hooks"),
            **_on_demand(self._language_servers, "lsp"),
            **_on_demand(self._servers, "mcp"),
            **_on_demand(self._skills, "skills"),
            **_on_demand(self._help, "help", "show_keys", "doctor"),
            **_on_demand(self._settings, "settings", "set_theme"),
            **_on_demand(partial(self._status, facts), "show_status"),
            **_on_demand(partial(self._usage, recall), "show_usage"),
            **_on_demand(self._importing, "import_history"),
            **_on_demand(self._sharing, "share"),
            **_on_demand(self._until, "until"),
            **_on_demand(self._worktree, "worktree"),
        }

    def _rerun(self) -> "RerunCommands":
        from cogency_tui.tui.rerun.commands import RerunCommands

        return RerunCommands(self._screen, self._bridge, ScratchScreens(self._screen))

    def _permissions(self, choose: Callable[[str], None]) -> FeatureCommands:
        from cogency_tui.tui.permissions.commands import PermissionCommands

        return PermissionCommands(self._screen, self._bridge, choose)

    def _hooks(self) -> FeatureCommands:
        from cogency_tui.tui.hooks.commands import HookCommands

        return HookCommands(self._screen, self._bridge)

    def _language_servers(self) -> FeatureCommands:
        from cogency_tui.tui.language_servers.commands import LanguageServerCommands

        return LanguageServerCommands(self._screen, self._bridge)

    def _servers(self) -> FeatureCommands:
        from cogency_tui.tui.servers.commands import ServerCommands

        return ServerCommands(self._screen, self._bridge)

    def _skills(self) -> FeatureCommands:
        from cogency_tui.tui.skills.commands import SkillCommands

        return SkillCommands(self._screen, self._bridge, self.conversations.suggest)

    def _help(self) -> FeatureCommands:
        from cogency_tui.tui.help.commands import HelpCommands

        return HelpCommands(self._screen, self._bridge, lambda: self.custom.known, self._prompt_help)

    def _settings(self) -> FeatureCommands:
        from cogency_tui.tui.settings.commands import SettingsCommands

        return SettingsCommands(self._screen, self._bridge, self.display)

    def _status(self, facts: ContextFacts) -> FeatureCommands:
        from cogency_tui.tui.status.commands import StatusCommands

        return StatusCommands(self._screen, self._bridge, facts)

    def _usage(self, recall: RecallCommands) -> FeatureCommands:
        from cogency_tui.tui.usage.commands import UsageCommands

        return UsageCommands(self._screen, self._bridge, recall.recall)

    def _history_import(self) -> "ImportCommands":
        from cogency_tui.tui.history_import.commands import ImportCommands

        return ImportCommands(self._screen, self._bridge, self._offer_imports)

    def _offer_imports(self, title: str, names: str, amount: str) -> None:
        if not title:
            self.start.withdraw_offer("import_history")
            return
        choice = Choice(title, "import_history", names, amount)
        self.start.make_offer(Offer("Import history", "of all projects, searchable in a minute", choice))

    def _team_sharing(self) -> "TeamCommands":
        from cogency_tui.tui.team.commands import TeamCommands

        return TeamCommands(self._screen, self._bridge, self._offer_sharing)

    def _offer_sharing(self, question: str) -> None:
        if question:
            choice = Choice(question, "share", "")
            self.start.make_offer(Offer("Share history", "nothing is sent before your yes", choice))
        else:
            self.start.withdraw_offer("share")

    def follow_team(self) -> None:
        """Send what is shared with a team, and show what waits; do nothing where there was no database."""
        if self._bridge.agent.settings.history.url or self._sharing.cache_info().currsize:
            self._screen.run_worker(self._follow_team, group="team")

    async def _follow_team(self) -> None:
        # Loaded in a thread: it takes longer than a frame.
        await asyncio.to_thread(import_module, "cogency_tui.tui.team.commands")
        await self._sharing().refresh()

    async def make_offers(self) -> None:
        """Offer to share the project, and to import other agents' histories, on the start screen."""
        if self._bridge.agent.settings.history.url:
            await self._sharing().offer()
        await self._offer_import()

    async def _offer_import(self) -> None:
        """Offer the import of other agents' histories on the start screen, once."""
        from cogency_tui.agent.importers.offer import agents_used, is_offered

        agent = self._bridge.agent
        with suppress(CogencyError, OSError):
            directory = (await agent.store()).database.path.parent
            if agent.lasting and not await asyncio.to_thread(is_offered, directory):
                names = await asyncio.to_thread(agents_used, Path.home())
                if names:
                    await self._importing().make_offer(directory, names)

    def _until(self) -> FeatureCommands:
        from cogency_tui.tui.until.commands import UntilCommands

        return UntilCommands(self._screen, self._bridge, self._begin_until, self._give_back)

    def _worktree(self) -> FeatureCommands:
        from cogency_tui.tui.worktree.commands import WorktreeCommands

        others = OnOtherScreens(self._screen)
        return WorktreeCommands(self._screen, self._bridge, others, self.refresh_files)

    async def mount(self) -> None:
        """Mount the widgets that the first frame leaves out, and show an empty conversation in them."""
        screen = self._screen
        sheet = app_of(screen).stylesheet
        if not sheet.has_source(str(PANES_STYLES)):
            sheet.read(PANES_STYLES)
            sheet.parse()
        conversation = Conversation(
            screen.welcome,
            review_key=lambda: main_key("review", screen.agent.settings.keys),
            id="conversation",
        )
        with app_of(screen).batch_update():
            await screen.mount(TrustBar(id="trust-bar"), after="#panes")
            await screen.query_one(PromptBox).fill()
            await screen.query_one(Panes).fill(
                FilesPane(id="files"),
                ConversationPane(conversation, id="middle"),
                ToolCalls(id="calls"),
                screen.size.width,
            )
            self.display.show(Transcript(), Measure())
            screen.query_one(Prompt).pick_from(self.start)
            screen.query_one(Prompt).attach_with(self.images.attach)
            screen.query_one(Prompt).use_vim(on=screen.agent.settings.vim)
            # A new input of Textual's takes the terminal's cursor, though it has no focus.
            app_of(screen).cursor_position = screen.query_one(Prompt).cursor_screen_offset
        app_of(screen).theme_changed_signal.subscribe(screen, lambda _theme: conversation.reflow())

    def _show_recent(self, found: "list[StoredConversation]", messages: "dict[str, str]") -> None:
        now = time()
        self.start.know(
            [Recent(each.id, each.title, _aside_of(each, now), messages.get(each.id, "")) for each in found]
        )

    def _redraw_start(self) -> None:
        conversation = self._screen.query_one(Conversation)
        if not conversation.transcript.units:
            conversation.reflow()

    def _prompt_help(self) -> "list[HelpGroup]":
        """The help of the prefixes of the prompt, and of Vim's keys while they are on."""
        from cogency_tui.tui.help.screen import HelpRow

        prefixes = ("Prompt", [HelpRow(*row) for row in PROMPT_PREFIXES])
        if self._screen.query_one(Prompt).vim_mode is None:
            return [prefixes]
        from cogency_tui.tui.prompt.vim_keys import VIM_KEYS

        return [prefixes, ("Vim keys in the prompt", [HelpRow(*row) for row in VIM_KEYS])]

    def refresh_files(self) -> None:
        """Read the branch, git's marks and the shown directories again: they may not be watched."""
        self.updates.refresh()
        self.files.refresh()
        self.files.list_shown()

    def _give_back(self, text: str) -> None:
        """Put a text that could not be run into the prompt again, unless the user has begun another."""
        if not self._screen.query_one(Prompt).text.strip():
            self.conversations.suggest(text)

    def _begin_until(self) -> None:
        self.display.follow()
        self.trust.put_off()

    def _restored(self) -> None:
        """Show the files that an undo, a restore or the review may have changed."""
        self.refresh_files()
        self.review.recount()

    def _moved(self) -> None:
        self.start.leave()
        self.updates.refresh()
        self.review.recount()


def _aside_of(conversation: "StoredConversation", now: float) -> str:
    """When a conversation was continued last, and where a fork begins that was not continued."""
    moment, turn = when(conversation.updated, now), conversation.forked_after
    return moment if turn is None else f"⑂ after turn {turn} · {moment}"


def _handlers_of(*features: FeatureCommands) -> dict[str, Handler]:
    return {name: handler for feature in features for name, handler in feature.handlers().items()}


def _on_demand(create: Callable[[], FeatureCommands], *names: str) -> dict[str, Handler]:
    """The handlers with these names of a feature that is created with the first of its commands."""
    created = cache(create)

    def run(name: str, argument: str) -> Awaitable[None] | None:
        return created().handlers()[name](argument)

    return {name: partial(run, name) for name in names}

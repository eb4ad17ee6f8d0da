"""Keys that belong to a screen, acted on by the text field that has the focus.

A key that is left to bubble up is acted on while the text that was typed before it is still on its way.
"""

from textual import events
from textual.widget import Widget


async def act_in_order(field: Widget, event: events.Key) -> None:
    """Let `field` act on a key of its screen; what it would submit is for the screen to `open`."""
    if event.is_printable:
        return
    active = field.screen.active_bindings.get(event.key)
    if active is None or not active.enabled:
        return
    submits = active.node is field and active.binding.action == "submit"
    if submits or active.node is field.screen:
        event.stop()
        event.prevent_default()
        await field.screen.run_action("open" if submits else active.binding.action)

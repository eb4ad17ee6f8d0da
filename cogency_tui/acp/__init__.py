"""`cogency-tui acp`: the engine for editors, over the Agent Client Protocol on stdio.

`server` connects the two ends, `agent` answers the editor's requests, `session` is one conversation;
`updates` renders events and diffs for the editor, `prompt_blocks` reads the editor's messages and fences text
that is not to be rendered as markup.
"""

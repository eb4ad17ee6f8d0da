"""`cogency-tui acp`: the engine for editors, over the Agent Client Protocol on stdio.

`serve` connects the two ends, `editor` answers what an editor asks, `session` is one conversation of it;
`updates` makes what an editor shows of events, `blocks` a message of what it sends, `changes` the diffs,
`markdown` what is not to be read as markup.
"""

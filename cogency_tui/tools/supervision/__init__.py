"""Supervises a command, so that nothing that it starts outlives it or our program.

A program of its own, of the standard library's lightest modules, because every command waits for its start.
It is started with this package as its only one (`supervision`, hence the relative imports), and this module
imports nothing. Two of its processes run for a command:

    our program ── guard ── supervisor ── shell ── whatever it starts

Both adopt orphans, so that setsid, nohup and double forks lead nowhere. The supervisor starts the shell,
reports how it ended, and ends what is left on request or when our program is gone. The guard ends
everything when the supervisor cannot: it was killed (`kill -9 $PPID`) or stopped. The supervisor treats the
end of the guard as the end of our program. With a sandbox the supervisor is inside, the guard is not.

Where a command kills both, our program adopts its orphans, and ends them (`tools.shell.strays`).

Where orphans cannot be adopted (macOS) there is no guard, and only the shell's process group is ended: by
the supervisor, or by our program where the supervisor was killed.

Lines from the supervisor on the control socket: `here` when it runs; `group PID` of the shell where there
is no guard; `started` or `failed ERRNO` of the shell; `exited STATUS` (as `waitpid` gives it); and
`over LEFT` when nothing runs any more, LEFT being 1 where the shell had ended and other processes had to be
ended. To the supervisor: first the command line of the shell, which no other process shows; then
`stop SECONDS`, the time between TERM and KILL. The end of the file means that our program is gone.
"""

"""What stands between us and a command, so that nothing that it starts outlives it or us.

A program of its own, of the standard library's lightest modules: every command waits for it to start. It is
started with this package as its only one (`supervision`, hence the relative imports), and nothing is imported
here. Two processes of it run for a command:

    our program ── guard ── supervisor ── shell ── whatever it starts

Both adopt orphans, so that setsid, nohup and double forks lead nowhere. The supervisor starts the shell, says
how it ended, and ends what is left when it is told to, or when our program is gone. The guard ends everything
when the supervisor cannot: it was killed (`kill -9 $PPID`) or stopped. To the supervisor the end of the guard
is what the end of our program is. With a sandbox the supervisor is inside, the guard is not.

Where a command kills both, our program adopts its orphans, and ends them (`tools.strays`).

Where orphans cannot be adopted (macOS) there is no guard, and only the shell's process group is ended: by the
supervisor, or by our program where that was killed.

Lines from there on the control socket: `here` from the supervisor, `group PID` of the shell where there is no
guard, `started` or `failed ERRNO` of the shell, `exited STATUS` (as `waitpid` gives it), and `over LEFT` when
nothing runs any more, LEFT being 1 where the shell had ended and others had to be ended. To there: first the
command line of the shell, which no other process shows; then `stop SECONDS`, the time between TERM and KILL.
The end of the file means that our program is gone.
"""

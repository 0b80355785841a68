"""The exit statuses of the commands that run, answer and look; scripts may rely on each."""

from enum import IntEnum


class Exit(IntEnum):
    """What a command came to. `verify`, `crash` and `prove` say in their help what theirs mean."""

    DONE = 0  # the run completed, or what was asked for is done or shown
    FAILED = 1  # the run failed or was stopped, or damage hides a part of what is shown
    USAGE = 2  # wrong words on the command line; nothing was touched
    REFUSED = 3  # refused with a code, or the environment failed; the message says which
    WAITING = 4  # the run waits for a person: see `pending`, then `answer` and `resume`
    INTERRUPTED = 130  # Ctrl-C before there was a run to stop


STATUS_HELP = """\
exit status:
  0    the run completed, or what was asked for is done or shown
  1    the run failed or was stopped; or the log is damaged, and not all of it
       can be shown
  2    wrong usage; nothing was touched
  3    refused, or the environment failed; the message begins with the code
  4    the run waits for a person: crashworthy pending, answer, resume
  130  Ctrl-C, twice or before there was a run to stop
"""

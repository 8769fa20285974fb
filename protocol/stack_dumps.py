"""Has a process tell where its threads are: when a fatal signal ends it, and whenever it is asked.

Both go to stderr, which is a node's log. They are written by handlers in C, which need neither the
interpreter's lock nor the event loop: a loop that never gets its turn again is shown, too. Who asks
is `jbodlab`, or `kill -QUIT PID`, as of a JVM.
"""

from __future__ import annotations

import faulthandler
import signal
import sys
from typing import Final

STACKS_SIGNAL: Final = signal.SIGQUIT
"""A process that did not call ``tell_stacks`` ends by it."""
STACK_WORDS: Final = "(most recent call first)"
"""In the line above the stack of each thread."""
FATAL_ERROR: Final = "Fatal Python error: "
"""Begins the line above the stacks of a process that a fatal signal ends; its cause follows."""
FATAL_SIGNALS: Final = {
    "Segmentation fault": signal.SIGSEGV,
    "Aborted": signal.SIGABRT,
    "Bus error": signal.SIGBUS,
    "Illegal instruction": signal.SIGILL,
    "Floating point exception": signal.SIGFPE,
    "Floating-point exception": signal.SIGFPE,
}
"""By the causes that `faulthandler` names, in the words of all its versions.

Source: faulthandler.c, faulthandler_handlers.
"""


def tell_stacks() -> None:
    """Write the stacks of all threads to stderr at every ``STACKS_SIGNAL`` and fatal signal.

    Call it first of all, in the main thread.
    """
    faulthandler.enable(file=sys.stderr, all_threads=True)
    faulthandler.register(STACKS_SIGNAL, file=sys.stderr, all_threads=True)

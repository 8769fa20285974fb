"""Has a process tell where its threads are: when a fatal signal ends it, and whenever it is asked.

Both go to stderr, which is a node's log. Who asks is `jbodlab`, or `kill -QUIT PID`, as of a JVM. A
thread of its own answers, which needs no event loop: a loop that never gets its turn again is
shown, too, and so is a thread that waits for a disk. It holds the interpreter's lock meanwhile, for
a signal handler in C that reads the stacks of threads that go on crashes now and then, and the
process with it. Where code in C never gives that lock back, `kill -ABRT PID` shows the stacks and
ends the process.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
from typing import Final

STACKS_SIGNAL: Final = signal.SIGQUIT
"""A process that did not call ``tell_stacks`` ends by it."""
STACK_WORDS: Final = "(most recent call first)"
"""In the line above the stack of each thread."""
STACKS_END: Final = "(these were all threads)"
"""The line below the stacks that were asked for."""
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

    Call it first of all, in the main thread: threads that there are already keep the signal from
    the one that waits for it.
    """
    faulthandler.enable(file=sys.stderr, all_threads=True)
    signal.pthread_sigmask(signal.SIG_BLOCK, {STACKS_SIGNAL})
    threading.Thread(target=_tell_whenever_asked, name="stacks", daemon=True).start()


def _tell_whenever_asked() -> None:
    while True:
        signal.sigwait({STACKS_SIGNAL})
        faulthandler.dump_traceback(file=sys.stderr, all_threads=True)
        # Not by `print`, whose lock a thread may hold that waits for the disk of this very file.
        os.write(sys.stderr.fileno(), f"{STACKS_END}\n".encode())

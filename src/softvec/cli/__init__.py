"""The command ``softvec``: parse, call the library, print.

Commands import their modules when they run, so that ``--help`` and shell completion are fast.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import warnings
from types import FrameType
from typing import Any

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
_LEAST_ADDRESSES = 1 << 30  # bytes; with 600 MiB OpenBLAS waits for ever, with 900 LLVM aborts
_REPEAT = 1.0  # seconds until a signal whose exception was lost is raised again
_MISTAKES = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)
_received: list[int] = []  # signals that end the command


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit.

    Exit codes: 0 done, 2 a mistake of the user, 129 hung up, 130 interrupted, 143 terminated, 1 others.
    """
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    _catch_signals()
    _open_closed_streams()
    atexit.register(_ignore_signals)
    try:
        code = run(arguments)
    except KeyboardInterrupt:  # a second one, while the first was reported
        code = 130
    except SystemExit:  # of a signal; Ray replaces the code
        if not _received:
            raise
        code = 128 + _received[0]
    finally:
        _stop_repeating()
        for number, handler in before.items():  # for a caller that catches SystemExit
            signal.signal(number, handler)
    try:
        sys.stdout.flush()
    except OSError:  # full or closed, as reported already; Python would try again at exit
        _discard_output()
        code = code or 1
    sys.exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    if (few := _few_addresses()) is not None:
        sys.stderr.write(f"softvec: at most {few >> 20} MiB of memory are allowed (ulimit -v); ")
        sys.stderr.write(f"softvec needs {_LEAST_ADDRESSES >> 20} MiB or more\n")
        return 1
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        _discard_output()
        return 0
    except Exception as error:
        code = _failed(error)
        if code in (1, 2) and "--json" in (sys.argv[1:] if arguments is None else arguments):
            from softvec.cli.terminal import print_json

            print_json({"error": str(error), "exit": code})
        return code


def _few_addresses() -> int | None:
    """Return the limit on the memory of this process, if it is too low."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
    except ImportError:  # Windows
        return None
    limit = getrlimit(RLIMIT_AS)[0]
    return limit if limit != RLIM_INFINITY and limit < _LEAST_ADDRESSES else None


def _discard_output() -> None:
    """Redirect standard output to the null device."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: list[str] | None) -> int:
    from softvec.cli.app import app

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", UserWarning)
        code = app(arguments, prog_name="softvec", standalone_mode=False)
        sys.stdout.flush()
        if code == 130:  # how typer reports Ctrl-C
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0


def _interrupted() -> int:
    sys.stderr.write("softvec: interrupted\n")
    return 130


def _failed(error: Exception) -> int:
    """Print one line for a mistake of the user; raise anything else again, for its traceback."""
    from softvec.cli.terminal import complain
    from softvec.core.errors import InputError
    from softvec.core.untrusted import exhausted

    if _received and _received[0] != signal.SIGINT:
        return 128 + _received[0]
    # Python and libraries may turn KeyboardInterrupt into another error; older versions of typer into Abort
    if _received or type(error).__name__ == "Abort":
        return _interrupted()
    if hasattr(error, "format_message"):  # of typer: a wrong option or argument
        return _misused(error)
    if isinstance(error, InputError):
        complain(str(error))
        return 2
    if isinstance(error, _MISTAKES) or (isinstance(error, OSError) and error.strerror):  # such as a full disk
        complain(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error))
        return 2 if isinstance(error, _MISTAKES) else 1
    if isinstance(error, MemoryError) or exhausted(error):
        complain(f"out of memory or threads: {error}. Try fewer dimensions (--dim), or --scratch of embed")
        return 1
    raise error


def _misused(error: Any) -> int:
    """Print an error of typer as one line."""
    from softvec.cli.terminal import complain

    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "softvec"
    text = " ".join(error.format_message().split())
    if "Missing option" in text or "extra argument" in text:
        flags = [each.opts[0] for each in context.command.params if each.metavar == "FILE"] if context else []
        text = text.rstrip(".") + (f"; files go after {', '.join(flags)}" if flags else "")
    if text:
        end = "" if text.endswith(("?", "!")) else "."
        complain(f"{text.rstrip('.')}{end} See {command} --help")
    return int(error.exit_code)


def _open_closed_streams() -> None:
    """Open the null device for standard streams that the caller closed (``>&-``): Python has None there."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 - open until the end


def _catch_signals() -> None:
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    """Unwind, so that no partial file is left.

    Python drops an exception raised inside a destructor or a callback of C code, so it is raised again where
    the command still runs.
    """
    _received.append(number)
    sys.unraisablehook = lambda dropped: None
    if hasattr(signal, "setitimer"):  # not on Windows
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(number))
        signal.setitimer(signal.ITIMER_REAL, _REPEAT)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    sys.exit(128 + number)


def _ignore_signals() -> None:
    """Ignore signals during shutdown, as they would change the exit code."""
    _stop_repeating()
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _stop_repeating() -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)

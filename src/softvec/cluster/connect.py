"""A connection to Ray: on this machine, listening on loopback alone, or to the head of a cluster."""

from __future__ import annotations

import logging
import os
import re
import signal
import socket
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from softvec.core.errors import InputError
from softvec.core.machine import deferred_signals

LOOPBACK = "127.0.0.1"
_REACHED = 5.0  # seconds that an address has to answer; Ray itself waits for half a minute or more
_TRIES = 3  # where a head fails to start a server for this driver, as some do in their first seconds
_PASSING = "Initialization failure from server"
_WATCHED = 0.2  # seconds between two looks at the driver
_PORTS = {"ray://": 10001, "": 6379}  # of a head, by the form of its address


def load_ray() -> Any:
    """Return Ray."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else every worker warns about it
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise InputError("a cluster needs Ray; install it with pip install 'softvec[cluster]'") from error
    return ray


def connect(ray: Any, target: str | None, processors: int) -> str | None:
    """Connect to the head at an address, or start Ray on this machine (None); return the dashboard's URL."""
    options: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if target is None:
        options |= {"num_cpus": processors, "include_dashboard": False, "address": "local"}
        options |= {"_node_ip_address": LOOPBACK}
        os.environ.setdefault("RAY_worker_niceness", "0")  # else any other program would starve the workers
    else:
        _require_server(target)
        options |= {"address": target}
    left = _TRIES
    while True:
        left -= 1
        try:
            here = target is None
            with (
                warnings.catch_warnings(),
                own_signals(deferred=here),
                _loopback() if here else nullcontext(),
            ):
                warnings.simplefilter("ignore")
                return ray.init(**options).dashboard_url or None
        except Exception as error:
            if left and _PASSING in str(error):
                continue
            what = "Ray does not start on this machine" if target is None else f"no Ray cluster at {target}"
            raise InputError(f"{what}: {_reason(error)}") from error


def starts_heads(allowed: bool) -> bool:
    """Let any call of Ray start a head on this machine, or not; return what was before.

    Else Ray does so, listening for other machines, once the connection to its cluster is lost.
    """
    from ray._private import auto_init_hook as hook

    before: bool = hook.enable_auto_connect
    hook.enable_auto_connect = allowed
    return before


def end_with(driver: int) -> None:
    """End this process soon after that of the driver: a killed one leaves workers that write checkpoints."""
    while True:
        try:
            os.kill(driver, 0)
        except ProcessLookupError:
            os._exit(1)
        time.sleep(_WATCHED)


@contextmanager
def own_signals(*, deferred: bool) -> Iterator[None]:
    """Keep the handlers of signals, one of which Ray replaces: a terminated command exits with 143.

    While Ray starts or ends on this machine, signals are ``deferred``: half of it would crash at the exit, or
    leave processes behind. A head elsewhere may not answer, so there they are not. A timer that repeats a
    signal waits meanwhile: Ray's end takes handlers away, without which the signal would end the process.
    """
    from ray._private import utils

    before = utils.set_sigterm_handler
    utils.set_sigterm_handler = lambda handler: None
    timer = signal.setitimer(signal.ITIMER_REAL, 0) if hasattr(signal, "setitimer") else (0.0, 0.0)
    try:
        with deferred_signals() if deferred else nullcontext():
            yield
    finally:
        utils.set_sigterm_handler = before
        if any(timer):
            signal.setitimer(signal.ITIMER_REAL, *timer)


@contextmanager
def _loopback() -> Iterator[None]:
    """Let Ray listen at 127.0.0.1 alone, as it does on Windows and macOS.

    Elsewhere it replaces that address by one that other machines reach, and has no public option against it.
    """
    from ray._private import ray_constants as constants

    before = getattr(constants, "ENABLE_RAY_CLUSTER", None)
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before


def _require_server(address: str) -> None:
    """Refuse an address where nothing listens."""
    match = re.fullmatch(r"(ray://)?\[?(.+?)\]?:(\d+)", address)
    if match is None:
        return  # auto: Ray looks for a head on this machine
    try:
        socket.create_connection((match[2], int(match[3])), _REACHED).close()
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error) or "no answer"
        raise InputError(
            f"no Ray cluster at {address}: {reason[0].lower()}{reason[1:]}; check that the head runs and the "
            f"port is right (usually {_PORTS[match[1] or '']}), or use local:4 for workers on this machine"
        ) from error


def _reason(error: Exception) -> str:
    """Return why Ray did not connect, in one line."""
    if "ray[client]" in str(error):
        return "ray:// needs Ray's client; install it with pip install 'softvec[cluster]'"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    if "Traceback" in str(error) or lines[0].endswith(":"):  # of the server; its last line tells the reason
        return f"{lines[0].split('Traceback')[0].rstrip(': ')}: {lines[-1]}"
    return lines[0]

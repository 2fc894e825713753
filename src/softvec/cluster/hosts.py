"""What a worker runs on: its machine, the versions of packages, and its processor."""

from __future__ import annotations

import logging
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softvec._version import __version__
from softvec.core.errors import InputError

__all__ = ["Host", "compare", "this_host"]

logger = logging.getLogger("softvec")


@dataclass(frozen=True)
class Host:
    """The machine and process of a worker."""

    name: str
    process: int
    versions: dict[str, str]
    processor: str


def this_host() -> Host:
    """Describe the machine and process of the caller."""
    from threadpoolctl import threadpool_info

    blas = {str(each.get("architecture", "")) for each in threadpool_info() if each["user_api"] == "blas"}
    versions = {"softvec": __version__, "Python": platform.python_version(), "NumPy": np.__version__}
    return Host(platform.node(), os.getpid(), versions, " ".join(sorted(blas | {platform.machine()})))


def compare(hosts: Sequence[Host]) -> None:
    """Refuse other versions than those of the first; say that other processors may give other bits."""
    first = hosts[0]
    for host in hosts[1:]:
        others = [
            f"{package} {host.versions.get(package)} (here {version})"
            for package, version in first.versions.items()
            if host.versions.get(package) != version
        ]
        if others:
            raise InputError(
                f"{host.name} has {', '.join(others)}; install the same versions on all machines"
            )
    kinds = {host.processor: host.name for host in reversed(hosts)}
    if len(kinds) > 1:
        listed = ", ".join(f"{name}: {kind}" for kind, name in kinds.items())
        logger.warning(
            "the machines have different processors (%s), so the last bits may differ from those of one "
            "process",
            listed,
        )

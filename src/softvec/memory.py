"""Moved: see :mod:`softvec.fit.memory`. This path works for one release."""

from softvec._moved import forward

__getattr__ = forward(__name__, "softvec.fit.memory", "softvec.core.memory")

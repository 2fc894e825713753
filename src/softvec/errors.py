"""Moved: see :mod:`softvec.core.errors`. This path works for one release."""

from softvec._moved import forward

__getattr__ = forward(__name__, "softvec.core.errors")

"""Moved: see :mod:`softvec.affinity`. This path works for one release."""

from softvec._moved import forward

__getattr__ = forward(__name__, "softvec.affinity")

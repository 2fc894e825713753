"""Shared foundations: errors, checks, machine, memory, files, dates. Imports nothing else from softvec."""

"""Shared foundations: errors, checks, threads, signals, files. Imports nothing else from softvec."""

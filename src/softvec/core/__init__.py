"""What every room stands on: errors, checks, threads, signals, files. Imports nothing else of softvec."""

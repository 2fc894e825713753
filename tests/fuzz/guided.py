"""Coverage-guided fuzzing with atheris: mutations that reach new lines of softvec are kept and built upon.

``python -m tests.fuzz.guided data -max_total_time=60`` (or another of the readers). The
first byte of an input chooses the seed whose name and options it goes by; the rest is the file. Options after
the reader are libFuzzer's; a failing input is written where ``-artifact_prefix=`` says.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(
    include=["softvec"], exclude=["softvec.kernels"], enable_loader_override=False
):
    from tests.fuzz.readers import READERS, outcome

from tests.fuzz.mutations import mutate
from tests.fuzz.seeds import Seed, seeds


def write_corpus(found: list[Seed], folder: Path) -> None:
    """Write the seeds as inputs."""
    for at, seed in enumerate(found):
        (folder / f"{at}").write_bytes(bytes([at]) + seed.data)


def main(arguments: list[str]) -> None:
    """Fuzz one reader until libFuzzer's limits are reached or a read fails."""
    reader = arguments[1] if len(arguments) > 1 else ""
    if reader not in READERS:
        sys.exit(f"{reader!r} is no reader; expected one of {', '.join(READERS)}")
    found = [seed for seed in seeds() if seed.reader == reader][:256]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "read"
        corpus = Path(name) / "corpus"
        folder.mkdir()
        corpus.mkdir()
        write_corpus(found, corpus)

        def read(data: bytes) -> None:
            if not data:
                return
            seed = found[data[0] % len(found)]
            files = {**seed.beside, seed.name: data[1:]}
            for title, content in files.items():
                (folder / title).write_bytes(content)
            ended, message = outcome(reader, folder / seed.name, seed.options)
            for title in files:
                os.unlink(folder / title)
            if ended not in ("refused", "accepted"):
                raise AssertionError(f"{seed.name}: {ended}: {message}")

        def change(data: bytes, most: int, number: int) -> bytes:
            """Mutate through the structure half of the time, and as libFuzzer does otherwise."""
            if number % 2 and len(data) > 1:
                return (data[:1] + mutate(data[1:], random.Random(number)))[:most]
            return atheris.Mutate(data, most)

        options = ["-timeout=10", "-rss_limit_mb=4096", "-max_len=20000"]
        atheris.Setup([arguments[0], *options, *arguments[2:], str(corpus)], read, custom_mutator=change)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)

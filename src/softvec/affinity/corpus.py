"""Text to word numbers: tokenisers, and a corpus that keeps its words in little memory."""

from __future__ import annotations

import re
import string
import tempfile
import unicodedata
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import IO, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from softvec.core.checks import choice
from softvec.core.errors import InputError, Option, guess
from softvec.core.machine import machine
from softvec.names import Names
from softvec.names.coding import TokenNames, Tokens, byte_order
from softvec.read.frames import frame_columns, is_frame
from softvec.read.reader import Contents

TOKENIZERS = ("words", "whitespace")
Tokenizer = str | re.Pattern[str] | Callable[[str], Iterable[str]]
_SPLIT = ("; pass lists of tokens, or a function to split a line: ", Option("tokenizer", ...))
_FEWER = (Option("min_count", 1), "; if the lines are edges, pass ", Option("kind", "graph"))
_SEGMENT = 32_000_000  # tokens counted at a time: 256 MB with their positions
_IN_MEMORY = 64_000_000  # tokens kept in memory (256 MB); more go to a temporary file
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_BLANK_PUNCTUATION = str.maketrans({c: " " for c in string.punctuation if c != "_"})


class Corpus:
    """Collects documents as word numbers; :func:`cooccurrence` counts them.

    Parameters
    ----------
    tokenizer : {"words", "whitespace"}, pattern or callable
        ``"words"`` splits at whitespace and punctuation (except the underscore); ``"whitespace"`` only at
        whitespace. A regular expression such as ``r"[\\w']+"`` matches the words; a callable returns those of
        a line. Text is brought to the normal form NFC; combining marks belong to their words.
    lowercase : bool

    Examples
    --------
    >>> corpus = Corpus()
    >>> corpus.add_text(b"The cat sat.\\nThe dog sat.\\n")
    >>> corpus.n_documents, corpus.n_words
    (2, 6)
    """

    data_kind: ClassVar[str] = "corpus"

    def __init__(self, *, tokenizer: Tokenizer = "words", lowercase: bool = True):
        self.tokenizer = _checked_tokenizer(tokenizer)
        self.lowercase = bool(lowercase)
        self._names = TokenNames()
        self._blocks: list[NDArray[np.int32]] = []
        self._held = 0
        self._spill: IO[bytes] | None = None
        self._open_document = False
        self.n_words = 0
        self.n_documents = 0

    def add_text(self, text: bytes) -> None:
        """Add UTF-8 text, one document per line. A block may end inside a document, but not inside a word."""
        self._add_prepared([self._prepare(text)])

    def add_blocks(self, blocks: Iterable[bytes], n_jobs: int | None = None) -> None:
        """Add a stream of blocks, split into words by several threads."""
        with machine(n_jobs) as pool:
            stream = iter(blocks)
            while batch := [(block,) for block in islice(stream, 2 * pool.n_jobs)]:
                self._add_prepared(pool.map(self._prepare, batch))

    def add_document(self, document: str | Iterable[str]) -> None:
        """Add one document: a text, or a sequence of words, which are used unchanged."""
        if isinstance(document, str):
            self._open_document = False
            self.add_text(document.replace("\n", " ").encode("utf-8", "surrogatepass"))
            return
        if not isinstance(document, Iterable):
            raise InputError(f"a document is {document!r}; expected a text or a sequence of words")
        words = list(document)
        for word in words:
            if not isinstance(word, str):
                raise InputError(f"a document holds {word!r}; words must be strings")
        self._open_document = False
        self._add_prepared([_coded([words])])

    def _prepare(self, text: bytes) -> tuple[Tokens, NDArray[np.int64], int]:
        """Return the words of a block, the number of line ends before each word, and the total."""
        if callable(self.tokenizer):
            return _coded([filter(None, self.tokenizer(line)) for line in self._normal(text).split("\n")])
        text = self._fold(text)
        buf = np.frombuffer(text, np.uint8)
        starts, ends, lines = split_words(buf)
        return Tokens.hashed(buf, starts[:, None], ends[:, None]), lines, text.count(b"\n")

    def _fold(self, text: bytes) -> bytes:
        if text.isascii():
            return text.translate(_ASCII[self.tokenizer == "words", self.lowercase])
        decoded = self._normal(text)
        if self.tokenizer == "words":
            decoded = _punctuation().sub(" ", decoded)
        return decoded.encode("utf-8", "surrogatepass")

    def _normal(self, text: bytes) -> str:
        decoded = unicodedata.normalize("NFC", text.decode("utf-8", "surrogatepass"))
        return decoded.lower() if self.lowercase else decoded

    def _add_prepared(self, prepared: Iterable[tuple[Tokens, NDArray[np.int64], int]]) -> None:
        for tokens, lines, n_lines in prepared:
            n = len(lines)
            if n:
                codes = self._names.encode(tokens).reshape(-1)
                cuts = np.flatnonzero(np.diff(lines)) + 1
                if not self._open_document or lines[0] > 0:
                    cuts = np.concatenate([[0], cuts])
                self.n_words += n
                self.n_documents += len(cuts)
                self._keep(np.insert(codes, cuts, -1))
                self._open_document = True
            if n_lines > (lines[-1] if n else 0):
                self._open_document = False

    def _keep(self, codes: NDArray[np.int32]) -> None:
        self._blocks.append(codes)
        self._held += len(codes)
        if self._held > _IN_MEMORY:
            if self._spill is None:
                self._spill = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the corpus
                weakref.finalize(self, self._spill.close)
            for block in self._blocks:
                self._spill.write(block.tobytes())
            self._blocks, self._held = [], 0

    def segments(self) -> Iterator[NDArray[np.int32]]:
        """Yield all tokens in segments of bounded length; a segment may end inside a document."""
        if self._spill is not None:
            self._spill.seek(0)
            while piece := self._spill.read(4 * _SEGMENT):
                yield np.frombuffer(piece, np.int32)
        batch: list[NDArray[np.int32]] = []
        size = 0
        for block in self._blocks:
            batch.append(block)
            size += len(block)
            if size >= _SEGMENT:
                yield np.concatenate(batch)
                batch, size = [], 0
        if batch:
            yield np.concatenate(batch)

    def vocabulary(
        self, min_count: int, max_vocab: int | None
    ) -> tuple[Names, NDArray[np.int64], NDArray[np.int32]]:
        """Return the words kept, most frequent first, their counts, and the map from old to new numbers."""
        counts = np.zeros(self._names.count, dtype=np.int64)
        for segment in self.segments():
            counts += np.bincount(segment[segment >= 0], minlength=len(counts))
        codes = byte_order(*self._names.packed())
        order = codes[np.argsort(-counts[codes], kind="stable")]  # equally frequent words by their bytes
        order = order[: int(np.count_nonzero(counts >= min_count))][:max_vocab]
        if not len(order):
            seen = f"{self.n_words:,} words, {len(counts):,} of them distinct"
            if self._is_unspaced():
                raise InputError(f"no word occurs {min_count} times in {seen}: there are no spaces", *_SPLIT)
            raise InputError(f"no word occurs {min_count} times in {seen}; add more text, or pass ", *_FEWER)
        if self._is_unspaced():
            guess("words are split at spaces, but this text has few", *_SPLIT)
        numbers = np.full(len(counts), -1, dtype=np.int32)
        numbers[order] = np.arange(len(order), dtype=np.int32)
        return self._names.names(order), counts[order], numbers

    def _is_unspaced(self) -> bool:
        """Whether most of the first words are long, in a script that does not separate words."""
        first = [str(word) for word in self._names.names(np.arange(min(1000, self._names.count)))]
        long = [word for word in first if len(word) > 8 and _UNSPACED.search(word)]
        return 2 * len(long) > len(first)


def _coded(lines: Sequence[Iterable[str]]) -> tuple[Tokens, NDArray[np.int64], int]:
    """Return the words of lines, the number of line ends before each word, and the total."""
    words = [(word, at) for at, line in enumerate(lines) for word in line]
    tokens = Tokens.of_strings([(word,) for word, _ in words])
    return tokens, np.array([at for _, at in words], np.int64), len(lines) - 1


def split_words(buf: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return where each word between blanks starts and ends, and the number of line ends before it."""
    inside = np.concatenate([[False], buf > ord(" "), [False]])
    edges = np.flatnonzero(inside[1:] != inside[:-1])
    starts, ends = edges[::2].copy(), edges[1::2].copy()
    before = np.searchsorted(starts, np.flatnonzero(buf == ord("\n")))  # words before each line end
    per_line = np.diff(before, prepend=0, append=len(starts))
    return starts, ends, np.repeat(np.arange(len(per_line)), per_line)


def _checked_tokenizer(tokenizer: Tokenizer) -> str | Callable[[str], Iterable[str]]:
    """Return the name of a tokenizer, or a function that splits a line."""
    if isinstance(tokenizer, re.Pattern) or (isinstance(tokenizer, str) and not tokenizer.isidentifier()):
        try:
            return re.compile(tokenizer).findall
        except re.error as error:
            raise InputError.of("tokenizer", tokenizer, f"a regular expression ({error})") from None
    return tokenizer if callable(tokenizer) else choice("tokenizer", tokenizer, TOKENIZERS)


@cache
def _punctuation() -> re.Pattern[str]:
    """Match what separates words: no letters, digits and underscores, nor marks and joiners of scripts."""
    within = [code for code in (*range(0x300, 0x1F000), *range(0xE0100, 0xE01F0))
              if unicodedata.category(chr(code))[0] == "M"]  # fmt: skip
    return re.compile(rf"[^\w\s\u200c\u200d{''.join(map(chr, within))}]")


def _ascii_table(words: bool, lower: bool) -> bytes:
    table = bytes(range(128)).decode()
    if lower:
        table = table.lower()
    return (table.translate(_BLANK_PUNCTUATION) if words else table).encode() + bytes(range(128, 256))


_ASCII = {(w, low): _ascii_table(w, low) for w in (False, True) for low in (False, True)}


def as_corpus(corpus: Any, tokenizer: Tokenizer, lowercase: bool, n_jobs: int | None = None) -> Corpus:
    """Return a corpus of documents, or of the text of a file; a Corpus unchanged."""
    if isinstance(corpus, Corpus):
        return corpus
    out = Corpus(tokenizer=tokenizer, lowercase=lowercase)
    if isinstance(corpus, Contents):
        out.add_blocks(corpus.data, n_jobs)
        if out.n_words == 0:
            raise InputError(f"{corpus.name} is empty: it has no words")
        return out
    if isinstance(corpus, str | bytes):
        raise InputError(
            "the corpus is one string; pass a list of documents, or a file to softvec.affinity.read"
        )
    if is_frame(corpus):
        shown = ", ".join(map(str, list(frame_columns(corpus))[:6]))
        raise InputError(f"the corpus is a frame of columns {shown}; pass the column of text, frame[name]")
    for document in corpus:
        out.add_document(document)
    return out

"""
Documents and words together
============================

Documents and their words are two kinds of items. Embedded together, a document's nearest words say
what it is about, and a word finds the documents about it.
"""

# %%
# The documents: the docstrings of modules in Python's standard library.

import importlib
import inspect
import re
from collections import Counter

NAMES = (
    "argparse array ast asyncio base64 bisect bz2 calendar cmath collections colorsys configparser contextlib copy csv "
    "ctypes datetime decimal difflib dis email.message enum fileinput fractions ftplib functools getpass glob gzip hashlib "
    "heapq hmac html.parser http.client http.cookiejar imaplib inspect io ipaddress itertools json locale logging lzma "
    "mailbox math mimetypes mmap multiprocessing operator os os.path pathlib pickle platform poplib pprint queue random re "
    "sched secrets select shelve shlex shutil signal smtplib socket sqlite3 ssl statistics string struct subprocess sys "
    "tarfile tempfile textwrap threading time timeit tokenize traceback types unittest urllib.parse urllib.request uuid "
    "weakref xml.dom.minidom xml.etree.ElementTree zipfile zlib"
)


def words_of(name):
    """Return the words in the docstrings of a module."""
    module = importlib.import_module(name)
    values = [
        module,
        *(value for _, value in inspect.getmembers(module) if inspect.getmodule(value) in (module, None)),
    ]
    values += [member for value in values if inspect.isclass(value) for member in vars(value).values()]
    texts = {inspect.getdoc(value) or "" for value in values if callable(value) or inspect.ismodule(value)}
    return Counter(re.findall(r"[a-z]{4,}", " ".join(sorted(texts)).lower()))


counts = {name: words_of(name) for name in NAMES.split()}
spread = Counter(word for words in counts.values() for word in words)
rows = [
    (name, word, number)
    for name, words in counts.items()
    for word, number in sorted(words.items())
    if 2 <= spread[word] <= 0.4 * len(counts)
]
print(f"{len(counts)} documents, {len({word for _, word, _ in rows}):,} words, {len(rows):,} pairs")

# %%
# One call. The third column is a weight: how often the word occurs in the document.

import softvec

emb = softvec.embed(rows, kind="bipartite", n_components=32, random_state=0)
emb

# %%
# What is a module about?

for module in ("zipfile", "datetime", "socket", "statistics"):
    print(f"{module:12}", ", ".join(str(word) for word, _ in emb.most_similar(module, n=6, among="context")))

# %%
# Which modules are similar?

for module in ("gzip", "http.client", "math"):
    print(f"{module:12}", ", ".join(str(other) for other, _ in emb.most_similar(module, n=4)))

# %%
# Which documents are about a word? ``nearest`` takes any vectors.

for word in ("compressed", "random", "header"):
    found, _ = emb.nearest(emb.context[[word]], n=4)
    print(f"{word:12}", ", ".join(str(emb.names[i]) for i in found[0]))

# %%

import matplotlib.pyplot as plt

figure, axis = plt.subplots(figsize=(10, 7))
emb.plot(
    emb.cluster(7),
    method="tsne",
    perplexity=12,
    n_names=100,
    legend=False,
    ax=axis,
    title="Modules of the standard library",
)
figure.tight_layout()

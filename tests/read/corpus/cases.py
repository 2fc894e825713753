"""Small files and objects as people have them, and what must come out of each.

Each case says what a reader who knows the data would want: the kind, the names of rows (and of columns), the
matrix as a mapping of name pairs to values. Every case must end in one of three ways: right; right or not but
said (a GuessWarning); refused (an InputError). A wrong result without a word is the one thing that fails.
"""

from __future__ import annotations

import bz2
import io
import zipfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class Case:
    """Data and what it means; ``ends`` lists the acceptable outcomes."""

    name: str
    data: Any  # text or bytes of a file, or a function that makes an object
    kind: str = "graph"
    pairs: dict[Any, float] | None = None  # undirected edges, or the entries of a two-sided matrix
    rows: list[Any] | None = None
    suffix: str = ".csv"
    options: dict[str, Any] = field(default_factory=dict)
    ends: tuple[str, ...] = ("right",)


def ring(names):
    """Edges of a ring."""
    return list(zip(names, [*names[1:], names[0]]))


PEOPLE = ["ann", "bob", "cyd", "dan", "eve"]
RING = ring(PEOPLE)
GENES = ["TP53", "MDM2", "ATM", "BRCA1", "EGFR"]
ONES = dict.fromkeys(RING, 1.0)
WEIGHTS = dict(zip(RING, [1.5, 2.0, 0.5, 4.0, 3.0]))


def lines(*head, sep=",", edges=RING, more=None):
    """Lines of a head, then of edges, each with further fields."""
    rows = [sep.join([*edge, *([] if more is None else [more[k]])]) for k, edge in enumerate(edges)]
    return "\n".join([*head, *rows]) + "\n"


W = ["1.5", "2.0", "0.5", "4.0", "3.0"]
NUMBERS = [str(k) for k in range(5)]
VISITS = [(f"v{k % 5}", f"/p{k % 3}") for k in range(15)]
CONTACTS = [(f"2024-03-0{1 + k // 5}T10:00:0{k % 5}", *RING[k % 5]) for k in range(15)]
STAMPS = [1709287200 + 3600 * k for k in range(5)]


def _zipped():
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("edges.csv", lines("source,target"))
    return data.getvalue()


def _large():
    """A named matrix whose start does not show that it is square: a ring of 200."""
    names = [f"n{k}" for k in range(200)]
    rows = [
        [a, *("1.000000" if (i - j) % 200 in (1, 199) else "0.000000" for j in range(200))]
        for i, a in enumerate(names)
    ]
    return "\n".join(",".join(row) for row in [["", *names], *rows]) + "\n"


ZIPPED = _zipped()
LARGE = _large()

FILES = [
    # headers of every style
    Case("known header", lines("source,target"), pairs=ONES),
    Case(
        "header gene_a gene_b",
        lines("gene_a,gene_b", edges=ring(GENES)),
        pairs=dict.fromkeys(ring(GENES), 1.0),
    ),
    Case("header protein1 protein2", lines("protein1,protein2"), pairs=ONES),
    Case("header follower followed", lines("follower,followed"), pairs=ONES),
    Case("header of unknown words", lines("Käufer,Freund"), pairs=ONES, ends=("right", "said")),
    Case("header in capitals", lines("SOURCE;TARGET;WEIGHT", sep=";", more=W), pairs=WEIGHTS),
    Case("header with blanks", lines("Node A,Node B,Edge Weight", more=W), pairs=WEIGHTS),
    Case("no header, words", lines(), pairs=ONES),
    Case(
        "no header, words, pairs apart",
        "a b\nc d\ne f\ng h\n",
        suffix=".txt",
        pairs={("a", "b"): 1, ("c", "d"): 1, ("e", "f"): 1, ("g", "h"): 1},
        ends=("right", "said"),
    ),
    Case("no header, integers", "0 1\n1 2\n2 0\n", suffix=".txt", pairs={(0, 1): 1, (1, 2): 1, (2, 0): 1}),
    Case(
        "header above integers", "node_i\tnode_j\n0\t1\n1\t2\n", suffix=".tsv", pairs={(0, 1): 1, (1, 2): 1}
    ),
    Case(
        "commented header", "# source target weight\n" + lines(sep=" ", more=W), suffix=".txt", pairs=WEIGHTS
    ),
    Case("header tail words again", lines("ann,eve"), pairs=ONES),
    # quotes, blanks, encodings
    Case("all quoted", "\n".join(f'"{a}","{b}"' for a, b in [("from", "to"), *RING]) + "\n", pairs=ONES),
    Case(
        "quoted commas",
        'source,target\n"Doe, J","Roe, R"\n"Roe, R","Poe, E"\n',
        pairs={("Doe, J", "Roe, R"): 1, ("Roe, R", "Poe, E"): 1},
    ),
    Case("blanks after commas", lines("source, target").replace(",", ", "), pairs=ONES),
    Case(
        "byte-order mark and CRLF",
        b"\xef\xbb\xbf" + lines("source;target", sep=";").replace("\n", "\r\n").encode(),
        pairs=ONES,
    ),
    Case("sep= of Excel", lines("sep=;", "source;target;weight", sep=";", more=W), pairs=WEIGHTS),
    Case(
        "trailing empty columns",
        lines("source,target,,").replace("\n", ",,\n").replace(",,,,", ",,"),
        pairs=ONES,
    ),
    Case("UTF-16 of Excel", lines("source\ttarget", sep="\t").encode("utf-16"), suffix=".txt", pairs=ONES),
    Case("latin-1", "source,target\ncafé,bar\nbar,thé\n".encode("latin-1"), ends=("refused",)),
    Case(
        "bz2 with an empty member",
        bz2.compress(lines("source,target").encode()) + bz2.compress(b"") + bz2.compress(b"eve,bob\n"),
        suffix=".csv.bz2",
        pairs={**ONES, ("eve", "bob"): 1},
    ),
    Case("blank lines between", lines("source,target").replace("\n", "\n\n"), pairs=ONES),
    # numbers
    Case(
        "decimal commas",
        lines("von;nach;gewicht", sep=";", more=[w.replace(".", ",") for w in W]),
        pairs=WEIGHTS,
        ends=("right", "said"),
    ),
    Case(
        "decimal commas in blanks",
        lines(sep=" ", more=[w.replace(".", ",") for w in W]),
        suffix=".edges",
        pairs=WEIGHTS,
    ),
    Case(
        "thousands in quotes",
        'source,target,weight\nann,bob,"1,234"\nbob,cyd,"12,000"\ncyd,dan,7\n',
        pairs={("ann", "bob"): 1234, ("bob", "cyd"): 12000, ("cyd", "dan"): 7},
    ),
    Case("thousands or decimals", "source;target;weight\nann;bob;1,234\nbob;cyd;2,500\n", ends=("refused",)),
    Case(
        "thousands with points",
        "source;target;weight\nann;bob;1.234\nbob;cyd;2.500\ncyd;ann;3.100\n",
        pairs={("ann", "bob"): 1.234, ("bob", "cyd"): 2.5, ("cyd", "ann"): 3.1},
        ends=("said",),
    ),
    Case("percent", lines("source,target,weight", more=["10%", "20%", "5%", "1%", "3%"]), ends=("refused",)),
    Case(
        "scientific notation",
        lines("source,target,weight", more=["1.5e0", "2e0", "5E-1", "4", "3"]),
        pairs=WEIGHTS,
    ),
    Case("NA as weight", lines("source,target,weight", more=["NA", *W[1:]]), ends=("refused",)),
    Case("empty weight", lines("source,target,weight", more=["", *W[1:]]), ends=("refused",)),
    Case(
        "NA as a name",
        lines("source,target", edges=[*RING, ("eve", "NA")]),
        pairs={**ONES, ("eve", "NA"): 1},
        ends=("said",),
    ),
    Case("empty name", "source,target\nann,bob\n,cyd\n", ends=("refused",)),
    Case("negative weight", lines("source,target,corr", more=["-0.5", *W[1:]]), ends=("refused",)),
    Case(
        "leading zeros",
        "zip1,zip2\n01234,98765\n98765,00501\n00501,01234\n",
        pairs={("01234", "98765"): 1, ("98765", "00501"): 1, ("00501", "01234"): 1},
    ),
    Case("ids 1 and 1.0", "source,target\n1,2.0\n2,3.0\n3,1.0\n", ends=("refused",)),
    # columns
    Case(
        "index column of pandas",
        lines(",source,target,weight", edges=[(k, *e) for k, e in zip(NUMBERS, RING)], more=W),
        pairs=WEIGHTS,
    ),
    Case(
        "index column idx",
        lines("idx,protein1,protein2,combined_score", edges=[(k, *e) for k, e in zip(NUMBERS, RING)], more=W),
        pairs=WEIGHTS,
    ),
    Case(
        "index column, integer ids",
        "id,source,target\n0,17,23\n1,23,31\n2,31,17\n",
        pairs={(17, 23): 1, (23, 31): 1, (31, 17): 1},
    ),
    Case(
        "index column, no header",
        "0,ann,bob\n1,bob,cyd\n2,cyd,ann\n",
        pairs={("ann", "bob"): 1, ("bob", "cyd"): 1, ("cyd", "ann"): 1},
        ends=("right", "said"),
    ),
    Case(
        "weight of a path",
        "0 1 5\n1 2 3\n2 3 4\n3 4 9\n",
        suffix=".txt",
        pairs={(0, 1): 5, (1, 2): 3, (2, 3): 4, (3, 4): 9},
        ends=("right", "said"),
    ),
    Case(
        "row names of R",
        "from to weight\n1 ann bob 1.5\n2 bob cyd 2.0\n3 cyd dan 0.5\n",
        suffix=".txt",
        pairs={("ann", "bob"): 1.5, ("bob", "cyd"): 2.0, ("cyd", "dan"): 0.5},
        ends=("right", "said"),
    ),
    Case("weight of another name", lines("source,target,flow", more=W), pairs=WEIGHTS),
    Case(
        "weight chosen",
        lines("source,target,flow,cost", edges=[(a, b, w) for (a, b), w in zip(RING, W)], more=["9"] * 5),
        options={"weight": "flow"},
        pairs=WEIGHTS,
    ),
    Case(
        "two columns of numbers",
        lines(
            "source,target,coexpression,textmining",
            edges=[(a, b, w) for (a, b), w in zip(RING, W)],
            more=["9"] * 5,
        ),
        pairs=ONES,
        ends=("said",),
    ),
    Case("distance as weight", lines("source,target,distance", more=W), ends=("refused",)),
    *(
        Case(f"{title} as weight", lines(f"source,target,{title}", more=W), ends=("refused",))
        for title in ("distance_km", "tripDistance", "travel_cost", "trip duration", "p_val_adj")
    ),
    *(
        Case(f"{title} as weight", lines(f"source,target,{title}", more=W), pairs=WEIGHTS, ends=("said",))
        for title in ("inverse_distance", "duration_s", "duration", "amount", "amount_usd")
    ),
    Case(
        "distance asked for",
        lines("source,target,distance", more=W),
        pairs=WEIGHTS,
        options={"weight": "distance"},
    ),
    Case(
        "header word among the names",
        "doc,word,count\nd1,rain,1\nd2,word,1\nd3,sun,4\nd1,sun,2\n",
        pairs={("d1", "rain"): 1.0, ("d2", "word"): 1.0, ("d3", "sun"): 4.0, ("d1", "sun"): 2.0},
        ends=("said",),
    ),
    Case("LGL of igraph", "# ann\nbob\ncyd\n# bob\ndan\n# cyd\neve\n", suffix=".lgl", ends=("refused",)),
    Case(
        "LGL with weights",
        "# ann\nbob 1.5\n# bob\ncyd 2\n# cyd\ndan 1\neve 3\n",
        suffix=".lgl",
        ends=("refused",),
    ),
    Case("BEDPE", "chr1\t100\t200\tchr5\t5000\t5100\tp1\t9\n" * 4, suffix=".bedpe", ends=("refused",)),
    Case(
        "single quotes",
        lines("source,target")
        .replace("\n", "'\n")
        .replace(",", "','")
        .replace("\n", "\n'")[:-1]
        .replace("source','target'\n", "source,target\n"),
        ends=("refused",),
    ),
    Case(
        "STRING's web export",
        "#node1\tnode2\tcoexpression\tcombined_score\n"
        + "".join(f"{a}\t{b}\t0\t{w}\n" for (a, b), w in WEIGHTS.items()),
        suffix=".tsv",
        pairs=WEIGHTS,
    ),
    Case(
        "JSON lines",
        "".join(f'{{"source": "{a}", "target": "{b}", "weight": {w}}}\n' for (a, b), w in WEIGHTS.items()),
        suffix=".jsonl",
        pairs=WEIGHTS,
    ),
    Case(
        "JSON array of records",
        "[" + ",".join(f'{{"source": "{a}", "target": "{b}"}}' for a, b in RING) + "]",
        suffix=".json",
        pairs=ONES,
    ),
    Case(
        "JSON array of pairs",
        "[" + ",".join(f'["{a}", "{b}"]' for a, b in RING) + "]",
        suffix=".json",
        pairs=ONES,
    ),
    Case(
        "JSON of D3, ends by position",
        '{"nodes": ['
        + ",".join(f'{{"name": "{p}"}}' for p in PEOPLE)
        + '], "links": ['
        + ",".join(f'{{"source": {PEOPLE.index(a)}, "target": {PEOPLE.index(b)}}}' for a, b in RING)
        + "]}",
        suffix=".json",
        pairs=ONES,
    ),
    Case(
        "Pajek",
        '*Vertices 3\n1 "ann"\n2 "bob"\n3 "cyd"\n*Edges\n1 2 1.5\n2 3 2\n',
        suffix=".net",
        pairs={("ann", "bob"): 1.5, ("bob", "cyd"): 2.0},
    ),
    Case(
        "year is no weight",
        lines("citing,cited,year", more=["2001", "1999", "2004", "2001", "2003"]),
        ends=("said",),
    ),
    Case("edge number is no weight", lines("source,target,edge_id", more=NUMBERS), pairs=ONES),
    Case(
        "subject predicate object",
        "subject,predicate,object\nann,likes,bob\nbob,knows,cyd\n",
        pairs={("ann", "bob"): 1, ("bob", "cyd"): 1},
        ends=("said",),
    ),
    Case(
        "head relation tail",
        "head\trelation\ttail\n"
        + "".join(
            f"{a}\t{r}\t{b}\n" for (a, b), r in zip(RING, ["likes", "knows", "likes", "likes", "knows"])
        ),
        suffix=".tsv",
        pairs=ONES,
        ends=("said",),
    ),
    Case(
        "single quotes between blanks",
        "".join(f"'{a}' '{b}'\n" for a, b in RING),
        suffix=".txt",
        ends=("refused",),
    ),
    Case(
        "networkx edge list without data",
        "0 1 {}\n1 2 {}\n2 0 {}\n",
        suffix=".edgelist",
        pairs={(0, 1): 1, (1, 2): 1, (2, 0): 1},
    ),
    Case(
        "networkx edge list with data",
        "0 1 {'weight': 3}\n1 2 {'weight': 1}\n2 0 {'weight': 2}\n",
        suffix=".edgelist",
        ends=("refused",),
    ),
    Case(
        "day and month in doubt",
        "date,from,to\n01/02/2024,a,b\n02/02/2024,b,c\n03/02/2024,c,a\n",
        ends=("refused",),
    ),
    Case(
        "export of Gephi",
        "Source,Target,Type,Id,Label,Weight\n1,2,Undirected,0,,3\n2,3,Undirected,1,,4\n3,1,Undirected,2,,5\n",
        pairs={(1, 2): 3, (2, 3): 4, (3, 1): 5},
    ),
    Case(
        "triples without header",
        "ann,likes,bob\nbob,likes,cyd\ncyd,knows,ann\n",
        pairs={("ann", "bob"): 1, ("bob", "cyd"): 1, ("cyd", "ann"): 1},
        ends=("said",),
    ),
    Case(
        "columns by name",
        lines("when,person_a,person_b", edges=[("x", *e) for e in RING]),
        options={"columns": ["person_a", "person_b"]},
        pairs=ONES,
    ),
    Case("hashtags", "#ai #ml\n#ml #data\n#data #ai\n", suffix=".txt", ends=("refused",)),
    Case("hashtags after others", lines(edges=[*RING, ("#ai", "#ml")]), pairs=ONES, ends=("said",)),
    # times
    Case(
        "contacts with stamps",
        "\n".join(",".join(row) for row in [("time", "person_a", "person_b"), *CONTACTS]) + "\n",
        kind="temporal",
    ),
    Case(
        "contacts with stamps, no header",
        "\n".join(",".join(row) for row in CONTACTS) + "\n",
        kind="temporal",
    ),
    Case(
        "contacts with columns named",
        "\n".join(",".join(row) for row in [("time", "person_a", "person_b"), *CONTACTS]) + "\n",
        kind="temporal",
        options={"kind": "temporal", "columns": ["time", "person_a", "person_b"]},
    ),
    Case(
        "time in the last column",
        lines("source,target,timestamp", more=list(map(str, STAMPS))),
        kind="temporal",
        ends=("said",),
    ),
    Case(
        "Unix times are no weights",
        lines(sep=" ", more=list(map(str, STAMPS))),
        suffix=".txt",
        pairs=ONES,
        ends=("said",),
    ),
    Case(
        "click log",
        "visitor,page,ts\n" + "".join(f"{v},{p},{STAMPS[0] + k}\n" for k, (v, p) in enumerate(VISITS)),
        kind="bipartite",
        ends=("said",),
    ),
    Case(
        "users and items",
        "user_id,item_id,rating\nu1,i1,5\nu1,i2,3\nu2,i1,4\n",
        kind="bipartite",
        pairs={("u1", "i1"): 5, ("u1", "i2"): 3, ("u2", "i1"): 4},
    ),
    Case(
        "genes and diseases",
        "gene,disease\n" + "".join(f"g{k % 5},d{k % 3}\n" for k in range(15)),
        ends=("said",),
    ),
    # matrices, lists of neighbours, text
    Case(
        "adjacency matrix with names",
        ",a,b,c\na,0,1,2\nb,1,0,0\nc,2,0,0\n",
        pairs={("a", "b"): 1, ("a", "c"): 2},
    ),
    Case(
        "adjacency matrix, bare",
        "0 1 0 1\n1 0 1 0\n0 1 0 0\n1 0 0 0\n",
        suffix=".txt",
        pairs={(0, 1): 1, (0, 3): 1, (1, 2): 1},
        ends=("said",),
    ),
    Case(
        "cells and genes, counts",
        "cell,TP53,MDM2,ATM,EGFR\nc1,0,3,1,2\nc2,5,0,0,1\nc3,1,1,0,0\n",
        kind="bipartite",
        rows=["c1", "c2", "c3"],
    ),
    Case(
        "cells and genes, decimals",
        "cell,TP53,MDM2,ATM,EGFR\nc1,0.5,-3.1,1.2,2.5\nc2,5.5,0.1,0.2,1.1\nc3,1.5,1.1,0.7,0.6\n",
        kind="features",
        rows=["c1", "c2", "c3"],
    ),
    Case("coordinates", "x,y\n0.5,1.25\n2.5,3.75\n1.5,0.25\n", kind="features"),
    Case(
        "iris",
        "sepal_length,sepal_width,petal_length,petal_width,species\n5.1,3.5,1.4,0.2,setosa\n6.2,3.4,5.4,2.3,virginica\n5.9,3.0,5.1,1.8,virginica\n",
        kind="features",
        ends=("said",),
    ),
    Case(
        "adjacency list",
        "ann bob cyd\nbob ann dan eve\ncyd ann\ndan bob\neve bob\n",
        suffix=".txt",
        ends=("refused",),
    ),
    Case(
        "adjacency list, told",
        "ann bob cyd\nbob dan eve\n",
        suffix=".adjlist",
        options={"format": "adjlist"},
        pairs={("ann", "bob"): 1, ("ann", "cyd"): 1, ("bob", "dan"): 1, ("bob", "eve"): 1},
    ),
    Case("adjacency list of integers", "1 2 3\n2 4\n3 1 4 5\n", suffix=".txt", ends=("refused",)),
    Case(
        "text",
        5 * "The cat sat on the mat.\nA dog ran after the cat, and the cat ran away.\n",
        suffix=".txt",
        kind="corpus",
    ),
    Case("ragged table", "source,target\nann,bob\nbob,cyd,dan\n", ends=("refused",)),
    # formats that are not read
    Case("JSON lines of text", '{"id": 1, "text": "the cat"}\n' * 3, suffix=".txt", ends=("refused",)),
    Case(
        "JSON of something else", '{"name": "softvec", "sizes": {"a": 1}}', suffix=".json", ends=("refused",)
    ),
    Case(
        "JSON of d3",
        '{"nodes":[{"id":"a"},{"id":"b"}],"links":[{"source":"a","target":"b"}]}',
        suffix=".json",
        pairs={("a", "b"): 1},
    ),
    Case(
        "Pajek, a matrix",
        "*Vertices 3\n1 a\n2 b\n3 c\n*Matrix\n0 1 1\n1 0 0\n1 0 0\n",
        suffix=".net",
        pairs=dict.fromkeys([("a", "b"), ("b", "a"), ("a", "c"), ("c", "a")], 1),
    ),
    Case(
        "GEXF",
        '<?xml version="1.0"?><gexf version="1.3"><graph></graph></gexf>',
        suffix=".gexf",
        ends=("refused",),
    ),
    Case("HTML", "<html><body><p>Hello cats</p></body></html>", suffix=".html", ends=("refused",)),
    Case("Graphviz", "graph { ann -- bob; bob -- cyd; }\n", suffix=".dot", ends=("refused",)),
    Case("DIMACS", "c a graph\np edge 3 3\ne 1 2\ne 2 3\ne 3 1\n", suffix=".col", ends=("refused",)),
    Case("METIS of a ring", "4 4\n2 4\n1 3\n2 4\n1 3\n", suffix=".txt", ends=("refused",)),
    Case("zip of a table", ZIPPED, suffix=".zip", ends=("refused",)),
    Case("pickle", b"\x80\x04}\x94.", suffix=".pkl", ends=("refused",)),
    # other ways to write edges
    Case("arrows", 5 * "ann -> bob\nbob -> cyd\ncyd -> ann\n", suffix=".txt", ends=("refused",)),
    Case(
        "double colons of MovieLens",
        "1::1193::5::978300760\n1::661::3::978302109\n",
        suffix=".dat",
        ends=("refused",),
    ),
    Case(
        "neighbours after a colon", 5 * "ann: bob cyd\nbob: ann\ncyd: ann\n", suffix=".txt", ends=("refused",)
    ),
    Case(
        "neighbours after a colon, told",
        "ann: bob, cyd\nbob: ann\n",
        suffix=".txt",
        options={"format": "adjlist"},
        pairs={("ann", "bob"): 1, ("ann", "cyd"): 1},
    ),
    Case(
        "Cytoscape SIF",
        "ann pp bob\nbob pd cyd\ncyd pp dan\ndan pp eve\neve pd ann\n",
        suffix=".sif",
        pairs=ONES,
        ends=("said",),
    ),
    Case(
        "weight between names",
        lines(edges=[(a, w, b) for (a, b), w in zip(RING, W)], sep=" "),
        suffix=".txt",
        pairs=WEIGHTS,
    ),
    Case(
        "weight between integers",
        "1 0.5 2\n2 0.25 3\n3 0.75 1\n",
        suffix=".txt",
        pairs={(1, 2): 0.5, (2, 3): 0.25, (3, 1): 0.75},
    ),
    Case(
        "weights, sources 1 2 3",
        "1 2 0.5\n2 3 0.25\n3 1 1\n4 1 0.2\n",
        suffix=".txt",
        pairs={(1, 2): 0.5, (2, 3): 0.25, (3, 1): 1, (4, 1): 0.2},
    ),
    Case(
        "start and end of contacts",
        lines("person_a,person_b,start,end", edges=[(*e, k) for e, k in zip(RING, NUMBERS)], more=NUMBERS),
        pairs=ONES,
        ends=("right", "said"),
    ),
    Case(
        "start and end before names",
        lines(
            "start,end,person,friend",
            edges=[(k, k, a) for k, (a, _) in zip(NUMBERS, RING)],
            more=[b for _, b in RING],
        ),
        pairs=ONES,
        ends=("right", "said"),
    ),
    Case(
        "ids as pandas writes floats",
        "source,target\n1.0,2.0\n2.0,3.0\n3.0,1.0\n",
        pairs={("1.0", "2.0"): 1, ("2.0", "3.0"): 1, ("3.0", "1.0"): 1},
        ends=("said",),
    ),
    Case(
        "ids with exponents, header",
        "source,target\n1e5,2e5\n2e5,3e5\n3e5,1e5\n",
        pairs={("1e5", "2e5"): 1, ("2e5", "3e5"): 1, ("3e5", "1e5"): 1},
        ends=("said",),
    ),
    Case("header again in the middle", lines("source,target,weight", more=W) * 2, ends=("refused",)),
    Case("comments of C", "// friends of mine\n" + lines(sep=" "), suffix=".txt", ends=("refused",)),
    Case("UTF-16 without a mark", lines("source,target").encode("utf-16-le"), ends=("refused",)),
    Case(
        "KONECT, bipartite",
        "% bip weighted\n1 1 5 1000000000\n1 2 3 1000000100\n2 1 4 1000000200\n",
        suffix=".tsv",
        kind="bipartite",
        pairs={(1, 1): 5, (1, 2): 3, (2, 1): 4},
    ),
    Case(
        "ratings without a header",
        "196\t242\t3\t881250949\n186\t302\t3\t891717742\n22\t377\t1\t878887116\n",
        suffix=".data",
        ends=("said",),
    ),
    Case(
        "true or false is no weight",
        "user,item,liked\nu1,i1,TRUE\nu2,i1,FALSE\nu1,i2,TRUE\n",
        kind="bipartite",
        pairs={("u1", "i1"): 1, ("u2", "i1"): 1, ("u1", "i2"): 1},
        ends=("said",),
    ),
    Case(
        "dates with points",
        lines(
            "Datum;Person1;Person2",
            sep=";",
            edges=[(f"1{k}.02.2024", a) for k, (a, _) in enumerate(RING)],
            more=[b for _, b in RING],
        ),
        pairs=ONES,
        ends=("said",),
    ),
    # tables whose rows are items
    Case(
        "features and a class in numbers",
        "x1,x2,class\n0.5,1.2,0\n0.6,1.1,0\n5.5,0.2,1\n5.1,0.1,1\n",
        kind="features",
        ends=("said",),
    ),
    Case(
        "ids, features and labels",
        "id,x1,x2,label\np1,0.5,1.2,A\np2,0.6,1.1,A\np3,5.5,0.2,B\np4,5.1,0.1,B\n",
        kind="features",
        rows=["p1", "p2", "p3", "p4"],
        ends=("said",),
    ),
    Case(
        "features, one of them whole",
        "id,x1,x2,x3\np1,0.5,1,3.3\np2,0.6,1,2.2\np3,5.5,1,1.3\n",
        kind="features",
        rows=["p1", "p2", "p3"],
    ),
    Case(
        "features, some missing",
        "id,x1,x2,x3\np1,0.5,NA,3.3\np2,0.6,1.1,NA\np3,5.5,0.2,1.3\n",
        ends=("refused",),
    ),
    Case(
        "counts of three samples",
        "gene\tS1\tS2\tS3\ng1\t105\t0\t98\ng2\t0\t3\t4\ng3\t7\t0\t1\n",
        suffix=".tsv",
        kind="bipartite",
        rows=["g1", "g2", "g3"],
    ),
    # square matrices
    Case(
        "matrix with a word in the corner",
        "city,Rome,Oslo,Bonn\nRome,0,1,2\nOslo,1,0,9\nBonn,2,9,0\n",
        pairs={("Rome", "Oslo"): 1, ("Rome", "Bonn"): 2, ("Oslo", "Bonn"): 9},
    ),
    Case("matrix with integer names", "id,1,2,3\n1,0,1,0\n2,1,0,2\n3,0,2,0\n", pairs={(1, 2): 1, (2, 3): 2}),
    Case(
        "matrix with rows in another order",
        ",a,b,c\nc,2,9,0\na,0,1,2\nb,1,0,9\n",
        pairs={("a", "b"): 1, ("a", "c"): 2, ("b", "c"): 9},
        rows=["c", "a", "b"],
    ),
    Case("matrix with empty cells", ",a,b,c\na,0,1,2\nb,,0,3\nc,,,0\n", ends=("refused",)),
    Case("matrix with names, large", LARGE, rows=[f"n{k}" for k in range(200)]),
]


def _pandas():
    import pandas as pd

    return pd


def _polars():
    import polars as pl

    return pl


def _long(columns):
    return lambda: _pandas().DataFrame(columns)


SOURCE, TARGET = [a for a, _ in RING], [b for _, b in RING]
VALUES = np.random.default_rng(0).standard_normal((8, 6))
COUNTS = np.random.default_rng(0).integers(0, 4, (8, 6))
CELLS = [f"cell{k}" for k in range(8)]
MARKERS = [f"m{k}" for k in range(6)]


def _nx(attribute):
    import networkx as nx

    graph = nx.Graph()
    graph.add_edges_from((a, b, {attribute: w}) for (a, b), w in WEIGHTS.items())
    return graph


def _ig(attribute):
    import igraph

    graph = igraph.Graph(edges=[(PEOPLE.index(a), PEOPLE.index(b)) for a, b in WEIGHTS])
    graph.vs["name"] = PEOPLE
    graph.es[attribute] = list(WEIGHTS.values())
    return graph


class Cells:
    """What an AnnData offers."""

    def __init__(self, graph=False):
        self.X, self.obs_names, self.var_names = VALUES, CELLS, MARKERS
        near = sparse.csr_matrix(np.eye(8, k=1) + np.eye(8, k=-1))
        self.obsp = {"connectivities": near} if graph else {}


def _index(frame, *names):
    return frame.set_index(list(names))


LABELLED = {"id": list("abcd"), "x": [0.1, 0.2, 0.3, 0.5], "y": [1.5, 2, 3, 4], "label": list("AABB")}


def _nanoseconds():
    times = np.datetime64("2024-01-01T09:00", "ns") + np.arange(5)
    return _pandas().DataFrame({"time": times, "source": SOURCE, "target": TARGET})


def _none_weight():
    graph = _nx("weight")
    graph.edges["ann", "bob"]["weight"] = None
    return graph


OBJECTS = [
    Case("frame, known names", _long({"source": SOURCE, "target": TARGET}), pairs=ONES),
    Case("frame, pair names", _long({"person_a": SOURCE, "person_b": TARGET}), pairs=ONES),
    Case(
        "frame, index column",
        _long(
            {
                "Unnamed: 0": range(5),
                "protein1": SOURCE,
                "protein2": TARGET,
                "combined_score": list(WEIGHTS.values()),
            }
        ),
        pairs=WEIGHTS,
    ),
    Case(
        "frame, weight chosen",
        _long({"source": SOURCE, "target": TARGET, "cost": range(5), "flow": list(WEIGHTS.values())}),
        options={"weight": "flow"},
        pairs=WEIGHTS,
    ),
    Case(
        "frame, two numbers",
        _long({"source": SOURCE, "target": TARGET, "x": [1.5] * 5, "y": [2.5] * 5}),
        pairs=ONES,
        ends=("said",),
    ),
    Case("frame, weights as text", _long({"source": SOURCE, "target": TARGET, "weight": W}), pairs=WEIGHTS),
    Case(
        "frame, missing weight",
        _long({"source": SOURCE, "target": TARGET, "weight": [1.0, None, 2, 3, 4]}),
        ends=("refused",),
    ),
    Case("frame, missing name", _long({"source": [None, *SOURCE[1:]], "target": TARGET}), ends=("refused",)),
    Case(
        "frame, filtered",
        lambda: _long({"source": SOURCE, "target": TARGET})().iloc[::2],
        pairs=dict.fromkeys(RING[::2], 1.0),
    ),
    Case(
        "frame, source as index",
        lambda: _index(
            _long({"source": SOURCE, "target": TARGET, "weight": list(WEIGHTS.values())})(), "source"
        ),
        pairs=WEIGHTS,
    ),
    Case(
        "frame, MultiIndex",
        lambda: _index(
            _long({"source": SOURCE, "target": TARGET, "weight": list(WEIGHTS.values())})(),
            "source",
            "target",
        ),
        pairs=WEIGHTS,
    ),
    Case(
        "series, MultiIndex",
        lambda: _index(
            _long({"source": SOURCE, "target": TARGET, "weight": list(WEIGHTS.values())})(),
            "source",
            "target",
        )["weight"],
        pairs=WEIGHTS,
    ),
    Case(
        "frame, categories",
        lambda: _long({"source": SOURCE, "target": TARGET})().astype("category"),
        pairs=ONES,
    ),
    Case(
        "frame, dates",
        lambda: _pandas().DataFrame(
            {
                "when": _pandas().to_datetime([t for t, _, _ in CONTACTS]),
                "person_a": [a for _, a, _ in CONTACTS],
                "person_b": [b for _, _, b in CONTACTS],
            }
        ),
        kind="temporal",
    ),
    Case(
        "frame, click log",
        _long({"visitor": [v for v, _ in VISITS], "page": [p for _, p in VISITS], "ts": range(15)}),
        kind="bipartite",
        ends=("said",),
    ),
    Case(
        "frame, wide decimals",
        lambda: _pandas().DataFrame(VALUES, index=CELLS, columns=MARKERS),
        kind="features",
        rows=CELLS,
    ),
    Case(
        "frame, wide, kind features",
        lambda: _pandas().DataFrame(VALUES, index=CELLS, columns=MARKERS),
        kind="features",
        rows=CELLS,
        options={"kind": "features"},
    ),
    Case(
        "frame, wide counts",
        lambda: _pandas().DataFrame(COUNTS, index=CELLS, columns=MARKERS),
        kind="bipartite",
        rows=CELLS,
    ),
    Case(
        "frame, wide, kind bipartite",
        lambda: _pandas().DataFrame(COUNTS, index=CELLS, columns=MARKERS),
        kind="bipartite",
        rows=CELLS,
        options={"kind": "bipartite"},
        pairs={
            (CELLS[i], MARKERS[j]): float(COUNTS[i, j]) for i in range(8) for j in range(6) if COUNTS[i, j]
        },
    ),
    Case(
        "frame, wide, sparse",
        lambda: _pandas().DataFrame.sparse.from_spmatrix(
            sparse.csr_matrix(COUNTS), index=CELLS, columns=MARKERS
        ),
        kind="bipartite",
        rows=CELLS,
    ),
    Case(
        "frame, crosstab",
        lambda: _pandas().crosstab(
            _pandas().Series([v for v, _ in VISITS], name="visitor"),
            _pandas().Series([p for _, p in VISITS], name="page"),
        ),
        kind="bipartite",
        rows=[f"v{k}" for k in range(5)],
    ),
    Case(
        "frame, square by name",
        lambda: _pandas().DataFrame(np.ones((3, 3)) - np.eye(3), list("abc"), list("abc")),
        pairs={("a", "b"): 1, ("a", "c"): 1, ("b", "c"): 1},
    ),
    Case(
        "frame, square features",
        lambda: _pandas().DataFrame(VALUES[:6], index=CELLS[:6], columns=MARKERS),
        kind="features",
        rows=CELLS[:6],
    ),
    Case(
        "frame, iris",
        _long({"length": [5.1, 6.2, 5.9], "width": [3.5, 3.4, 3.0], "species": ["a", "b", "b"]}),
        kind="features",
        ends=("said",),
    ),
    Case(
        "polars, wide with names",
        lambda: _polars().DataFrame({"cell": CELLS} | {m: VALUES[:, j] for j, m in enumerate(MARKERS)}),
        kind="features",
        rows=CELLS,
    ),
    Case(
        "polars, long",
        lambda: _polars().DataFrame(
            {"protein1": SOURCE, "protein2": TARGET, "score": list(WEIGHTS.values())}
        ),
        pairs=WEIGHTS,
    ),
    Case("networkx, weight", lambda: _nx("weight"), pairs=WEIGHTS),
    Case("networkx, flow unnamed", lambda: _nx("flow"), pairs=ONES, ends=("said",)),
    Case("networkx, flow named", lambda: _nx("flow"), options={"weight": "flow"}, pairs=WEIGHTS),
    Case("networkx, weighted='flow'", lambda: _nx("flow"), options={"weighted": "flow"}, ends=("refused",)),
    Case("networkx, unknown attribute", lambda: _nx("flow"), options={"weight": "flux"}, ends=("refused",)),
    Case("igraph, weight", lambda: _ig("weight"), pairs=WEIGHTS),
    Case("igraph, flow unnamed", lambda: _ig("flow"), pairs=ONES, ends=("said",)),
    Case("igraph, flow named", lambda: _ig("flow"), options={"weight": "flow"}, pairs=WEIGHTS),
    Case("AnnData, features", lambda: Cells(), kind="features", rows=CELLS, ends=("said",)),
    Case("AnnData, neighbours", lambda: Cells(graph=True), rows=CELLS, ends=("said",)),
    Case(
        "AnnData, told", lambda: Cells(graph=True), kind="features", rows=CELLS, options={"kind": "features"}
    ),
    Case("array, decimals", lambda: VALUES, kind="features"),
    Case("array, counts", lambda: COUNTS, kind="bipartite"),
    Case("tuples", lambda: [(a, b, w) for (a, b), w in WEIGHTS.items()], pairs=WEIGHTS),
    Case("mapping of pairs", lambda: dict(WEIGHTS), pairs=WEIGHTS),
    Case("mapping of names", lambda: {"ann": "bob", "cyd": "dan"}, ends=("refused",)),
    Case("matrix of keys", lambda: sparse.dok_array(np.array([[0, 3.0], [3.0, 0]])), pairs={(0, 1): 3}),
    Case(
        "edge_index", lambda: np.array([[0, 1, 2, 3, 0], [1, 2, 3, 4, 4]]), kind="bipartite", ends=("said",)
    ),
    Case("half of a matrix", lambda: sparse.triu(sparse.coo_array(np.ones((4, 4))), 1), ends=("said",)),
    Case("distances", lambda: abs(np.arange(6.0)[:, None] - np.arange(6.0)), ends=("refused",)),
    Case("times of nanoseconds", lambda: _nanoseconds(), kind="temporal", ends=("said",)),
    Case("times beyond 64 bits", _long({"time": [0, 1e30], "i": [1, 2], "j": [2, 3]}), ends=("refused",)),
    Case(
        "pairs of decimals",
        lambda: [(1.0, 2.0), (2.0, 3.0), (3.0, 1.0)],
        pairs={(1.0, 2.0): 1, (2.0, 3.0): 1, (3.0, 1.0): 1},
        ends=("said",),
    ),
    Case("pair without an end", lambda: [*RING, ("eve", None)], ends=("refused",)),
    Case(
        "pairs, some without an end",
        lambda: [*RING, ("eve", None), (float("nan"), "ann")],
        options={"missing": "drop"},
        pairs=ONES,
    ),
    Case(
        "distances, sparse, of points that stand twice",
        lambda: sparse.csr_matrix(abs(np.arange(24)[:, None] // 2 - np.arange(24) // 2).astype(float)),
        ends=("refused",),
    ),
    Case(
        "affinities without a diagonal",
        lambda: 1.0 / (1 + abs(np.arange(6.0)[:, None] - np.arange(6.0))) ** 3 - np.eye(6),
        rows=list(range(6)),
    ),
    Case(
        "frame, true and false",
        lambda: _pandas().DataFrame({"cat": [True, False], "dog": [True, True]}, index=["d1", "d2"]),
        kind="bipartite",
        pairs={("d1", "cat"): 1, ("d1", "dog"): 1, ("d2", "dog"): 1},
    ),
    Case(
        "frame, crosstab of two by two",
        lambda: _pandas().crosstab(
            _pandas().Series(["u1", "u1", "u2"], name="user"),
            _pandas().Series(["i1", "i2", "i1"], name="item"),
        ),
        kind="bipartite",
        pairs={("u1", "i1"): 1, ("u1", "i2"): 1, ("u2", "i1"): 1},
    ),
    Case(
        "frame, ids and labels",
        lambda: _pandas().DataFrame(LABELLED),
        kind="features",
        rows=list("abcd"),
        ends=("said",),
    ),
    Case("networkx, weight None", lambda: _none_weight(), ends=("refused",)),
    Case("words of sentences", lambda: [["the", "cat", "sat"], ["a", "dog", "sat"]], ends=("refused",)),
]

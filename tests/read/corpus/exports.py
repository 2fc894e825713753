"""Exports of well-known programs, and layouts that only look like a table or a text."""

from __future__ import annotations

from cases import ONES, PEOPLE, RING, WEIGHTS, Case, W, lines

SAID, REFUSED = ("said",), ("refused",)
TWENTY = [(k % 7, (3 * k + 1) % 11) for k in range(20)]
SENTENCE = "the quick brown fox jumps over the lazy dog"


def _each(form, edges=TWENTY):
    return "".join(form.format(a, b, k=k) + "\n" for k, (a, b) in enumerate(edges))


def _matrix(top=True, side=True, sep=","):
    """The adjacency matrix of the ring, with names on top, at the side, or both."""
    near = {frozenset(edge) for edge in RING}
    rows = [
        sep.join([*([a] if side else []), *("01"[frozenset((a, b)) in near] for b in PEOPLE)]) for a in PEOPLE
    ]
    return "\n".join([*([sep * side + sep.join(PEOPLE)] if top else []), *rows]) + "\n"


def _quoted(line):
    return " ".join(f'"{word}"' if word[0].isalpha() else word for word in line.split(" "))


R_ROWS = [f'"{k + 1}" {_quoted(" ".join([*edge, W[k]]))}' for k, edge in enumerate(RING)]
EXPORTS = [
    Case("R, write.table", "\n".join(['"from" "to" "w"', *R_ROWS]) + "\n", pairs=WEIGHTS, suffix=".txt"),
    Case(
        "R, write.table of a matrix",
        "\n".join(map(_quoted, _matrix(sep=" ").strip().split("\n"))) + "\n",
        pairs=ONES,
        suffix=".txt",
    ),
    Case("matrix between semicolons", _matrix(sep=";"), pairs=ONES),
    Case("matrix with names on top", _matrix(side=False), pairs=ONES, ends=SAID),
    Case("matrix with names at the side", _matrix(top=False), pairs=ONES, ends=SAID),
    Case(
        "line ends within quotes",
        "from,to,weight\n" + "".join(f'"{a}\nX","{b}\nX",{w}\n' for (a, b), w in zip(RING, W)),
        pairs={(f"{a}\nX", f"{b}\nX"): w for (a, b), w in WEIGHTS.items()},
    ),
    Case("networkx, edges without data", _each("{} {} {{}}", RING), pairs=ONES, suffix=".txt"),
    Case("networkx, edges with data", _each("{} {} {{'weight': {k}}}"), suffix=".txt", ends=REFUSED),
    Case("MovieLens, films", _each("{}::Film {} (1990)::Comedy|Drama"), suffix=".dat", ends=REFUSED),
    Case("LibSVM", _each("+1 1:{} 9:{}"), suffix=".txt", ends=REFUSED),
    Case("N-Triples", _each("<http://x/{}> <http://x/knows> <http://x/{}> ."), suffix=".nt", ends=REFUSED),
    Case("subtitles", _each("{k}\n00:00:01,000 --> 00:00:02,000\n{} {}\n"), suffix=".srt", ends=REFUSED),
    Case("tuples", _each("({}, {})"), suffix=".txt", ends=REFUSED),
    Case("lists of lists", "[[0, 1], [1, 2]]\n", suffix=".txt", pairs={(0, 1): 1, (1, 2): 1}),
    Case("quotes after a backslash", 'from,to\n"a \\"x\\" y",b\n"b",c\n"c",d\n', ends=REFUSED),
    Case(
        "gene annotations below comments with !",
        "!gaf-version: 2.2\n" + _each("DB\tP{}\tG\tin\tGO:{}\tPMID"),
        suffix=".gaf",
        ends=REFUSED,
    ),
    Case("SQL table", "+--+--+\n| a | b |\n+--+--+\n" + _each("| {} | {} |"), suffix=".txt", ends=REFUSED),
    Case("sets of numbers", "1,12,3\n4,5\n2,3,9,4\n" * 5, suffix=".txt", ends=REFUSED),
    Case("CoNLL-2003", _each("w{} N{} B-NP O"), "corpus", suffix=".txt", ends=SAID),
    Case("gene sets", "".join(f"S{k}\thttp://x" + "\tG1" * (k + 6) + "\n" for k in range(12)), "graph",
         suffix=".gmt", ends=("right",)),
    Case("BioGRID", _each("1{k:03}\t64{:02}\t64{:02}\t112\t113\t-\tA\tB"), suffix=".txt", ends=SAID),
    Case("numbered lines", _each("1{k:03},{},{}"), ends=SAID),
    Case("Unix times first, two kinds", _each("13859820{k:02} 4{} 9{}"), suffix=".dat", ends=SAID),
    Case("years without a header", _each("p{} p{} 19{k:02}"), suffix=".txt", ends=SAID),
    Case("plays without a header", _each("user{}\tb{}\tname of band\t{k}7"), suffix=".tsv", ends=SAID),
    Case("ids of two kinds", "gene_id,drug_id,score\n" + _each("{},{},0.5"), ends=SAID),
    Case("users and artists", "userID\tartistID\tweight\n" + _each("{}\t{}\t5"), suffix=".tsv", ends=SAID),
    Case("sentences and labels", "label\ttext\n" + _each("{}\t{} " + SENTENCE), suffix=".tsv", ends=SAID),
    Case("007 and 7", "from,to\n" + _each("00{},{}"), ends=SAID),
    Case("numbers of nodes and edges first", "11 20\n" + _each("{} {}"), suffix=".txt", ends=SAID),
    Case("numpy.savetxt of edges", _each("{}.000e+00 {}.000e+00 1.000e+00"), suffix=".txt", ends=SAID),
    Case("walks", "".join(f"{k % 7} {k % 5} 3 4 {k % 3} 5 6 {k % 4}\n" for k in range(30)), suffix=".txt",
         ends=SAID),
    Case("total in a matrix", ",a,b,c,Total\na,0,1,2,3\nb,1,0,4,5\nc,2,4,0,6\nTotal,3,5,6,14\n", ends=SAID),
    Case("OpenFlights", _each("2B,\\N,A{},\\N,K{},7,,0,CR2"), suffix=".dat", ends=SAID),
    Case("two weights", "from,to,weight,count\n" + _each("p{},p{},2,{k}5"), ends=SAID),
    Case("zones", "from,to,time\n" + _each("p{},p{},2020-01-01T09:{k:02}:00+01:00"), ends=SAID),
    Case("header again", "from,to\n" + lines(edges=RING) + "from,to\n", ends=SAID),
    Case("Gephi, directed", lines("Source,Target,Type", more=["Directed"] * 5), pairs=ONES, ends=SAID),
    Case("SNAP, directed", "# Directed graph: x\n" + lines(sep="\t"), pairs=ONES, suffix=".txt", ends=SAID),
    Case("KONECT, asym", "% asym unweighted\n" + lines(sep=" "), pairs=ONES, suffix=".out", ends=SAID),
    Case("Neo4j", lines(":START_ID(P),:END_ID(P),:TYPE", more=["KNOWS"] * 5), pairs=ONES),
]  # fmt: skip

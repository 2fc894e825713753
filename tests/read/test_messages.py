"""What is said about files that cannot be read, or not for certain: the cause, and what to type."""

import pytest

from softvec.affinity import as_affinity
from softvec.cli import run
from softvec.core.errors import InputError


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", '{"p": "x", "q": 1}\n{"p": "y", "q": 2}\n', "records of p, q; name the ends .* columns="),
        ("a.json", '{"nodes": [], "links": []}', "holds no records"),
        ("a.lgl", "# a\nb\nc\n# b\nc\n", "LGL file.*Read_Lgl"),
        ("a.lgl", "# a\nb 1e-05\n# b\nc 2\n# c\n", "LGL file.*Read_Lgl"),
        ("a.bedpe", "chr1\t1\t9\tchr2\t5\t9\n", "BEDPE file"),
        ("a.bed", "chr1\t10\t20\nchr1\t15\t30\n", "BED or BEDPE file"),
        ("a.csv", "source,target\n'a','b'\n'b','c'\n'c','a'\n", "names are in single quotes"),
        ("a.csv", "source,target,distance\na,b,1\nb,c,3\n", "exp.-distance.*weight='distance'"),
        ("a.metis", "3 3\n2 3\n1 3\n1 2\n", "METIS"),
        ("a.gr", "c road\np sp 2 1\na 1 2 8\n", "DIMACS"),
        ("a.zip", b"PK\x03\x04" + bytes(22) + b"\x05\x00\x00\x00e.csv", "holds 'e.csv'; unpack it"),
        (
            "a.xlsx",
            b"PK\x03\x04" + bytes(22) + b"\x13\x00\x00\x00[Content_Types].xml",
            "save the sheet as CSV",
        ),
        ("a.pkl", b"\x80\x04}.", "pickle"),
        ("a.txt", "a -> b\nb -> c\n", "separated by '->'"),
        ("a.dat", "1::2::5\n1::3::4\n", "separated by '::'"),
        ("a.txt", "// mine\na b\nb c\n", "looks like a comment; .* comment='/'"),
        (
            "a.csv",
            "source,target\na,b\n,\n",
            "line 3: the source is missing; .*missing='drop'",
        ),
        (
            "a.csv",
            "time,person_a,person_b\n2024-01-01,a,b\n2024-01-02,b,c\n3/1/2024,c,a\n",
            "holds '3/1/2024'; expected",
        ),
        ("a.csv", "time,person_a,person_b\n10:15,a,b\n10:20,b,c\n", "times of day"),
        ("a.txt", "one two three\nfour\n", "is read as text: no word occurs 5 times.*kind="),
    ],
)
def test_a_refusal_says_what_and_what_to_do(tmp_path, name, text, said):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=said) as caught:
        as_affinity(path)
    assert "\n" not in str(caught.value)


def test_foreign_files_can_still_be_read_as_text(tmp_path):
    (tmp_path / "page.html").write_text("<html> " + 9 * "the cat sat on the mat " + "</html>")
    assert as_affinity(tmp_path / "page.html", kind="corpus").kind == "corpus"
    (tmp_path / "ring.graph").write_text("1 2\n2 3\n3 1\n")
    with pytest.raises(InputError, match="format='text'"):
        as_affinity(tmp_path / "ring.graph")
    assert as_affinity(tmp_path / "ring.graph", format="text").rows.to_list() == [1, 2, 3]


def test_info_shows_edges_of_integers_as_a_graph(tmp_path, capsys):
    path = tmp_path / "edges.csv"
    path.write_text("source,target\n1,2\n2,4\n4,1\n")
    assert run(["info", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "3 nodes, 3 edges" in shown
    assert "1, 2, 4\n" in shown  # all names: no dots

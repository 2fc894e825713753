"""Flags: made from the settings of a fit, shown with their defaults, and written in errors and warnings."""

import dataclasses
import json
import pickle
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
import typer

import softvec
from softvec.cli import embed
from softvec.cli.app import app
from softvec.cli.flags import Command, callback_of, flag_writer
from softvec.core.errors import GuessWarning, InputError, Message, Option, guess
from softvec.embedding import Embedding
from softvec.fit.settings import OPTIONS, Flag

COMMANDS = typer.main.get_command(app).commands


pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def call(run_command):
    return run_command


def test_a_message_keeps_its_options_through_composition():
    remedy = Message("pass ", Option("negative", "drop"), " or name ", Option("columns", ...))
    error = InputError("e.txt: ", remedy)
    assert str(error) == "e.txt: pass negative='drop' or name columns="
    assert error.message.options == (Option("negative", "drop"), Option("columns", ...))
    again = pickle.loads(pickle.dumps(InputError.of("beta", -1, "a number above 0")))
    assert str(again) == "beta is -1; expected a number above 0"


def test_braces_and_equals_signs_of_data_stay_as_they_are():
    text = "{0}: kind='graph' %s header=False"
    assert InputError(text).message.render(lambda option: "WRONG") == text


def test_a_guess_is_a_warning_with_fields():
    with pytest.warns(GuessWarning, match="line 1 is data; header=True if not") as caught:
        guess("line 1 is data; ", Option("header", True), " if not")
    assert caught[0].message.message.options == (Option("header", True),)


@pytest.mark.parametrize(
    ("command", "option", "typed"),
    [
        ("embed", Option("negative", "drop"), "--set negative=drop"),
        ("embed", Option("comment", None), "--set comment=null"),
        ("embed", Option("mutual", True), "--set mutual=true"),
        ("embed", Option("n_neighbors", 1), "--set n_neighbors=1"),
        ("embed", Option("encoding", ...), "--set encoding=..."),
        ("embed", Option("header", False), "--no-header"),
        ("embed", Option("header", True), "--header"),
        ("embed", Option("weighted", False), "--unweighted"),
        ("embed", Option("check_memory", False), "--force"),
        ("embed", Option("symmetric", False), "--two-sided"),
        ("embed", Option("n_components"), "--dim"),
        ("embed", Option("n_epochs", 20), "--epochs 20"),
        ("embed", Option("format", "adjlist"), "--input-format adjlist"),
        ("embed", Option("kind", "bipartite"), "--kind bipartite"),
        ("embed", Option("weight", ...), "--weight"),
        ("add", Option("isolated", "drop"), "--isolated drop"),
        ("links", Option("exclude", ...), "--graph"),
        ("convert", Option("side", "context"), "--side context"),
        ("neighbors", Option("negative", "drop"), "negative='drop'"),
        ("epidemic", Option("everyone", False), "--active-only"),
    ],
)
def test_options_are_written_as_the_command_takes_them(command, option, typed):
    assert flag_writer(COMMANDS[command].params)(option) == typed


def test_what_is_typed_for_a_remedy_is_understood(call, folder):
    (folder / "negative.txt").write_text("a b 1\nb c -2.5\nc a 1\n")
    line = call("embed", "negative.txt", code=2).err
    typed = line.split("pass ")[1].split(" or ")[0]
    assert typed == "--set negative=drop"
    call("embed", "negative.txt", *typed.split(), "-d", 2, "-q")


def test_warnings_name_flags(call, folder):
    pairs = "".join(f"g{i}x,h{i % 7}y\n" for i in range(40))
    (folder / "g.csv").write_text("alpha_gene,some_place\n" + pairs)
    assert "--kind bipartite" in call("embed", "g.csv", "-d", 2).err


def test_every_setting_with_a_flag_is_a_flag_of_embed():
    parameters = {parameter.name: parameter for parameter in COMMANDS["embed"].params}
    flagged = [setting for setting in OPTIONS if setting.metadata["flag"]]
    assert {"n_components", "n_epochs", "beta", "view", "checkpoint"} <= {setting.name for setting in flagged}
    for setting in flagged:
        flag = setting.metadata["flag"]
        assert parameters[setting.name].opts == flag.names.split()
        assert parameters[setting.name].help == flag.help


def test_a_new_setting_is_a_flag_without_more_code():
    told = {"flag": Flag("--patience", "Epochs without progress (default: 3).")}
    new = dataclasses.make_dataclass(
        "New", [("patience", "int", dataclasses.field(default=3, metadata=told))]
    )
    Flags = dataclasses.make_dataclass(
        "Flags", [embed._flag(dataclasses.fields(new)[0])], frozen=True, kw_only=True
    )
    given = []

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Fitting(Flags, Command):
        source: str

        def run(self) -> None:
            given.append(self.patience)

    app = typer.Typer()
    app.command()(callback_of(Fitting))
    app(["data", "--patience", "5"], standalone_mode=False)
    assert given == [5]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_default_is_shown(name):
    for parameter in COMMANDS[name].params:
        if parameter.param_type_name != "option" or parameter.name == "help":
            continue
        switch = parameter.is_flag and not parameter.secondary_opts
        text = parameter.help or ""
        assert text, f"{parameter.opts} of {name} has no help"
        told = parameter.required or parameter.default is not None or "(default: " in text
        assert switch or told, parameter.opts
        assert switch or parameter.default is None or "(default: " not in text, f"{parameter.opts}: twice"


def test_help_needs_no_numpy():
    code = (
        "import sys; from softvec.cli import run; run(['embed', '--help']); "
        "sys.exit(any(name in sys.modules for name in ('numpy', 'scipy', 'numba')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0


def write_graph(path, degree, n=60):
    graph = nx.random_regular_graph(degree, n, seed=1)
    path.write_text("".join(f"{a} {b}\n" for a, b in graph.edges))
    return graph


@pytest.mark.parametrize("more", [(), ("--two-sided",)])
def test_embed_prints_the_exact_loss(call, folder, more):
    (folder / "e.txt").write_text("".join(f"{i} {(3 * i + 1) % 50}\n" for i in range(50)))
    words = ("embed", "e.txt", "-d", 8, "--seed", 1, *more)
    err = call(*words).err.splitlines()
    record = Embedding.load("e.svec").provenance
    diagnosis = record["diagnosis"]
    result = json.loads(call(*words, "--json").out)
    assert (result["loss"], result["loss_rows"]) == (diagnosis["exact_loss"], diagnosis["n_rows"])
    assert result["approximated_loss"] == record["history"]["loss"][-1]
    assert err[-1] == f"exact loss {diagnosis['exact_loss']:.4f} ({diagnosis['n_rows']} rows)"


def test_views_that_do_not_minimise_their_loss_are_named(call, folder):
    graph = nx.barabasi_albert_graph(1000, 12, seed=1)
    (folder / "e.txt").write_text("".join(f"{a} {b}\n" for a, b in graph.edges))
    words = ("embed", "e.txt", "-d", 64, "--seed", 0, "-o", "e.svec")
    err = call(*words).err.splitlines()
    views = Embedding.load("e.svec").provenance["diagnosis"]["views"]
    losses = {name: view["exact_loss"] for name, view in views.items()}
    assert max(losses["hubs"], losses["walk"]) < np.log(1000) < losses["pairs"]
    shown = ", ".join(f"{name} {loss:.2f}" for name, loss in losses.items())
    assert err[-2] == f"exact loss of the views: {shown}"
    assert err[-1].startswith("view pairs does not minimise its loss (equal probabilities: 6.91)")
    assert "minimise" not in call(*words, "--quiet").err


@pytest.mark.parametrize(
    ("degree", "more", "view"),
    [
        (4, (), "walk (the end of an edge has 4.0 neighbours on average, fewer than 20)"),
        (20, (), "fused (the end of an edge has 20.0 neighbours on average, at least 20)"),
        (20, ("--view", "walk"), "walk (asked for)"),
        (20, ("-w", "2"), "walk (asked for)"),
        (20, ("--view", "auto", "-w", "2"), "walk (asked for)"),
        (4, ("--view", "fused"), "fused (asked for)"),
        (20, ("--beta", "4"), "walk (fused views have settings of their own; leave out beta)"),
    ],
)
def test_info_says_which_view_and_why(call, folder, degree, more, view):
    write_graph(folder / "e.txt", degree)
    call("embed", "e.txt", "-d", 8, "-q", *more)
    known = json.loads(call("info", "e.svec", "--json").out)
    assert known["view"] == view


def test_a_walk_length_with_automatic_views_is_one_walk_in_the_library_too():
    graph = nx.random_regular_graph(20, 60, seed=1)
    told = softvec.embed(graph, 8, walk_length=2, view="auto", random_state=0)
    plain = softvec.embed(graph, 8, walk_length=2, random_state=0)
    np.testing.assert_array_equal(told.vectors, plain.vectors)
    assert told.provenance["parameters"]["view"] == "walk"


def test_an_unknown_name_in_a_list_does_not_stop_the_rest(call, folder, monkeypatch):
    Embedding(np.random.default_rng(0).standard_normal((4, 3)), ["ann", "bob", "cyd", "dan"]).save("v.svec")
    names = folder / "names.txt"
    names.write_text("ann\nbobb\nnobody\ndan\n")
    with names.open() as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", stream)
        printed = call("neighbors", "v.svec", "-", "-n", 2)
    assert [line.split("\t")[0] for line in printed.out.splitlines()] == ["ann", "ann", "dan", "dan"]
    notes = printed.err.splitlines()
    assert len(notes) == 2
    assert "'bobb'" in notes[0]
    assert "did you mean 'bob'" in notes[0]
    assert "'nobody'" in notes[1]
    names.write_text("nobody\nnemo\n")
    with names.open() as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", stream)
        assert "'nobody'" in call("neighbors", "v.svec", "-", code=2).err
    assert call("neighbors", "v.svec", "ann", "nobody", code=2).out == ""


def test_normalisers_are_measured_against_the_exact_sum(call):
    from softvec.normalizers import GaussianMixture

    V = np.random.default_rng(0).standard_normal((300, 6)) / 3
    Embedding(V).save("v.svec")
    record = json.loads(call("normalizer", "v.svec", "--rows", 300, "--json").out)
    Y = Embedding.load("v.svec").vectors
    exact = np.log(np.exp(Y.astype(float) @ Y.astype(float).T).sum(axis=1))
    rows = {row["method"]: row for row in record["methods"]}
    for k in (1, 5):
        log_z = GaussianMixture(k, beta=1.0, random_state=0).fit(Y).log_partition(Y)
        error, row = np.abs(log_z - exact), rows[f"GaussianMixture({k})"]
        assert row["median_error"] == pytest.approx(np.median(error), rel=1e-3, abs=1e-6)
        assert row["p95_error"] == pytest.approx(np.quantile(error, 0.95), rel=1e-3, abs=1e-6)
    assert record["meets_error"]
    assert rows[record["chosen"]]["p95_error"] <= 0.01


@pytest.mark.parametrize(("typed", "value"), [("True", True), ("False", False), ("None", None), ("no", "no")])
def test_set_takes_constants_as_python_writes_them(typed, value):
    from softvec.cli.flags import parse_settings

    assert parse_settings([f"symmetric={typed}"]) == {"symmetric": value}


def test_links_take_the_options_that_their_notes_name(call, folder):
    write_graph(folder / "e.txt", 6)
    call("embed", "e.txt", "-d", 4, "--seed", 0, "-q")
    lines = (folder / "e.txt").read_text().splitlines()
    (folder / "w.csv").write_text(
        "source,target,a,b\n" + "".join(f"{line},1.5,2.5\n".replace(" ", ",") for line in lines)
    )
    words = ("links", "e.svec", "--graph", "w.csv", "-n", 2)
    assert call(*words).err.count("name one with --set weight=...") == 1
    assert "no weights are used" not in call(*words, "--set", "weight=a").err


def test_info_names_settings_by_their_flags(call, folder):
    write_graph(folder / "e.txt", 4)
    call("embed", "e.txt", "-d", 4, "--seed", 5, "--epochs", 3, "-q")
    line = next(row for row in call("info", "e.svec").out.splitlines() if row.startswith("parameters"))
    assert "--dim 4, " in line
    assert "--epochs 3, " in line
    assert "n_components" not in line

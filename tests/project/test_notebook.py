"""Pictures in a real notebook kernel: every figure of a cell is shown, the user's own included."""

import json
import sys

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

CELLS = [
    "import networkx as nx, matplotlib.pyplot as plt, softvec\n"
    "emb = softvec.embed(nx.karate_club_graph(), n_components=4, n_epochs=2, random_state=0)",
    "emb.plot(method='pca');",
    "emb.plot('clusters', method='pca');",
    "plt.plot([1, 2, 3]);",
    "from softvec.plotting import plot_loss, plot_similarities\nplot_loss(emb);",
    "plot_similarities(emb);",
    "plt.hist([1, 2, 2]);",
]


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Install the specification of a kernel of this very interpreter; return its name."""
    folder = tmp_path / "kernels" / "here"
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (folder / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "here"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", ":".join(path for path in sys.path if path))
    monkeypatch.delenv("MPLBACKEND", raising=False)
    return "here"


@pytest.mark.filterwarnings("default")  # what Jupyter itself warns of
def test_every_figure_of_a_notebook_is_shown(kernel, tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    run = nbclient.NotebookClient(notebook, timeout=120, kernel_name=kernel, resources={})
    run.execute()
    images = [
        sum("image/png" in output.get("data", {}) for output in cell["outputs"]) for cell in notebook["cells"]
    ]
    assert images == [0, 1, 1, 1, 1, 1, 1]

"""EDRep through its public surface: scikit-learn's rules, edge cases, bad input, a golden result."""

import pickle
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

import softvec
from softvec import EDRep
from softvec.core.errors import InputError
from softvec.fit import run as fitting
from softvec.operators import Powers, row_normalize

pytestmark = pytest.mark.filterwarnings("ignore:the normaliser is off")  # tiny d, on purpose


def karate():
    return nx.to_scipy_sparse_array(nx.karate_club_graph(), weight=None, format="csr", dtype=float)


def fit(P, n_components=4, **options):
    return EDRep(n_components, random_state=0, **options).fit(P)


# --- scikit-learn -------------------------------------------------------------------------------------------

SKIPPED = {
    "check_transformer_general": "transform embeds rows as new ones against the fitted context, so it "
    "differs from fit_transform, as in other embeddings that are not functions of a row",
    "check_transformer_data_not_an_array": "the same comparison of transform with fit_transform",
    "check_array_api_input": "array libraries other than NumPy are not an affinity input",
}


@pytest.mark.parametrize(
    ("estimator", "check"),
    list(
        estimator_checks_generator(
            EDRep(n_components=2, n_epochs=3), expected_failed_checks=SKIPPED, mark="skip"
        )
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_clone_and_parameters():
    model = EDRep(7, beta=2.0, gradient="full")
    assert clone(model).get_params() == model.get_params()


def test_pickle_keeps_the_vectors_and_drops_the_matrix():
    model = fit(karate())
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
    np.testing.assert_array_equal(again.transform(karate()[:3]), model.transform(karate()[:3]))
    with pytest.raises(InputError, match="without its matrix"):
        again.diagnose()


def test_set_output_and_feature_names():
    model = EDRep(3, random_state=0).set_output(transform="pandas")
    frame = model.fit_transform(karate().toarray())
    assert list(frame.columns) == ["edrep0", "edrep1", "edrep2"]


# --- results ------------------------------------------------------------------------------------------------


def test_golden_embedding():
    """Fixed seed, fixed graph: a change of these numbers is a change of every user's vectors."""
    X = EDRep(4, random_state=0, n_epochs=10, dtype="float64").fit_transform(
        Powers(row_normalize(karate()), 2)
    )
    np.testing.assert_allclose(X[0] @ X[[1, 5, 33]].T, GOLDEN, atol=1e-6)


GOLDEN = [0.12744094301398845, 0.7602282155097482, -0.2158455811336895]


@pytest.mark.parametrize("gradient", ["row", "paper", "full"])
def test_karate_club_splits(gradient):
    X = fit(karate(), 8, gradient=gradient).embedding_
    side = np.array([club == "Officer" for _, club in nx.karate_club_graph().nodes(data="club")])
    same = np.mean(X[side] @ X[side].T) + np.mean(X[~side] @ X[~side].T)
    assert same / 2 > np.mean(X[side] @ X[~side].T) + 0.2


@pytest.mark.parametrize(
    "make",
    [
        lambda A: sparse.csr_matrix(A),
        lambda A: sparse.coo_array(A),
        lambda A: A.toarray(),
        lambda A: A.toarray().tolist(),
        lambda A: aslinearoperator(A),
        lambda A: row_normalize(A),
        lambda A: A.astype(np.int8),
        lambda A: A.astype(bool),
    ],
)
def test_every_kind_of_matrix_gives_the_same_vectors(make):
    exact = {"dtype": "float64"}  # a LinearOperator's products would be rounded to half precision in float32
    np.testing.assert_allclose(
        fit(make(karate()), **exact).embedding_, fit(karate(), **exact).embedding_, atol=1e-7
    )


def test_networkx_graph_and_affinity():
    from softvec.affinity import as_affinity

    graph = nx.karate_club_graph()
    np.testing.assert_array_equal(fit(graph).embedding_, fit(as_affinity(graph)).embedding_)


def test_inputs_are_not_changed():
    A = karate().toarray()
    before, start = A.copy(), np.ones((34, 4))
    EDRep(4, init=start, random_state=0).fit(A)
    np.testing.assert_array_equal(A, before)
    np.testing.assert_array_equal(start, 1)


def test_same_seed_same_bits_for_any_n_jobs():
    results = [fit(karate(), 16, n_jobs=n_jobs).embedding_ for n_jobs in (1, 2, None)]
    assert all(np.array_equal(results[0], other) for other in results)
    assert not np.array_equal(results[0], EDRep(16, random_state=1).fit_transform(karate()))


def test_history_and_loss_fall():
    history = fit(karate(), 8).history_
    assert set(history) == {
        "epoch", "loss", "attraction", "normalizer", "regularizer", "learning_rate", "seconds",
    }  # fmt: skip
    assert history["loss"][-1] < history["loss"][0]
    np.testing.assert_allclose(
        history["loss"], history["attraction"] + history["normalizer"] + history["regularizer"]
    )


def test_two_sided():
    A = np.kron(np.eye(2), np.ones((5, 3)))  # two blocks of 5 rows and 3 columns
    model = fit(A, 4, n_clusters=2, n_epochs=100)
    assert model.embedding_.shape == (10, 4)
    assert model.context_embedding_.shape == (6, 4)
    scores = model.embedding_ @ model.context_embedding_.T
    assert scores[:5, :3].min() > scores[:5, 3:].max()


def test_labels_given_and_found():
    labels = ["a"] * 20 + ["b"] * 14
    assert set(EDRep(4, n_clusters=2, random_state=0).fit(karate(), labels=labels).labels_) == {0, 1}
    assert fit(karate(), 8, n_clusters=3).labels_.max() <= 2
    assert fit(karate()).labels_ is None


def test_dissimilarity_pushes_apart():
    N = np.zeros((34, 34))
    N[0, 1] = N[1, 0] = 50.0  # neighbours in the graph
    near = fit(karate(), 8).embedding_
    far = EDRep(8, random_state=0).fit_transform(karate(), dissimilarity=N)
    assert far[0] @ far[1] < near[0] @ near[1] - 0.5


def test_ball_keeps_norms_below_one_and_item_weight_is_used():
    X = fit(karate(), constraint="ball").embedding_
    assert np.linalg.norm(X, axis=1).max() <= 1 + 1e-6
    weight = np.linspace(0.1, 3, 34)
    Y = EDRep(4, random_state=0).fit_transform(karate(), item_weight=weight)
    assert not np.allclose(Y, fit(karate()).embedding_)


def test_row_weights_matter_only_when_kept():
    A = karate().toarray()
    scaled = np.diag(np.linspace(1, 5, 34)) @ A
    np.testing.assert_allclose(fit(scaled).embedding_, fit(A).embedding_, atol=1e-2)
    kept = fit(scaled, normalize=False, gradient="full").embedding_
    assert not np.allclose(kept, fit(A, gradient="full").embedding_, atol=1e-2)


def test_transform_puts_a_known_row_near_its_vector():
    model = fit(karate(), 8, n_epochs=100)
    new = model.transform(karate())
    assert np.mean(np.sum(new * model.embedding_, axis=1)) > 0.9
    np.testing.assert_allclose(np.linalg.norm(new, axis=1), 1, atol=1e-5)


def test_transform_minimises_the_row_loss():
    from scipy.special import logsumexp

    model = EDRep(3, beta=1.0, random_state=0, dtype="float64").fit(karate())
    P = np.zeros((1, 34))
    P[0, [3, 5]] = 0.5
    x = model.transform(P)[0]
    Y = model.embedding_

    def row_loss(v):
        mu, omega = Y.mean(0), np.cov(Y.T)
        return -P[0] @ (Y @ v) + logsumexp([v @ mu + 0.5 * v @ omega @ v])

    rng = np.random.default_rng(0)
    others = x + 0.3 * rng.standard_normal((500, 3))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    assert row_loss(x) <= min(row_loss(v) for v in others) + 1e-4


def test_warm_start_goes_on_and_init_is_taken():
    model = EDRep(4, random_state=0, n_epochs=5, warm_start=True).fit(karate())
    first, start = model.history_["loss"][0], model.embedding_.copy()
    model.fit(karate())
    assert model.history_["loss"][0] < first
    again = EDRep(4, n_epochs=0, init=start).fit(karate())
    np.testing.assert_allclose(again.embedding_, start, atol=1e-6)


def test_callbacks_and_tol():
    seen = []
    EDRep(4, random_state=0, callbacks=[lambda epoch, loss, X: seen.append(loss)]).fit(karate())
    assert len(seen) == 30
    model = EDRep(4, random_state=0, callbacks=[lambda epoch, loss, X: epoch == 1]).fit(karate())
    assert model.n_iter_ == 2
    assert EDRep(4, random_state=0, n_epochs=500, tol=0.05).fit(karate()).n_iter_ < 500


def test_diagnosis_is_the_brute_force_loss():
    from scipy.special import logsumexp

    P = row_normalize(karate())
    model = fit(P, 8, beta=2.0)
    X, dense = model.embedding_.astype(float), P @ np.eye(34)
    scores = 2.0 * X @ X.T
    exact = np.mean(-np.sum(dense * scores, axis=1) + logsumexp(scores, axis=1))
    result = model.diagnose(34)
    assert result.exact_loss == pytest.approx(exact, abs=1e-4)
    assert model.diagnosis_.n_rows == 34
    assert 0 <= result.log_z_error_median <= result.log_z_error_max < 0.2
    quadratic = np.einsum("ij,jk,ik->i", X, np.cov(X.T), X)
    error = np.abs(logsumexp(scores, axis=1) - (np.log(34) + 2 * X @ X.mean(0) + 2 * quadratic))
    assert result.log_z_error_median == pytest.approx(np.median(error), abs=1e-4)


@pytest.mark.filterwarnings("error")
def test_a_poor_normaliser_is_told():
    with pytest.warns(UserWarning, match="the normaliser is off by"):
        fit(karate(), 2, beta=50.0)


def test_verbose_shows_progress(capsys):
    fit(karate(), verbose=1)
    assert "loss" in capsys.readouterr().err


# --- edge cases ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gradient", ["row", "paper", "full"])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize(
    "A",
    [
        np.ones((1, 1)),
        np.ones((2, 2)) - np.eye(2),
        np.kron(np.eye(3), np.ones((2, 2))),  # disconnected, duplicate rows
        np.diag([1.0, 1, 0, 0, 1]),  # isolated items
        np.eye(4)[:, [1, 2, 3, 0]],  # a directed ring
    ],
    ids=["one item", "two items", "duplicates", "isolated", "ring"],
)
@pytest.mark.parametrize("d", [1, 6])
def test_small_and_odd_problems_stay_finite(A, gradient, k, d):
    X = fit(A, d, gradient=gradient, n_clusters=k).embedding_
    assert X.shape == (len(A), d)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-5)


def test_large_beta_and_many_classes_stay_finite():
    model = fit(karate(), 8, beta=100.0, n_clusters=50)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.history_["loss"]).all()


# --- bad input ----------------------------------------------------------------------------------------------


def broken(value):
    A = karate().toarray()
    A[2, 3] = value
    return A


@pytest.mark.parametrize(
    ("P", "options", "message"),
    [
        (broken(-1), {}, "Negative values.*row 2, column 3"),
        (broken(np.nan), {}, "NaN or infinite"),
        (broken(np.inf), {}, "NaN or infinite"),
        (np.zeros((3, 3)), {}, "P has no non-zero entry"),
        (np.ones(3), {}, "two dimensions"),
        (np.ones((0, 3)), {}, "0 sample"),
        (np.ones((2, 3)), {"symmetric": True}, "symmetric=False"),
        (np.array([["a"]]), {}, "not numbers"),
        (np.eye(2) * 1j, {}, "complex"),
        (np.eye(3), {"n_components": 0}, "n_components is 0"),
        (np.eye(3), {"n_components": 2.5}, "expected an integer"),
        (np.eye(3), {"n_clusters": 0}, "n_clusters is 0"),
        (np.eye(3), {"n_epochs": -1}, "n_epochs is -1"),
        (np.eye(3), {"gradient": "best"}, "row, paper, full"),
        (np.eye(3), {"init": "zeros"}, "random, power"),
        (np.eye(3), {"init": np.ones((2, 2))}, "init has shape"),
        (np.eye(3), {"init": np.full((3, 4), np.nan)}, "NaN"),
        (np.ones((2, 3)), {"init": np.ones((2, 4))}, "pair of arrays"),
        (np.eye(3), {"symmetric": "yes"}, "symmetric is 'yes'"),
        (np.eye(3), {"dtype": "int8"}, "float32 or float64"),
        (np.eye(3), {"dtype": "half-ish"}, "float32 or float64"),
        (np.eye(3), {"beta": -1.0}, "beta is -1"),
        (np.eye(3), {"learning_rate": 2.0}, "learning_rate is 2"),
        (np.eye(3), {"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_bad_input_is_one_clear_error(P, options, message):
    with pytest.raises(ValueError, match=message):
        fit(P, **{"n_components": 4, **options})


def test_bad_fit_arguments():
    with pytest.raises(InputError, match="labels have shape"):
        EDRep(4).fit(karate(), labels=[0, 1])
    with pytest.raises(InputError, match="item_weight must be"):
        EDRep(4).fit(karate(), item_weight=np.zeros(34))
    with pytest.raises(InputError, match=r"Negative values.*dissimilarity"):
        EDRep(4).fit(karate(), dissimilarity=-np.eye(34))
    with pytest.raises(InputError, match="34 features"):
        fit(karate()).transform(np.ones((2, 5)))


def test_tiny_problems_never_import_numba():
    code = (
        "import sys, numpy as np; from softvec import EDRep; "
        "EDRep(2, beta=1.0, random_state=0).fit(np.ones((4, 4)) - np.eye(4)); print('numba' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


@pytest.mark.filterwarnings("always:the normaliser is off")
@pytest.mark.parametrize(
    "call",
    [
        lambda A: EDRep(2, random_state=0).fit(A),
        lambda A: EDRep(2, random_state=0, normalizer="exact").fit(A).diagnose(),
        lambda A: softvec.embed(A, 2, random_state=0),
    ],
    ids=["fit", "diagnose", "embed"],
)
def test_the_warning_points_at_the_call_of_the_user(call, monkeypatch):
    monkeypatch.setattr(fitting, "_WARN_ABOVE", -1.0)
    with pytest.warns(UserWarning, match="the normaliser is off") as caught:
        call(np.ones((6, 6)) - np.eye(6))
    assert "n_clusters" not in str(caught[0].message)  # more classes cost PPI and Cora points of micro-F1
    assert (caught[0].filename, caught[0].lineno) == (__file__, call.__code__.co_firstlineno)


def row_losses(X, Y, P, beta, weight=None, N=None):
    """Return each row's loss on the sphere by Eq. main of one class, written out in double precision."""
    X, Y = np.asarray(X, np.float64), np.asarray(Y, np.float64)
    v = np.ones(len(Y)) if weight is None else weight / weight.mean()
    mu = v @ Y / v.sum()
    omega = ((Y - mu) * v[:, None]).T @ (Y - mu) / (v.sum() * (len(Y) - 1) / len(Y))
    loss = np.zeros(len(X))
    for A, sign in ((P, 1), (N, -1)):
        if A is not None:
            log_z = np.log(v.sum()) + sign * beta * X @ mu + beta**2 / 2 * np.einsum("ij,ij->i", X @ omega, X)
            loss += -sign * beta * np.einsum("ij,ij->i", X, A @ Y) + A.sum(axis=1) * log_z
    return loss


@pytest.mark.parametrize("contrastive", [False, True])
def test_transform_follows_item_weight_and_dissimilarity(contrastive):
    rng = np.random.default_rng(0)
    A = nx.to_numpy_array(nx.karate_club_graph(), weight=None)
    weight = np.exp(rng.normal(0, 2, 34))
    N = (rng.random((34, 34)) < 0.1) * 0.5 if contrastive else None
    model = EDRep(4, n_epochs=50, beta=3.0, random_state=0).fit(A, item_weight=weight, dissimilarity=N)
    model = model if contrastive else pickle.loads(pickle.dumps(model))
    P = A / A.sum(axis=1, keepdims=True)
    X = model.transform(A, dissimilarity=N)
    Y, best = model.context_embedding_, np.full(34, np.inf)
    for _ in range(20_000):  # random search on the sphere finds nothing better
        Z = rng.normal(size=(34, 4))
        Z /= np.linalg.norm(Z, axis=1, keepdims=True)
        best = np.minimum(best, row_losses(Z, Y, P, 3.0, weight, N))
    assert (row_losses(X, Y, P, 3.0, weight, N) - best).max() < 0.02


def test_transform_asks_for_dissimilarity():
    N = np.roll(np.eye(34), 1, axis=0)
    model = EDRep(4, random_state=0).fit(karate(), dissimilarity=N)
    with pytest.warns(UserWarning, match="dissimilarity="):
        model.transform(karate())
    with pytest.raises(InputError, match="fitted without"):
        fit(karate()).transform(karate(), dissimilarity=N)
    with pytest.raises(InputError, match="make them equal"):
        model.transform(karate(), dissimilarity=N[:3])


def test_the_signature_is_made_from_the_settings():
    import inspect

    from softvec.fit.settings import SETTINGS, Settings

    parameters = inspect.signature(EDRep).parameters
    assert list(parameters) == [*(setting.name for setting in SETTINGS), "warm_start"]
    assert parameters["beta"].default == Settings.beta
    assert set(EDRep.__init__.__annotations__) >= {"n_components"}
    with pytest.raises(TypeError, match="n_epoch"):
        EDRep(n_epoch=3)

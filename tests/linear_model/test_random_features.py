"""Curved boundaries at no cost: random features are drawn without a look at the rows."""

from sklearn.datasets import make_moons
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline

from skdp import DPSGDClassifier, privacy_statement
from skdp.preprocessing import BoundedScaler


def test_two_moons_are_told_apart_by_a_linear_model_of_random_features():
    """Without them a line gets 0.88 of two moons right; with them 0.99, at the same epsilon."""
    X, y = make_moons(2000, noise=0.1, random_state=0)
    X_test, y_test = make_moons(4000, noise=0.1, random_state=1)
    accuracy = {}
    for features in (None, RBFSampler(gamma=8.0, n_components=100, random_state=0)):
        scaler = BoundedScaler(bounds=((-1.5, -1.0), (2.5, 1.5)))
        model = make_pipeline(scaler, features or "passthrough", DPSGDClassifier(epsilon=1.0))
        statement = privacy_statement(model.fit(X, y))
        assert statement.covers_everything
        assert statement.epsilon <= 1.0
        accuracy[features is not None] = model.score(X_test, y_test)
    assert 0.86 < accuracy[False] < 0.90
    assert accuracy[True] > 0.99

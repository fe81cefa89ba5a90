"""scikit-learn's own checks pass in full, for every public estimator.

They run in a process of their own, since `SCIPY_ARRAY_API` is read when SciPy is imported; the
checks of array inputs are skipped without it.
"""

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys, warnings
from sklearn.utils.estimator_checks import check_estimator
from skdp import DPSGDClassifier
from skdp.preprocessing import *

warnings.simplefilter("ignore")
estimator = {estimator}
tags = estimator.__sklearn_tags__()
classifier = tags.classifier_tags
results = check_estimator(estimator, on_fail=None, on_skip=None)
print(json.dumps({{
    "passed": sum(r["status"] == "passed" for r in results),
    "others": [[r["check_name"], r["status"], repr(r["exception"])] for r in results
               if r["status"] != "passed"],
    "expected_to_fail": sum(bool(r["expected_to_fail"]) for r in results),
    "non_deterministic": tags.non_deterministic,
    "poor_score": bool(classifier and classifier.poor_score),
    "no_validation": tags.no_validation,
}}))
"""


@pytest.mark.parametrize(
    ("estimator", "n_checks"),
    [
        ("DPSGDClassifier()", 55),
        ("BoundedScaler(bounds=(-10, 10))", 46),
        ("PiecewiseLinearFeatures()", 46),
        ("RowNormClipper()", 46),
        ("DPStandardScaler(bounds=(-10, 10))", 47),
        ("DPMaxAbsScaler()", 47),
        ("BoundedScaler(bounds=(-10, 10), clip=2.0)", 46),
        ("DPStandardScaler(bounds=(-10, 10), clip=2.0)", 47),
        ("DPMaxAbsScaler(clip=2.0)", 47),
        ("DPMaxAbsScaler(power=0.5, clip=0.5)", 47),
    ],
)
def test_check_estimator_passes_in_full(estimator, n_checks):
    """Every check runs and passes; none is skipped, expected to fail, or excused by a tag."""
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(estimator=estimator)],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert result["others"] == []
    assert result["passed"] == n_checks
    assert result["expected_to_fail"] == 0
    excuses = ("non_deterministic", "poor_score", "no_validation")
    assert not any(result[name] for name in excuses)

"""What tells the values of a design apart: against planted differences, and their rates by chance."""

from airrvec.repertoire.confounders import Features, told_table
from airrvec.stats import classification
from airrvec.stats.designs import SEVERAL_GROUPS, TWO_GROUPS, Design, designs

import numpy as np
import pandas as pd
import pytest


def design(labels, donors=None) -> Design:
    """Units of donors of their own, or of these, within which values are compared."""
    labels = np.asarray(labels)
    names = np.array([f"s{number}" for number in range(len(labels))], object)
    within = None if donors is None else "donor"
    blocks = np.zeros(len(labels), int) if donors is None else np.asarray(donors)
    kind = TWO_GROUPS if labels.max() == 1 else SEVERAL_GROUPS
    groups = tuple("xyz"[: labels.max() + 1])
    return Design(
        kind, groups, [[name] for name in names], names if donors is None else blocks, labels, blocks, within
    )


def told(features, made: Design, n_permutations: int = 99) -> classification.Told:
    products = classification.within_donors(classification.gram(features), made)
    rng = np.random.default_rng(0)
    return classification.told_apart(products, made, made.donors, n_permutations, rng)


def test_a_difference_is_told_and_its_absence_too():
    rng = np.random.default_rng(1)
    made = design(np.repeat([0, 1, 2], 8))
    noise = rng.normal(size=(24, 10))
    found = told(noise + 3 * np.eye(3)[made.labels] @ rng.normal(size=(3, 10)), made)
    assert found.accuracy > 0.9
    assert found.p == pytest.approx(1 / 100)
    assert told(noise, made).p > 0.05
    assert 0.2 < told(noise, made).chance < 0.4


def test_features_that_are_the_same_everywhere_tell_nothing():
    made = design(np.repeat([0, 1], 5))
    found = told(np.ones((10, 3)), made)
    assert (found.accuracy, found.chance, found.p) == (0.5, 0.5, 1)


def test_differences_of_donors_do_not_hide_those_within_them():
    rng = np.random.default_rng(2)
    donors = np.repeat(np.arange(8), 2)
    made = design(np.tile([0, 1], 8), donors)
    of_donors = 20 * rng.normal(size=(8, 6))[donors]
    features = of_donors + rng.normal(size=(16, 6)) + 3 * made.labels[:, None] * rng.normal(size=6)
    found = told(features, made, 999)
    assert found.accuracy == 1
    assert found.p < 0.05


def test_a_donor_that_is_left_out_teaches_nothing():
    """Samples of a donor are alike, but for a donor that is left out its own are no help."""
    rng = np.random.default_rng(3)
    donors = np.repeat(np.arange(12), 3)
    labels = np.repeat(np.arange(12) % 2, 3)
    features = 5 * rng.normal(size=(12, 4))[donors] + rng.normal(size=(36, 4))
    made = design(labels)
    of_donors = classification.told_apart(classification.gram(features), made, donors, 19, rng)
    of_samples = classification.told_apart(classification.gram(features), made, made.donors, 19, rng)
    assert of_donors.accuracy < 0.7 < of_samples.accuracy


def test_by_chance_the_p_is_low_as_often_as_it_says():
    rng = np.random.default_rng(4)
    made = design(np.repeat([0, 1], [5, 6]))
    p = np.array([told(rng.normal(size=(11, 5)), made, 59).p for _ in range(200)])
    assert (p <= 0.05).mean() < 0.05 + 3 * (0.05 * 0.95 / 200) ** 0.5
    assert (p <= 0.5).mean() < 0.5 + 3 * (0.25 / 200) ** 0.5


def test_the_penalty_is_chosen_without_the_units_that_are_left_out():
    """Neither values nor the penalty, chosen among the others, depend on the values of a fold left out."""
    rng = np.random.default_rng(5)
    made = design(np.repeat([0, 1], 10))
    products = classification.gram(rng.normal(size=(20, 6)) + made.labels[:, None])
    test = np.arange(20) % 5 == 0
    labels = made.arrangements(50, rng)
    others = labels.copy()
    others[test] = 1 - others[test]
    predicted = [classification._told(products, one, test, 2) for one in (labels, others)]
    assert (predicted[0] == predicted[1]).all()
    assert len(np.unique(predicted[0])) == 2


def test_a_batch_is_left_out_at_once_where_values_are_compared_within_it():
    """What tells the values in one batch alone is told to other donors of it, but not to another batch."""
    rng = np.random.default_rng(6)
    names = [f"d{number}" for number in range(32)]
    samples = pd.DataFrame(
        {"donor": names, "batch": np.repeat(["1", "2"], 16), "disease": np.tile(["no", "yes"], 16)}, names
    )
    label, batch = (samples["disease"] == "yes").to_numpy(), (samples["batch"] == "1").to_numpy()
    sign = np.where(label, 1, -1) * np.where(batch, 1, -1)  # another direction in the other batch
    vectors = rng.normal(size=(32, 8)) + 20 * batch[:, None]
    vectors[:, 0] += 4 * sign
    vectors[:, 1] += 4 * np.where(label & batch, 1, 0)
    sets = [Features("mean_vector", pd.DataFrame(vectors, names), "homosapiens", "beta")]
    made = designs(samples, "disease", "batch")
    rows = told_table(sets, samples, made, "disease", 99, 1).to_pylist()
    accuracies = {row["left_out"]: row["accuracy"] for row in rows}
    assert accuracies.keys() == {"donor", "batch"}
    assert accuracies["batch"] < 0.6 < accuracies["donor"]

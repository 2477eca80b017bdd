from fractions import Fraction

import numpy as np
import pytest

from tests.slowly import each
from toolkit import crosswise, forced, k_ary, plan, warner
from toolkit.local.compliance import DEVIATIONS
from toolkit.planning.fieldwork import Compliance, Field, check_field, whole_people


def test_the_harmless_report_is_the_one_that_speaks_against_yes():
    """In a crosswise question with p below one half, "same" speaks against yes, and those who protect
    themselves say it.
    """
    design = crosswise("1/6")
    seen = Compliance(self_protective=0.25)._effective_design(design)
    assert seen.matrix[:, 1] == pytest.approx(0.75 * design.matrix[:, 1] + 0.25)
    assert Compliance(self_protective=0.25).bias(design, 0.3) < 0


def test_the_corrected_design_estimates_without_bias_what_the_other_misses():
    conduct, design, shares = Compliance(0.1, 0.2), k_ary(3, epsilon=2.0), np.array([0.5, 0.3, 0.2])
    effective = conduct._effective_design(design)
    reports = shares @ effective.matrix
    assert effective.estimate_counts((reports * 1e9).round().astype(int)).value == pytest.approx(shares, abs=1e-6)
    missed = design.estimate_counts((reports * 1e9).round().astype(int)).value - shares
    assert conduct.bias(design, shares.tolist()) == pytest.approx(missed[np.argmax(np.abs(missed))], abs=1e-6)


def test_nobody_misbehaving_changes_nothing():
    assert np.allclose(Compliance()._effective_design(warner("3/4")).matrix, warner("3/4").matrix)
    assert Compliance().bias(warner("3/4"), 0.2) == pytest.approx(0)


def test_people_behind_an_estimate_and_invitations():
    field = Field(subgroup_share=0.25, questions=4, response=0.3)
    assert field.effective_n(1600) == 100
    assert Field(subgroup_share=0.25, questions=4, one_question_each=False).effective_n(1600) == 400
    assert field.invited(3) == 10
    assert Field(response=0.6).invited(26439) == 44065
    assert Field().invited(100) == 100  # all answer, where nothing is said


def test_the_finite_population_factor_is_for_the_subgroup():
    field = Field(subgroup_share=0.5, population=1000)
    assert field.sampling_factor(1000) == 0
    assert field.sampling_factor(500) == pytest.approx(250 / 499)
    assert Field().sampling_factor(500) == 1


def test_conduct_may_be_given_as_a_mapping_or_as_itself():
    assert check_field(1, None, 1, 1, {"random": "1/10"}).compliance == Compliance(random=0.1)
    assert check_field(1, None, 1, 1, Compliance(random=0.1)).compliance == Compliance(random=0.1)
    every = dict.fromkeys(DEVIATIONS, 0.1)
    assert check_field(1, None, 1, 1, every).compliance == Compliance(**every)
    for wrong in (every | {"lazy": 0.1}, ["random"]):
        with pytest.raises(ValueError, match="must map self_protective, random, candid to shares"):
            check_field(1, None, 1, 1, wrong)


@each(population=[2, 10, 1500, 12_345, 10**6], response=[0.5, 0.4999999995, 0.3, 1 / 3, 0.07, 1.0, 1e-4])
def test_no_more_people_answer_than_can_be_invited(population, response):
    field = Field(population=population, response=response)
    most = field.max_respondents()
    assert most == 0 or field.invited(most) <= population
    assert field.invited(most + 1) > population
    assert Field(response=response).max_respondents() is None


def test_a_plain_field_has_no_conditions_but_the_response():
    assert Field(response=0.5).is_binomial
    others = (
        Field(subgroup_share=0.5),
        Field(population=100),
        Field(questions=2),
        Field(compliance=Compliance(random=0.1)),
    )
    assert not any(field.is_binomial for field in (*others, Field(deff=1.5), Field(weighting=1.5)))


@pytest.mark.parametrize(
    ("given", "taken", "refused"),
    [
        ("subgroup_share", ("1/1000", 1), (0, "1001/1000")),
        ("response", ("1/1000", 1), (0, "1001/1000")),
        ("population", (2,), (1,)),
        ("questions", (1,), (0,)),
        ("deff", ("1/1000", 3), (0,)),
        ("weighting", (1, 3), ("999/1000",)),
    ],
)
def test_conditions_are_taken_up_to_their_limits(given, taken, refused):
    usual = {"subgroup_share": 1, "population": None, "response": 1, "questions": 1, "compliance": None}
    for value in taken:
        assert getattr(check_field(**usual | {given: value}), given) == float(Fraction(value))
    for value in refused:
        named = "subgroup" if given == "subgroup_share" else given
        with pytest.raises(ValueError, match=f"`{named}` must be"):
            check_field(**usual | {given: value})


@pytest.mark.parametrize(
    ("design", "prevalence", "margin", "alike", "clustered", "weighted"),
    [
        (forced("1/6", "1/6"), 0.1, 0.03, 1718, 2083, 2112),
        (forced("1/6", "1/6"), 0.1, 0.05, 619, 750, 761),
        (forced("1/6", "1/6"), 0.3, 0.03, 2231, 3082, 2742),
        (warner("3/4"), 0.1, 0.03, 3586, 3951, 4408),
        (crosswise("0.15"), 0.1, 0.03, 1495, 1860, 1838),
    ],
)
def test_clusters_multiply_the_sampling_variance_and_weights_all_of_it(
    design, prevalence, margin, alike, clustered, weighted
):
    """20 people a cluster, correlated by .05: a design effect of 1.95 of the truth."""
    asked = {"prevalence": prevalence, "margin": margin}
    assert plan(design, **asked).n == alike
    assert plan(design, **asked, deff="1.95").n == clustered
    assert plan(design, **asked, weighting="1.2292143").n == weighted


def test_a_finite_population_counts_people_and_not_their_weight():
    field = Field(population=1000, weighting=2.0)
    assert field.sampling_factor(500) == pytest.approx(Field(population=1000).sampling_factor(500))
    assert field.effective_n(500) == 250


def test_people_are_rounded_up_but_not_for_the_last_bit_of_a_float():
    assert whole_people(0.1 * 3 / 0.3) == 1  # 1.0000000000000002
    assert [whole_people(number) for number in (7, 7.001, 7.999)] == [7, 8, 8]

import logging

from toolkit.survey.serving.server import FORGET_SECONDS, Health
from toolkit.survey.store import StoreError


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_health_is_that_of_the_last_report():
    health = Health()
    assert health.is_good
    health.failed(StoreError("the disk is full"))
    assert not health.is_good
    health.worked()
    assert health.is_good


def test_an_old_failure_is_forgotten_so_that_somebody_tries_again():
    """Else a proxy that sends nobody to an ailing server would never send anybody again."""
    clock = Clock()
    health = Health(clock)
    health.failed(TimeoutError())
    clock.now += FORGET_SECONDS - 1
    assert not health.is_good
    health.failed(TimeoutError())
    clock.now += FORGET_SECONDS - 1
    assert not health.is_good
    clock.now += 1
    assert health.is_good


def test_the_log_hears_of_the_first_failure_and_of_the_first_success_after_it(caplog):
    health = Health()
    with caplog.at_level(logging.DEBUG):
        for call in (health.worked, *[lambda: health.failed(TimeoutError())] * 3, health.worked, health.worked):
            call()
    assert [record.getMessage() for record in caplog.records] == [
        "No reports can be stored: the store does not answer in time.",
        "Reports are stored again.",
    ]

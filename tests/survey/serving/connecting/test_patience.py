import asyncio
import time

import pytest

from toolkit.survey.serving.server import Patience


def test_what_is_done_in_time_is_given_and_what_fails_fails():
    async def fails():
        await asyncio.sleep(0)
        raise OSError

    async def story():
        patience = Patience(5.0)
        assert await patience.with_(asyncio.sleep(0, "done")) == "done"
        with pytest.raises(OSError):
            await patience.with_(fails())

    asyncio.run(story())


def test_whoever_waits_too_long_is_told_and_the_others_go_on():
    """Ten wait for what never comes and ten for what comes later, of each but half with little patience."""

    async def story():
        short, long, never = Patience(0.1), Patience(30.0), asyncio.Event()
        start = time.monotonic()
        waiting = [asyncio.create_task(short.with_(never.wait())) for _ in range(10)]
        rest = [asyncio.create_task(long.with_(asyncio.sleep(0.3, "late"))) for _ in range(10)]
        lost = await asyncio.gather(*waiting, return_exceptions=True)
        assert time.monotonic() - start >= 0.1
        assert [type(one) for one in lost] == [TimeoutError] * 10
        assert await asyncio.gather(*rest) == ["late"] * 10

    asyncio.run(story())


def test_it_looks_again_after_it_had_nobody_to_wait_for():
    async def story():
        patience = Patience(0.05)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await patience.with_(asyncio.Event().wait())
            await asyncio.sleep(0.05)

    asyncio.run(story())


def test_one_patience_serves_in_one_loop_after_the_other():
    patience = Patience(0.05)
    assert asyncio.run(patience.with_(asyncio.sleep(0, 1))) == 1
    with pytest.raises(TimeoutError):
        asyncio.run(patience.with_(asyncio.Event().wait()))


def test_whoever_is_called_off_by_others_is_not_told_that_it_took_too_long():
    async def story():
        task = asyncio.create_task(Patience(30.0).with_(asyncio.Event().wait()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())

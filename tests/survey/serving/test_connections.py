import asyncio

import pytest

from toolkit.survey.serving.acceptor import Connections
from toolkit.survey.serving.limits import Limits


class Guest:
    """A connection that only records the calls that it receives."""

    def __init__(self, deadline=1e9):
        self.deadline, self.told = deadline, []

    def time_out(self):
        self.told.append("late")

    def drop(self):
        self.told.append("dropped")


def crowded(story, places=3, **limits):
    async def run():
        return await story(Connections(Limits(max_connections=places, **limits)))

    return asyncio.run(run())


def test_beyond_the_places_whoever_let_us_wait_longest_goes():
    async def story(connections):
        guests = [Guest() for _ in range(5)]
        for guest in guests:
            assert connections.add(guest)
            connections.set_idle(guest, is_idle=True)
        assert [guest.told for guest in guests] == [["dropped"], ["dropped"], [], [], []]
        connections.set_idle(guests[2], is_idle=True)  # it has sent something in the meantime
        assert connections.add(Guest())
        assert (guests[2].told, guests[3].told) == ([], ["dropped"])
        assert len(connections) == 3

    crowded(story)


def test_whoever_waits_for_us_is_not_sent_away():
    async def story(connections):
        guests = [Guest() for _ in range(3)]
        for guest in guests:
            connections.add(guest)
            connections.set_idle(guest, is_idle=False)
        assert not connections.add(Guest())
        connections.set_idle(guests[1], is_idle=True)
        assert connections.add(Guest())
        assert [guest.told for guest in guests] == [[], ["dropped"], []]

    crowded(story)


def test_a_place_is_handed_over_without_anybody_losing_one():
    async def story(connections):
        arrivals = [Guest() for _ in range(3)]
        for arrival in arrivals:
            connections.add(arrival)
            connections.set_idle(arrival, is_idle=True)
        assert connections.add(Guest(), replaced=arrivals[2])
        assert [arrival.told for arrival in arrivals] == [[], [], []]
        assert len(connections) == 3

    crowded(story)


@pytest.mark.slow
def test_whose_time_is_over_is_told_so():
    async def story(connections):
        late, early = Guest(deadline=0), Guest()
        connections.add(late)
        connections.add(early)
        await asyncio.sleep(0.2)
        assert (late.told[0], early.told) == ("late", [])

    crowded(story, head_seconds=0.2)

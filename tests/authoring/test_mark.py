"""The effect mark: used once, and it knows where the body stands."""

import asyncio
import threading

import pytest

from halfway import AsyncMark, Mark
from halfway.authoring import Place
from halfway.errors import HalfwayError, MarkRefused
from tests.authoring.host import FakeHost


def enter(mark: Mark, error: BaseException | None = None) -> None:
    with mark:
        if error is not None:
            raise error


async def aenter(mark: AsyncMark, error: BaseException | None = None) -> None:
    async with mark:
        assert mark.place is Place.INSIDE
        if error is not None:
            raise error


def test_a_mark_goes_from_before_to_inside_to_closed() -> None:
    host = FakeHost()
    mark = Mark(host)
    places = [mark.place]
    with mark:
        places.append(mark.place)
    places.append(mark.place)
    assert places == [Place.BEFORE, Place.INSIDE, Place.CLOSED]
    assert mark.failed is None
    assert host.asked == ["mark"]


def test_an_error_that_leaves_the_mark_is_kept_and_the_place_stays_inside() -> None:
    error, mark = ConnectionRefusedError(), Mark(FakeHost())
    with pytest.raises(ConnectionRefusedError):
        enter(mark, error)
    assert mark.place is Place.INSIDE
    assert mark.failed is error


def test_returning_from_inside_closes_the_mark() -> None:
    mark = Mark(FakeHost())

    def body() -> int:
        with mark:
            return 3

    assert body() == 3
    assert mark.place is Place.CLOSED


def test_a_refused_mark_leaves_the_body_before_it() -> None:
    mark = Mark(FakeHost(refused=True))
    with pytest.raises(MarkRefused, match="Nothing has happened outside"):
        enter(mark)
    assert mark.place is Place.BEFORE
    assert mark.failed is None


@pytest.mark.parametrize("refused", [False, True], ids=["taken", "refused"])
def test_a_mark_is_used_once(refused: bool) -> None:
    host = FakeHost(refused=refused)
    mark = Mark(host)
    with pytest.raises(MarkRefused) if refused else mark:
        if refused:
            enter(mark)
    place = mark.place
    with pytest.raises(HalfwayError, match="entered its effect mark twice") as caught:
        enter(mark)
    assert caught.value.code == "MARK_MISUSED"
    assert mark.place is place
    assert host.asked == ["mark"]


def test_entering_a_mark_inside_itself_is_refused_and_counts_as_failed_inside() -> None:
    mark = Mark(FakeHost())
    with pytest.raises(HalfwayError) as caught, mark:
        enter(mark)
    assert mark.failed is caught.value
    assert mark.place is Place.INSIDE


def test_of_many_threads_one_takes_the_mark() -> None:
    host = FakeHost()
    mark, barrier, refused = Mark(host), threading.Barrier(8), list[str]()

    def body() -> None:
        barrier.wait()
        try:
            enter(mark)
        except HalfwayError as error:
            refused.append(error.code)

    threads = [threading.Thread(target=body) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == ["MARK_MISUSED"] * 7
    assert host.asked == ["mark"]


def test_the_mark_of_an_async_step_does_the_same() -> None:
    mark = AsyncMark(FakeHost())
    asyncio.run(aenter(mark))
    assert mark.place is Place.CLOSED
    with pytest.raises(HalfwayError, match="twice"):
        asyncio.run(aenter(mark))

    broken, error = AsyncMark(FakeHost()), ValueError("inside")
    with pytest.raises(ValueError, match="inside"):
        asyncio.run(aenter(broken, error))
    assert (broken.place, broken.failed) == (Place.INSIDE, error)

    unlucky = AsyncMark(FakeHost(refused=True))
    with pytest.raises(MarkRefused):
        asyncio.run(aenter(unlucky))
    assert unlucky.place is Place.BEFORE


def test_a_cancelled_coroutine_leaves_its_mark_inside() -> None:
    mark = AsyncMark(FakeHost())

    async def main() -> None:
        async def body() -> None:
            async with mark:
                await asyncio.sleep(60)

        task = asyncio.create_task(body())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert mark.place is Place.INSIDE
    assert isinstance(mark.failed, asyncio.CancelledError)

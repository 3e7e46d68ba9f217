"""The worker's memory: who gets which block when."""

import pytest

import fake_python_server  # noqa: F401  (finds the modules)
from atoll_worker.arena import ANSWER_SIZE, Arena, size_class
from atoll_worker.errors import TritonModelException
from atoll_worker.pure_objects import AnswerBlocks


class Region:
    on_load = None

    def __init__(self):
        self.words = {}
        self.trimmed = []

    def load(self, offset):
        if self.on_load is not None:
            self.on_load()
        return self.words.get(offset, 0)

    def store(self, offset, value):
        self.words[offset] = value

    def trim(self, offset, size):
        self.trimmed.append((offset, size))


class Server:
    """Gives slabs, and is done with blocks when told."""

    def __init__(self, slabs=100):
        self.sizes = []
        self.left = slabs
        self.arena = Arena(self.more, AnswerBlocks())

    def more(self, size):
        if not self.left:
            return None
        self.left -= 1
        self.sizes.append(size)
        return len(self.sizes), Region(), size

    def send(self, size):
        slab, offset = place = self.arena.allocate(size)
        slab.region.store(offset - 64, 1)
        self.arena.sent(place, size)
        return place

    @staticmethod
    def release(place):
        place[0].region.store(place[1] - 64, 0)


def test_a_class_holds_its_size_and_wastes_little():
    for size in [0, 1, 4032, 4033, 10000, 65536, 1 << 20, (1 << 20) + 1, 3 << 30]:
        got = size_class(size)
        assert got >= size + 64 and got % 1024 == 0
        assert got <= max(4096, (size + 64) * 1.25 + 1024)


def test_a_released_block_is_used_again():
    server = Server()
    first = server.send(1000)
    second = server.send(1000)
    assert second != first
    server.release(first)
    assert server.send(1000) == first
    assert server.sizes == [1 << 20]


def test_blocks_never_overlap_while_one_is_being_written():
    server = Server(slabs=1)
    writing = server.arena.allocate(600000)  # by another thread, which has not sent it yet
    with pytest.raises(TritonModelException, match="no shared memory left for 600000 bytes"):
        server.arena.allocate(600000)
    server.arena.dropped(writing, 600000)
    assert server.arena.allocate(500000)[1] == 64  # all is unused: it starts anew


def test_blocks_never_overlap_while_one_is_with_the_server():
    server = Server(slabs=1)
    sent = server.send(600000)
    with pytest.raises(TritonModelException):
        server.arena.allocate(500000)
    server.release(sent)
    assert server.send(500000)[1] == 64


def test_the_blocks_of_answers_count():
    server = Server(slabs=1)
    server.arena.prepare_answers()
    server.arena.prepare_answers()
    assert len(server.arena.answers) == 4
    region, _, offset = server.arena.answers.take(ANSWER_SIZE)
    assert server.arena.answers.is_held()
    with pytest.raises(TritonModelException):
        server.arena.allocate((1 << 20) - 4096)
    others = [server.arena.answers.take(1) for _ in range(3)]
    assert len({offset, *(other[2] for other in others)}) == 4
    assert server.arena.answers.take(1) is None
    region.store(offset - 64, 0)
    assert server.arena.answers.take(ANSWER_SIZE + 1) is None
    assert server.arena.answers.take(1)[2] == offset
    for place in (offset, *(other[2] for other in others)):
        region.store(place - 64, 0)
    assert server.arena.allocate((1 << 20) - 4096)[1] == 64
    assert len(server.arena.answers) == 0
    assert ANSWER_SIZE == size_class(ANSWER_SIZE) - 64


def test_a_destructor_inside_is_refused_instead_of_waiting_for_itself():
    server = Server()
    slab, _ = server.send(1000)
    refused = []

    def destructor():
        slab.region.on_load = None
        with pytest.raises(TritonModelException, match="A destructor cannot talk to the server while its thread does."):
            server.arena.allocate(1000)
        refused.append(True)

    slab.region.on_load = destructor
    server.send(1000)
    assert refused == [True]
    server.send(1000)


def test_slabs_grow_with_what_is_needed():
    server = Server()
    for _ in range(40):
        server.send(1 << 20)
    assert server.sizes[0] == size_class(1 << 20) and sum(server.sizes) <= 4 * 40 << 20
    assert len(server.sizes) < 10


def test_an_idle_arena_gives_its_pages_back_once_all_is_released():
    server = Server()
    place = server.send(3 << 20)
    server.arena.rest()
    assert place[0].region.trimmed == []
    server.release(place)
    server.arena.rest()
    server.arena.rest()
    assert place[0].region.trimmed == [(4096, place[0].size // 4096 * 4096 - 4096)]

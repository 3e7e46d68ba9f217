"""The worker's own memory: blocks in the slabs that the server gave it."""

import collections

from . import layout
from .errors import TritonModelException
from .guard import Guard
from .native import AnswerBlocks

_FIRST_CLASS = 4096
_FIRST_SLAB = 1 << 20
_LARGEST_STEP = 64 << 20
_PAGE = 4096
ANSWER_SIZE = 16384 - layout.BLOCK_HEADER_SIZE
_ANSWERS = 4


class _Slab:
    __slots__ = ("index", "region", "size", "used")

    def __init__(self, index, region, size):
        self.index = index
        self.region = region
        self.size = size
        self.used = 0


def size_class(size):
    """Size of the block that holds `size` bytes and its header: four steps between powers of two."""
    total = size + layout.BLOCK_HEADER_SIZE
    if total <= _FIRST_CLASS:
        return _FIRST_CLASS
    step = 1 << max((total - 1).bit_length() - 3, 10)
    return (total + step - 1) // step * step


class Arena:
    """Blocks are sent, and are free again when their receiver says so."""

    def __init__(self, more, answers=None):
        """`more(bytes)` gets a slab of at least that size from the server: (index, region, size). `answers`: as `AnswerBlocks`"""
        self._more = more
        self._slabs = []
        self._free = {}  # size class -> [(slab, payload's offset)]
        self._sent = collections.deque()  # (slab, payload's offset, size class, what must live until then)
        self._lock = Guard()
        self._is_warm = False
        self._taken = 0  # blocks between allocate() and sent() or dropped()
        # Blocks of ANSWER_SIZE that frequent small answers use in turn; none until prepare_answers(), and when all starts anew.
        self.answers = AnswerBlocks() if answers is None else answers

    def prepare_answers(self):
        """Gives `answers` its blocks, if it has none."""
        if len(self.answers):
            return
        places = [self.allocate(ANSWER_SIZE) for _ in range(_ANSWERS)]
        with self._lock.mutex:  # it may be inside: nothing is half done where a destructor can run
            self._taken -= len(places)
            if len(self.answers):  # another thread's
                self._free.setdefault(size_class(ANSWER_SIZE), []).extend(places)
                return
            for slab, offset in places:
                slab.region.store(offset - layout.BLOCK_HEADER_SIZE, 0)
                self.answers.add(slab.region, slab.index, offset, ANSWER_SIZE)

    def allocate(self, size):
        """(slab, offset of the payload) of a block of at least `size` bytes. Then sent() or dropped()."""
        wanted = size_class(size)
        with self._lock:
            self._sweep(4)
            place = self._take(wanted) or self._make_room(wanted)
            if place is None:
                raise TritonModelException(f"The server has no shared memory left for {size} bytes of this model's process.")
            self._taken += 1
            self._is_warm = True
            return place

    def _take(self, wanted):
        free = self._free.get(wanted)
        return free.pop() if free else self._cut(wanted)

    def _make_room(self, wanted):
        self._sweep(len(self._sent))
        if self._is_unused():
            self._start_anew()
        place = self._take(wanted)
        if place is not None:
            return place
        largest = self._slabs[-1].size if self._slabs else 0
        slab = self._more(max(wanted, min(2 * largest, _LARGEST_STEP), _FIRST_SLAB))
        if slab is None:
            return None
        self._slabs.append(_Slab(*slab))
        return self._cut(wanted)

    def sent(self, place, size, keep=None):
        """The block was marked as held and is being sent; `keep` lives as long."""
        with self._lock:
            self._taken -= 1
            self._sent.append((place[0], place[1], size_class(size), keep))

    def dropped(self, place, size):
        """It is not going to be sent."""
        with self._lock:
            self._taken -= 1
            self._free.setdefault(size_class(size), []).append(place)

    def rest(self):
        """For an idle worker: takes back what has been released, and gives its pages to the system if all has been."""
        with self._lock:
            self._sweep(len(self._sent))
            self.answers.drop_kept()
            if not self._is_warm or not self._is_unused():
                return
            self._start_anew()
            self._is_warm = False
            for slab in self._slabs:
                slab.region.trim(_PAGE, slab.size // _PAGE * _PAGE - _PAGE)

    def _sweep(self, most):
        sent = self._sent
        for _ in range(min(most, len(sent))):
            entry = sent.popleft()
            slab, offset, size, _ = entry
            if slab.region.load(offset - layout.BLOCK_HEADER_SIZE):
                sent.append(entry)
            else:
                self._free.setdefault(size, []).append((slab, offset))

    def _cut(self, size):
        for slab in reversed(self._slabs):
            if slab.size - slab.used >= size:
                offset = slab.used + layout.BLOCK_HEADER_SIZE
                slab.used += size
                return slab, offset
        return None

    def _is_unused(self):
        if self._sent or self._taken:
            return False
        return not self.answers.is_held()

    # Sizes that are not asked for any more would otherwise keep what they once got.
    def _start_anew(self):
        self._free.clear()
        self.answers.forget()
        for slab in self._slabs:
            slab.used = 0

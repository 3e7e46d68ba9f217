"""Tensors between server and a Python worker: types, shapes, who owns which memory, DLPack."""

import os
import sys

import numpy as np
import pytest

from fake_python_server import DTYPES, HEAD, FakeServer

ECHO = """
class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", r.inputs()[0].as_numpy())]) for r in requests]
"""


def ask(server, array, **settings):
    (handle,) = server.execute([{"inputs": {"IN": array}, "outputs": ["OUT"]}], **settings)
    (response,) = server.responses[handle]
    assert response.error is None, response.error
    return response.outputs["OUT"]


@pytest.mark.parametrize("datatype", sorted(DTYPES))
@pytest.mark.parametrize("shape", [(), (1,), (3, 2), (0,), (2, 0, 3), (20000,)])
def test_every_number_type_and_shape_comes_back_as_it_was(worker, datatype, shape):
    dtype = DTYPES[datatype]
    count = int(np.prod(shape, dtype=int))
    raw = np.random.default_rng(1).integers(0, 2 if datatype == 1 else 256, count * dtype.itemsize, np.uint8)
    array = raw.view(dtype).reshape(shape)
    for own_block in (False, True):
        answer = ask(worker, array, own_block=own_block)
        assert answer.dtype == dtype and answer.shape == shape
        assert answer.tobytes() == array.tobytes()  # NaN bits too


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    with FakeServer(os.environ.get("ATOLL_TEST_PYTHON", sys.executable), tmp_path_factory.mktemp("echo"), HEAD + ECHO) as server:
        yield server.started()


@pytest.mark.parametrize("elements", [[], [b""], [b"a", b"bc\0", b"\xff\xfe", "ü".encode()], [b"x" * 100000] * 3, [b"k"] * 5000])
def test_bytes_come_back_as_they_were(worker, elements):
    array = np.empty(len(elements), np.object_)
    array[:] = elements
    assert ask(worker, array).tolist() == elements


def test_bytes_keep_their_shape(worker):
    array = np.array([[b"a", b"b"], [b"c", b"d"]], np.object_)
    assert ask(worker, array).tolist() == array.tolist()


def test_objects_that_are_not_bytes_are_sent_as_their_text(serve):
    server = serve("""
        class TritonPythonModel:
            def execute(self, requests):
                out = np.array(["ü", b"raw", 7, None], np.object_)
                fixed = np.array([b"ab", b"c"], "S4")
                return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", out), pb_utils.Tensor("FIXED", fixed)])]
    """)
    (handle,) = server.execute([{"outputs": ["OUT", "FIXED"]}])
    outputs = server.responses[handle][0].outputs
    assert outputs["OUT"].tolist() == ["ü".encode(), b"raw", b"7", b"None"]
    assert outputs["FIXED"].tolist() == [b"ab", b"c"]


def test_arrays_that_are_not_in_c_order_are_sent_in_it(serve):
    server = serve("""
        class TritonPythonModel:
            def execute(self, requests):
                a = np.arange(12, dtype=np.int32).reshape(3, 4)
                return [pb_utils.InferenceResponse([pb_utils.Tensor("T", a.T), pb_utils.Tensor("S", a[::2, ::-1]),
                                                    pb_utils.Tensor("F", np.asfortranarray(a)),
                                                    pb_utils.Tensor("B", np.broadcast_to(np.int32(4), (2, 2)))])]
    """)
    (handle,) = server.execute([{"outputs": ["T", "S", "F", "B"]}])
    outputs = server.responses[handle][0].outputs
    a = np.arange(12, dtype=np.int32).reshape(3, 4)
    assert outputs["T"].tolist() == a.T.tolist()
    assert outputs["S"].tolist() == a[::2, ::-1].tolist()
    assert outputs["F"].tolist() == a.tolist()
    assert outputs["B"].tolist() == [[4, 4], [4, 4]]


def test_outputs_that_nobody_asked_for_are_not_sent(serve):
    server = serve("""
        class TritonPythonModel:
            def execute(self, requests):
                assert requests[0].requested_output_names() == {"B"}
                return [pb_utils.InferenceResponse([pb_utils.Tensor(n, np.zeros(1, np.int8)) for n in "ABC"])]
    """)
    (handle,) = server.execute([{"outputs": ["B"]}])
    assert list(server.responses[handle][0].outputs) == ["B"]


@pytest.mark.parametrize("own_block", [False, True])
def test_a_kept_input_stays_right_and_only_its_block_is_held(serve, own_block):
    server = serve("""
        class TritonPythonModel:
            kept = None
            def execute(self, requests):
                array = requests[0].inputs()[0].as_numpy()
                if self.kept is None:
                    self.kept = array
                array += 1  # the model's own to write
                return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", self.kept.copy())])]
    """, slab_size=64 << 20)
    for i in range(1000):
        assert ask(server, np.full(8, 10 * i, np.int64), own_block=own_block).tolist() == [1] * 8, i
    ask(server, np.zeros(8, np.int64), own_block=own_block)
    server.wait_for(lambda: len(server.held_blocks()) == 1)


def test_every_block_is_given_back(worker):
    for size in (4, 100000):
        ask(worker, np.zeros(size, np.float32))
        ask(worker, np.zeros(size, np.float32), own_block=True)
    ask(worker, np.zeros(1, np.float32))  # what the last answer referred to is dropped with the next one
    ask(worker, np.zeros(1, np.float32))
    worker.wait_for(lambda: not worker.held_blocks())


def test_large_outputs_reuse_their_memory(serve):
    server = serve("""
        class TritonPythonModel:
            def execute(self, requests):
                n = int(requests[0].inputs()[0].as_numpy()[0])
                return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.full(n, n % 256, np.uint8))])]
    """)
    for size in [3 << 20, 1000, 5 << 20, 10, 4 << 20, 12 << 20] * 5:
        answer = ask(server, np.array([size]))
        assert answer.size == size and answer[-1] == size % 256 and answer[0] == size % 256
    own = [slab.size for slab in server.slabs.values() if slab.owner == 1]
    assert sum(own) <= 80 << 20, own


def test_an_output_made_in_shared_memory_is_not_copied(serve):
    server = serve("""
        class TritonPythonModel:
            def execute(self, requests):
                out = pb_utils.empty("OUT", (500, 1000), np.float32)
                out.as_numpy()[:] = requests[0].inputs()[0].as_numpy()
                return [pb_utils.InferenceResponse([out])]
    """)
    for i in range(20):
        answer = ask(server, np.array([i], np.float32))
        assert answer.shape == (500, 1000) and (answer == i).all()
    own = [slab.size for slab in server.slabs.values() if slab.owner == 1]
    assert sum(own) <= 20 << 20, own


def test_no_memory_left_is_an_error_of_the_request_only(serve):
    server = serve("""
        class TritonPythonModel:
            def execute(self, requests):
                n = int(requests[0].inputs()[0].as_numpy()[0])
                return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.zeros(n, np.uint8))])]
    """)
    ask(server, np.array([10]))
    server.refuse_slabs = True
    (handle,) = server.execute([{"inputs": {"IN": np.array([50 << 20])}, "outputs": ["OUT"]}])
    assert "The server has no shared memory left for" in server.responses[handle][0].error
    assert ask(server, np.array([10])).size == 10


DLPACK = """
class Foreign:
    def __init__(self, tensor, device=(1, 0)):
        self.tensor, self.device = tensor, device
    def __dlpack__(self, stream=None):
        return self.tensor.to_dlpack()
    def __dlpack_device__(self):
        return self.device

def raised(function, *arguments):
    try:
        function(*arguments)
    except pb_utils.TritonModelException as error:
        return str(error)

class TritonPythonModel:
    def execute(self, requests):
        given = requests[0].inputs()[0]
        text = []
        if given.triton_dtype() == 13:
            text.append(raised(given.to_dlpack))
        else:
            taken = pb_utils.Tensor.from_dlpack("OUT", given.to_dlpack())
            again = pb_utils.Tensor.from_dlpack("OUT", Foreign(taken))
            assert given.__dlpack_device__() == (1, 0) and given.is_cpu()
            assert again.shape() == given.shape() and again.triton_dtype() == given.triton_dtype()
            view = np.from_dlpack(given)
            assert view.__array_interface__["data"][0] == again.as_numpy().__array_interface__["data"][0]
            strided = np.zeros((4, 4), np.float32)[:, :2]
            text = [raised(pb_utils.Tensor.from_dlpack, "S", strided), raised(pb_utils.Tensor.from_dlpack, "S", 5),
                    raised(pb_utils.Tensor.from_dlpack, "", given), raised(pb_utils.Tensor.from_dlpack, "S", Foreign(given, (7, 0)))]
            ones = np.lib.stride_tricks.as_strided(np.zeros(3, np.float32), (1, 3), (400, 4))
            assert pb_utils.Tensor.from_dlpack("O", ones).shape() == [1, 3]
            capsule = given.to_dlpack()
            pb_utils.Tensor.from_dlpack("A", capsule)
            text.append(raised(pb_utils.Tensor.from_dlpack, "A", capsule))
            del capsule
            return [pb_utils.InferenceResponse([again, pb_utils.Tensor("TEXT", np.array(text, np.object_))])]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("TEXT", np.array(text, np.object_))])]
"""


def test_dlpack_shares_memory_both_ways(serve):
    server = serve(DLPACK)
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    (handle,) = server.execute([{"inputs": {"IN": array}, "outputs": ["OUT", "TEXT"]}])
    (response,) = server.responses[handle]
    assert response.error is None, (response.error, server.logs)
    assert response.outputs["OUT"].tolist() == array.tolist()
    strided, number, unnamed, device, used = (text.decode() for text in response.outputs["TEXT"])
    assert strided == ("DLPack tensor is not contiguous. Only contiguous DLPack tensors that are stored in C-Order are "
                       "supported.")
    assert "not int" in number
    assert unnamed == "Tensor name cannot be an empty string."
    assert device == "DLDevice type 7 is not support by Python backend."
    assert "that nobody has used" in used


def test_brain_floats_come_from_dlpack_and_go_as_they_are(serve):
    server = serve("""
        from atoll_worker.native import dlpack_capsule
        class TritonPythonModel:
            def execute(self, requests):
                raw = np.array([0x3f80, 0x4000], np.uint16)
                capsule = dlpack_capsule(raw, raw.__array_interface__["data"][0], (2,), 4, 16, 1)
                return [pb_utils.InferenceResponse([pb_utils.Tensor.from_dlpack("OUT", capsule)])]
    """)
    (handle,) = server.execute([{"outputs": ["OUT"]}])
    assert server.responses[handle][0].error is None, server.responses[handle][0].error
    assert server.responses[handle][0].outputs["OUT"] == b"\x80\x3f\x00\x40"


def test_dlpack_has_no_strings(serve):
    server = serve(DLPACK)
    (handle,) = server.execute([{"inputs": {"IN": np.array([b"a"], np.object_)}, "outputs": ["TEXT"]}])
    assert server.responses[handle][0].outputs["TEXT"].tolist() == [b"DLPack does not have support for string tensors."]

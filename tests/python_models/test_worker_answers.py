"""Answers on the short way and on the long one: a client cannot tell which it was."""

import numpy as np
import pytest

import fake_python_server  # noqa: F401  (finds the modules)

MODEL = "class TritonPythonModel:\n    def execute(self, requests):\n"


def model(body, before=""):
    return before + MODEL + "\n".join("        " + line for line in body.strip().splitlines()) + "\n"


def request(outputs=("OUT",), **inputs):
    return {"inputs": inputs or {"IN": np.arange(4, dtype=np.float32)}, "outputs": list(outputs)}


def answers(server, requests):
    handles = server.execute(requests)
    assert all(server.responses[handle].is_final for handle in handles)
    return [server.responses[handle] for handle in handles]


ECHO = model("return [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', pb_utils.get_input_tensor_by_name(r, 'IN').as_numpy())]) "
             "for r in requests]")


@pytest.fixture(params=["native", "pure"])
def environment(request):
    return {"ATOLL_WORKER_PURE": "1"} if request.param == "pure" else {}


@pytest.mark.parametrize("array", [np.arange(16, dtype=np.float32), np.array(7, np.int64), np.zeros((2, 0, 3), np.uint8),
                                   np.arange(6, dtype=np.float16).reshape(1, 2, 3), np.array([True, False]),
                                   np.array([b"text", b""], np.object_), np.arange(4096, dtype=np.int32),
                                   np.arange(40000, dtype=np.float64)], ids=lambda array: f"{array.dtype}{array.shape}")
def test_sizes_shapes_and_types(serve, environment, array):
    server = serve(ECHO, environment=environment)
    for _ in range(3):  # the first one prepares the blocks of the others
        (one,) = answers(server, [request(IN=array)])
        found = one[0].outputs["OUT"]
        assert one[0].error is None and found.shape == array.shape
        assert found.dtype == array.dtype and np.array_equal(found, array)


def test_a_batch_with_several_outputs_each(serve, environment):
    server = serve(model("""
return [pb_utils.InferenceResponse(output_tensors=[pb_utils.Tensor(name, np.full(k + 1, i, kind)) for k, (name, kind) in
                                                   enumerate((('A', np.int8), ('Bü', np.float64), ('C', np.uint16)))])
        for i, request in enumerate(requests)]
"""), environment=environment)
    for _ in range(3):
        for i, one in enumerate(answers(server, [request(outputs=("A", "Bü", "C"))] * 5)):
            assert {name: array.tolist() for name, array in one[0].outputs.items()} == {
                "A": [i], "Bü": [i] * 2, "C": [i] * 3}


def test_a_batch_of_all_kinds(serve, environment):
    server = serve(model("""
answered = [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.array([i]))]) for i in range(len(requests))]
sender = requests[1].get_response_sender()
sender.send(answered[1], 1)
requests[2].set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE)
self.kept = requests[3].get_response_sender()
return [answered[0], None, None, None, answered[4]]
"""), environment=environment)
    for _ in range(3):
        handles = server.execute([request()] * 5)
        first, second, third, fourth, fifth = (server.responses[handle] for handle in handles)
        assert [one[0].outputs["OUT"].tolist() for one in (first, second, fifth)] == [[0], [1], [4]]
        assert first.is_final and second.is_final and fifth.is_final
        assert third.is_rescheduled and not fourth.is_final and not fourth


def test_outputs_that_nobody_wants_are_left_out(serve, environment):
    server = serve(model("return [pb_utils.InferenceResponse([pb_utils.Tensor(n, np.array([1])) for n in 'ABC']) for r in requests]"),
                   environment=environment)
    for _ in range(3):
        (one,) = answers(server, [request(outputs="B")])
        assert list(one[0].outputs) == ["B"]


def test_classes_of_the_model_s_own(serve, environment):
    server = serve(model("""
tensor = Mine('OUT', pb_utils.get_input_tensor_by_name(inference_request=requests[0], name='IN').as_numpy())
assert isinstance(tensor, pb_utils.Tensor) and tensor.more == 1 and weakref.ref(tensor)() is tensor
assert pb_utils.get_input_tensor_by_name(requests[0], 'NO') is None and pb_utils.get_input_tensor_by_name(requests[0], 5) is None
assert isinstance(requests[0], pb_utils.InferenceRequest) and weakref.ref(requests[0])() is requests[0]
response = Answer([tensor])
response.mine = True
return [response]
""", before="""import weakref
class Mine(pb_utils.Tensor):
    more = 1
class Answer(pb_utils.InferenceResponse):
    pass
"""), environment=environment)
    for _ in range(3):
        (one,) = answers(server, [request()])
        assert one[0].error is None and one[0].outputs["OUT"].tolist() == [0, 1, 2, 3]


def test_arrays_that_are_no_plain_ones(serve, environment):
    server = serve(model("""
values = pb_utils.get_input_tensor_by_name(requests[0], 'IN').as_numpy()
return [pb_utils.InferenceResponse([pb_utils.Tensor('A', values[::2]), pb_utils.Tensor('B', values.reshape(2, 2).T),
                                    pb_utils.Tensor('C', values.view(Kind)), pb_utils.Tensor('D', np.array([b'x', b'yy'])),
                                    pb_utils.Tensor('E\\ud800', values)])]
""", before="class Kind(np.ndarray):\n    pass\n"), environment=environment)
    for _ in range(3):
        (one,) = answers(server, [request(outputs=())])
        found = {name: array.tolist() for name, array in one[0].outputs.items()}
        assert found == {"A": [0, 2], "B": [[0, 2], [1, 3]], "C": [0, 1, 2, 3], "D": [b"x", b"yy"], "E?": [0, 1, 2, 3]}


def test_answers_go_on_while_the_server_keeps_their_memory(serve, environment):
    server = serve(ECHO, environment=environment)
    server.keeps_blocks = True
    for i in range(30):
        (one,) = answers(server, [request(IN=np.full(8, i, np.int32))])
        assert one[0].outputs["OUT"].tolist() == [i] * 8
    offsets = [(message[3], message[4]) for message in server.kept_messages]
    assert len(set(offsets)) == len(offsets) >= 30


def test_a_process_that_the_model_forked_answers_nothing(serve, environment):
    server = serve(model("""
answer = [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.array([5]))])]
if forks:
    if os.fork() == 0:
        try:
            session.current.outbox.answer(1, [r._state for r in requests], answer)
        except pb_utils.TritonModelException:
            os._exit(7)
        os._exit(8 if not requests[0]._state.is_closed else 9)
    assert os.waitstatus_to_exitcode(os.wait()[1]) in (7, 8)
forks.append(1)
return answer
""", before="import os\nfrom atoll_worker import session\nforks = []\n"), environment=environment)
    for _ in range(3):
        (one,) = answers(server, [request()])
        assert one[0].error is None and one[0].outputs["OUT"].tolist() == [5]


def test_nothing_is_left_of_many_batches(serve):
    server = serve(model("""
import gc, sys
gc.collect()
blocks = sys.getallocatedblocks()
return [pb_utils.InferenceResponse([pb_utils.Tensor('OUT', np.array([blocks])),
                                    pb_utils.Tensor('IN', pb_utils.get_input_tensor_by_name(r, 'IN').as_numpy())]) for r in requests]
"""))

    def allocated():
        return answers(server, [request(outputs=("OUT", "IN"))] * 2)[0][0].outputs["OUT"][0]

    for _ in range(20):
        before = allocated()
    for _ in range(200):
        after = allocated()
    assert after - before < 100
    server.wait_for(lambda: not server.held_blocks())


@pytest.mark.parametrize("call, text", [
    ("pb_utils.Tensor('A')", "TypeError"), ("pb_utils.Tensor(name='A', numpy_array=5)", "TypeError: Tensor() expects a numpy.ndarray"),
    ("pb_utils.InferenceResponse([5])", "TypeError: InferenceResponse() expects a list of Tensor, not of int"),
    ("pb_utils.InferenceResponse(outputs=[])", "TypeError"),
    ("pb_utils.get_input_tensor_by_name(requests[0])", "TypeError"),
    ("type(requests[0])(inputs=[], requested_output_names=[], model_name='m')", "TypeError: Requests that execute() is given")])
def test_arguments_that_are_wrong(serve, environment, call, text):
    server = serve(model(call), environment=environment)
    (one,) = answers(server, [request()])
    assert text in one[0].error


def test_a_tensor_whose_bytes_are_elsewhere_is_refused_by_who_reads_it(serve):
    """Only the server writes what is read here; who reads does not look beyond the message all the same."""
    server = serve(ECHO)
    server.execute([request()])
    write = type(server)._tensor_record

    def far(self, payload, slab, start, name, array, own_block):
        record = list(write(self, payload, slab, start, name, array, own_block))
        record[-2] += 1 << 40
        return tuple(record)

    server._tensor_record = far.__get__(server)
    server.execute([request()], wait=False)
    assert server.process.wait(20) != 0
    server._reader.join(20)
    assert any("not inside a payload" in line.decode() for line in server.output)

"""triton_python_backend_utils without a server: what a model's own unit tests would use."""

import numpy as np
import pytest

import fake_python_server  # noqa: F401  (finds the modules)
import c_python_backend_utils
import triton_python_backend_utils as pb

NUMBERS = ["BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64"]
TYPES = [bool, np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64, np.float16, np.float32, np.float64]


def test_names_and_numbers_of_types():
    for number, (name, kind) in enumerate(zip(NUMBERS, TYPES), 1):
        assert pb.triton_string_to_numpy("TYPE_" + name) is kind
        assert pb.triton_to_numpy_type(number) is (np.bool_ if kind is bool else kind)
        assert pb.numpy_to_triton_type(kind) == number
        assert pb.numpy_to_triton_type(np.dtype(kind)) == number
    assert pb.numpy_to_triton_type(np.bool_) == 1
    assert pb.triton_string_to_numpy("TYPE_STRING") is np.object_ and pb.numpy_to_triton_type(np.object_) == 13
    assert pb.numpy_to_triton_type(np.complex64) is None
    assert pb.numpy_to_triton_type(np.dtype("complex64")) is None
    assert sorted(pb.TRITON_STRING_TO_NUMPY) == sorted(["TYPE_" + name for name in NUMBERS] + ["TYPE_STRING"])
    for unknown in ("TYPE_BF16", "FP32"):
        with pytest.raises(KeyError):
            pb.triton_string_to_numpy(unknown)


@pytest.mark.parametrize("array", [np.array([["a", b"b"], ["ü", 5]], np.object_), np.array([b"ab", b"c"], "S2")])
def test_byte_tensors_are_serialized_and_back(array):
    raw = pb.serialize_byte_tensor(array)
    expected = [element if isinstance(element, bytes) else str(element).encode() for element in array.ravel().tolist()]
    assert raw == b"".join(len(element).to_bytes(4, "little") + element for element in expected)
    for content in (raw, np.frombuffer(raw, np.uint8), bytearray(raw)):
        back = pb.deserialize_bytes_tensor(content)
        assert back.dtype == np.object_ and back.tolist() == expected


def test_byte_tensors_at_their_limits():
    assert pb.serialize_byte_tensor(np.empty(0, np.object_)) == ()
    assert pb.serialize_byte_tensor(np.zeros(2)) is None
    assert pb.deserialize_bytes_tensor(b"").shape == (0,)
    for broken in (b"\x05\0\0\0ab", b"\0\0\0", b"\x01\0\0\0a\xff\xff\xff\xff"):
        with pytest.raises(ValueError, match="BYTES"):
            pb.deserialize_bytes_tensor(broken)


def test_tensors():
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    tensor = pb.Tensor("T", array)
    assert (tensor.name(), tensor.shape(), tensor.is_cpu(), tensor.triton_dtype()) == ("T", [2, 3], True, 7)
    assert tensor.as_numpy() is array
    transposed = pb.Tensor("T", array.T)
    assert transposed.as_numpy().flags.c_contiguous and transposed.as_numpy().tolist() == array.T.tolist()
    for name, value in ((5, array), ("T", [1]), (None, array)):
        with pytest.raises(TypeError):
            pb.Tensor(name, value)
    with pytest.raises(pb.TritonModelException, match="^NumPy dtype is not supported.$"):
        pb.Tensor("T", array.astype(">i2"))


def test_brain_floats_travel_by_dlpack_alone():
    from atoll_worker.tensor import Tensor
    tensor = Tensor._of_memory("B", 14, (2,), b"\x80\x3f\0\0", 0, 4)
    with pytest.raises(pb.TritonModelException) as caught:
        tensor.as_numpy()
    assert str(caught.value) == ("Tensor dtype is BF16 and cannot be converted to NumPy. Use to_dlpack() and from_dlpack() "
                                 "instead.")
    again = pb.Tensor.from_dlpack("C", tensor)
    assert (again.triton_dtype(), again.shape(), bytes(again._bytes())) == (14, [2], b"\x80\x3f\0\0")


def test_memory_outlives_a_dlpack_capsule_and_what_took_it():
    import gc
    import weakref

    class Owner(np.ndarray):
        pass

    array = np.arange(4, dtype=np.float32).view(Owner)
    gone = weakref.ref(array)
    capsule = pb.Tensor("T", array).to_dlpack()
    del array
    gc.collect()
    taken = pb.Tensor.from_dlpack("U", capsule)
    del capsule
    view = taken.as_numpy()
    del taken
    gc.collect()
    assert gone() is not None and view.tolist() == [0, 1, 2, 3]
    del view
    gc.collect()
    assert gone() is None
    pb.Tensor("T", np.zeros(1)).to_dlpack()  # nobody takes it


def test_errors_and_responses():
    assert (pb.TritonError("m").message(), pb.TritonError("m").code()) == ("m", pb.TritonError.INTERNAL)
    codes = ["UNKNOWN", "INTERNAL", "NOT_FOUND", "INVALID_ARG", "UNAVAILABLE", "UNSUPPORTED", "ALREADY_EXISTS", "CANCELLED"]
    assert [getattr(pb.TritonError, code) for code in codes] == list(range(8))
    response = pb.InferenceResponse(output_tensors=[pb.Tensor("A", np.zeros(1))], parameters={"k": 1})
    assert pb.get_output_tensor_by_name(response, "A").name() == "A" and pb.get_output_tensor_by_name(response, "B") is None
    assert not response.has_error() and response.error() is None and response.parameters() == '{"k": 1}'
    failed = pb.InferenceResponse(error=pb.TritonError("m", pb.TritonError.CANCELLED))
    assert failed.has_error() and failed.error().code() == 7 and failed.error().code().name == "CANCELLED" and failed.output_tensors() == []
    with pytest.raises(TypeError):
        pb.InferenceResponse(error="text")
    with pytest.raises(TypeError):
        pb.TritonError(5)
    assert issubclass(pb.TritonModelException, Exception) and pb.TritonModelException.__bases__ == (Exception,)


def test_requests_have_defaults():
    tensor = pb.Tensor("A", np.zeros(1))
    request = pb.InferenceRequest(inputs=[tensor], requested_output_names=["O", "O"], model_name="m")
    assert (request.request_id(), request.correlation_id(), request.flags(), request.timeout()) == ("", 0, 0, 0)
    assert request.inputs() == [tensor] and request.requested_output_names() == {"O"}
    assert request.parameters() == "{}" and not request.is_cancelled() and request.trace().get_context() is None
    request.set_flags(pb.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START | pb.TRITONSERVER_REQUEST_FLAG_SEQUENCE_END)
    assert request.flags() == 3
    assert pb.get_input_tensor_by_name(request, "A") is tensor and pb.get_input_tensor_by_name(request, "B") is None
    with pytest.raises(pb.TritonModelException, match="there is no server"):
        request.exec()


def test_the_other_module_has_the_same_classes():
    assert c_python_backend_utils.Tensor is pb.Tensor
    assert c_python_backend_utils.InferenceTrace().get_context() is None


CONFIG = {"name": "m", "max_batch_size": 4, "input": [{"name": "I", "data_type": "TYPE_FP32", "dims": [4]},
                                                       {"name": "E", "data_type": "TYPE_INVALID", "dims": []}],
          "output": [{"name": "O", "data_type": "TYPE_INT8", "dims": [1]}]}


def config(**more):
    import copy
    return pb.ModelConfig({**copy.deepcopy(CONFIG), **more})


def test_configurations_of_tensors_are_found():
    assert pb.get_input_config_by_name(CONFIG, "I") is CONFIG["input"][0]
    assert pb.get_output_config_by_name(CONFIG, "O") is CONFIG["output"][0]
    assert pb.get_input_config_by_name(CONFIG, "O") is None and pb.get_output_config_by_name({}, "O") is None
    assert not pb.using_decoupled_model_transaction_policy(CONFIG)
    assert pb.using_decoupled_model_transaction_policy({"model_transaction_policy": {"decoupled": True}})


def test_a_configuration_is_completed():
    made = config()
    made.add_input({"name": "E", "data_type": "TYPE_INT32", "dims": [2], "optional": True})
    made.add_input({"name": "I", "data_type": "TYPE_FP32", "dims": [4]})
    made.add_output({"name": "N", "data_type": "TYPE_FP16", "dims": [-1]})
    made.set_max_batch_size(8)
    made.set_dynamic_batching()
    made.set_model_transaction_policy({"decoupled": True})
    assert made.as_dict() == {"name": "m", "max_batch_size": 8,
                              "input": [CONFIG["input"][0], {"name": "E", "data_type": "TYPE_INT32", "dims": [2], "optional": True}],
                              "output": [CONFIG["output"][0], {"name": "N", "data_type": "TYPE_FP16", "dims": [-1]}],
                              "dynamic_batching": {}, "model_transaction_policy": {"decoupled": True}}
    assert pb.ModelConfig('{"name": "text"}').as_dict() == {"name": "text"}
    made.as_dict()["extra"] = 1
    assert made.as_dict()["extra"] == 1


FULL = {"name": "I", "data_type": "TYPE_FP32", "dims": [4]}
WHERE = "in auto-complete-config function for model 'm'"


@pytest.mark.parametrize("call, argument, text", [
    ("set_max_batch_size", 2, f"configuration specified max_batch_size 4, but {WHERE} specified max_batch_size 2"),
    ("add_input", {**FULL, "x": 1}, f"input 'I' {WHERE} contains property other than 'name', 'data_type', 'dims' and 'optional'. "
                                      "It has 'x'."),
    ("add_output", {**FULL, "optional": True}, f"output 'I' {WHERE} contains property other than 'name', 'data_type' and 'dims'. "
                                               "It has 'optional'."),
    ("add_input", {"data_type": "TYPE_FP32", "dims": [1]}, f"input {WHERE} is missing 'name' property."),
    ("add_input", {"name": "I", "dims": [1]}, f"input 'I' {WHERE} is missing 'data_type' property."),
    ("add_output", {"name": "I", "data_type": "TYPE_FP32"}, f"output 'I' {WHERE} is missing 'dims' property."),
    ("add_input", {**FULL, "data_type": "TYPE_INT8"},
     "unable to load model 'm', configuration expects datatype TYPE_FP32 for input 'I', model provides TYPE_INT8"),
    ("add_input", {**FULL, "dims": [5, 1]},
     "model 'm', tensor 'I': the model expects dims [5, 1] but the model configuration specifies dims [4]"),
    ("add_output", {"name": "O", "data_type": "TYPE_INT8", "dims": [2]},
     "model 'm', tensor 'O': the model expects dims [2] but the model configuration specifies dims [1]"),
    ("set_model_transaction_policy", {"x": 1},
     "model transaction property in auto-complete-config function for model 'm' contains property other than 'decoupled'. "
     "It has 'x'."),
])
def test_a_contradiction_is_an_error(call, argument, text):
    with pytest.raises(ValueError) as caught:
        getattr(config(), call)(argument)
    assert str(caught.value) == text


def test_a_configured_scheduler_and_policy_stay():
    with pytest.raises(ValueError) as caught:
        config(sequence_batching={}).set_dynamic_batching()
    assert str(caught.value) == ("Configuration specified scheduling_choice as 'sequence_batching', but auto-complete-config function "
                                 "for model 'm' tries to set scheduling_choice as 'dynamic_batching'")
    with pytest.raises(ValueError) as caught:
        config(model_transaction_policy={"decoupled": True}).set_model_transaction_policy({"decoupled": False})
    assert str(caught.value) == ("trying to change decoupled property in auto-complete-config for model 'm', which is already set to "
                                 "'True'.")


ARRAY = np.zeros(1, np.float32)


def request(**more):
    return pb.InferenceRequest(**{"model_name": "m", "requested_output_names": ["O"], "inputs": [pb.Tensor("I", ARRAY)], **more})


def test_texts_may_be_bytes():
    made = request(model_name=b"m\xc3\xbc", request_id=b"id", requested_output_names=[b"O", "P"])
    assert (made.model_name(), made.request_id(), made.requested_output_names()) == ("m\u00fc", "id", {"O", "P"})
    assert pb.Tensor(b"T", ARRAY).name() == "T" and pb.Tensor.from_dlpack(b"D", ARRAY).name() == "D"
    assert pb.TritonError(b"no").message() == "no"
    for call in (lambda: pb.Tensor(b"\xff", ARRAY), lambda: request(model_name=b"\xff"), lambda: pb.TritonError(b"\xff")):
        with pytest.raises(TypeError, match="bytes in UTF-8"):
            call()
    with pytest.raises(pb.TritonModelException, match="^Tensor name cannot be an empty string.$"):
        pb.Tensor(b"", ARRAY)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8, np.uint32])
def test_numbers_may_be_numpys(kind):
    made = request(model_version=kind(2), flags=kind(1), timeout=kind(5))
    assert [(type(value), value) for value in (made.model_version(), made.flags(), made.timeout())] == [(int, 2), (int, 1), (int, 5)]
    made.set_flags(kind(3))
    assert (type(made.flags()), made.flags()) == (int, 3)


@pytest.mark.parametrize("name", ["model_version", "flags", "timeout"])
@pytest.mark.parametrize("value", [1.0, np.float32(1), "1", None])
def test_what_is_no_integer_is_refused(name, value):
    with pytest.raises(TypeError, match=f"expects {name} as int, not {type(value).__name__}"):
        request(**{name: value})


@pytest.mark.parametrize("call", [
    lambda: request(requested_output_names=[None]), lambda: request(requested_output_names=["O", None]), lambda: request(correlation_id=None),
    lambda: request(preferred_memory=None), lambda: request(trace=None), lambda: request(model_name=None), lambda: request(inputs=None),
    lambda: pb.InferenceResponse(None), lambda: pb.InferenceResponse(output_tensors=None, error=pb.TritonError("no")),
    lambda: pb.Logger.log(None), lambda: pb.Logger.log_info(None), lambda: pb.Logger.log_warn(None), lambda: pb.Logger.log_error(None),
    lambda: pb.Logger.log_verbose(None), lambda: pb.TritonError(None), lambda: pb.load_model(None), lambda: pb.load_model("m", None),
    lambda: pb.unload_model(None), lambda: pb.is_model_ready(None)])
def test_none_is_no_argument(call):
    with pytest.raises(TypeError):
        call()


def test_none_is_what_may_be_left_out():
    assert request(parameters=None).parameters() == "{}"
    assert pb.InferenceResponse(error=None, parameters=None).output_tensors() == []
    assert pb.InferenceResponse(error=pb.TritonError("no")).output_tensors() == []


@pytest.mark.parametrize("parameters", [[], [1], "x", 5])
def test_parameters_are_a_dictionary(parameters):
    for call in (lambda: request(parameters=parameters), lambda: pb.InferenceResponse(parameters=parameters)):
        with pytest.raises(pb.TritonModelException, match=f"Expect parameters as dict, got <class '{type(parameters).__name__}'>"):
            call()


@pytest.mark.parametrize("dims", [[np.int64(4), -1], (4, -1), np.array([4, -1])])
def test_dimensions_may_be_numpys(dims):
    config = pb.ModelConfig({"name": "m"})
    config.add_input({"name": "I", "data_type": "TYPE_FP32", "dims": dims})
    config.set_max_batch_size(np.int64(8))
    assert config.as_dict() == {"name": "m", "max_batch_size": 8, "input": [{"name": "I", "data_type": "TYPE_FP32", "dims": [4, -1]}]}
    assert [type(dim) for dim in config.as_dict()["input"][0]["dims"]] == [int, int]


@pytest.mark.parametrize("dims", [[1.5], ["4"], 4, None])
def test_dimensions_that_are_none_are_named(dims):
    with pytest.raises(ValueError) as raised:
        pb.ModelConfig({"name": "m"}).add_output({"name": "O", "data_type": "TYPE_FP32", "dims": dims})
    assert str(raised.value) == (f"output 'O' in auto-complete-config function for model 'm' has the property 'dims' as {dims!r}, where a list of "
                                 "integers is expected.")

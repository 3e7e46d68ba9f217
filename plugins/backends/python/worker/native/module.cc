#include <sys/prctl.h>

#include <csignal>

#include "backends/python/worker/native/answer_blocks.h"
#include "backends/python/worker/native/answers.h"
#include "backends/python/worker/native/dlpack.h"
#include "backends/python/worker/native/elements.h"
#include "backends/python/worker/native/objects.h"
#include "backends/python/worker/native/python_api.h"
#include "backends/python/worker/native/records.h"
#include "backends/python/worker/native/region.h"
#include "backends/python/worker/native/ring.h"

namespace atl::python {
namespace {

PyObject* die_with_parent(PyObject* /*module*/, PyObject* /*unused*/) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return PyErr_SetFromErrno(PyExc_OSError);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    method("split_elements", split_elements, "split_elements(buffer, count): elements of a BYTES tensor"),
    {"measure_elements", measure_elements, METH_O,
     "measure_elements(list): their size; makes all of them bytes"},
    method("write_elements", write_elements, "write_elements(list, region, offset)"),
    method("parse_tensors", parse_tensors, "parse_tensors(block, offset, count)"),
    method("read_requests", read_requests, "read_requests(link, outbox, block): (requests, their states)"),
    {"batch_time", batch_time, METH_NOARGS, "batch_time(): ns since read_requests() was called last"},
    method("send_answers", send_answers,
           "send_answers(ring, blocks, guard, batch, states, responses): the end of a batch"),
    method("configure_tensors", configure_tensors, "configure_tensors(ndarray, numbers, dtypes, Tensor)"),
    {"set_request_class", set_request_class, METH_O, "set_request_class(ReceivedRequest)"},
    {"get_input_tensor_by_name",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(get_input_tensor_by_name)),
     METH_VARARGS | METH_KEYWORDS,
     "get_input_tensor_by_name(inference_request, name): None if there is none of this name"},
    method("dlpack_capsule", dlpack_capsule, "dlpack_capsule(owner, address, shape, code, bits, lanes)"),
    {"die_with_parent", die_with_parent, METH_NOARGS,
     "The process is killed when the thread that started it ends"},
    {nullptr, nullptr, 0, nullptr}};

int execute(PyObject* module) {
  if (!add_region_types(module) || !add_ring_type(module) || !add_dlpack_type(module)) return -1;
  if (!add_tensor_type(module) || !add_request_types(module) || !add_response_type(module) ||
      !add_answer_blocks_type(module) || !add_answer_names()) {
    return -1;
  }
  return PyModule_AddIntConstant(module, "PROTOCOL_VERSION", kProtocolVersion);
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};
PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_atoll_python",
                          "Shared memory and codecs of the worker that runs Python models.",
                          0,
                          functions,
                          slots,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace atl::python

PyMODINIT_FUNC PyInit__atoll_python() { return PyModuleDef_Init(&atl::python::definition); }

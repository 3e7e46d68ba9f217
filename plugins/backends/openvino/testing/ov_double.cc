/// A library with the calls of OpenVINO's C API that the plugin makes, for tests where OpenVINO is not. Its models are lines of text
/// in what begins like an IR file:
///
///     input NAME ELEMENT_TYPE 2,-1      its type by OpenVINO's number
///     output NAME ELEMENT_TYPE -1
///     op add | identity | positions | total
///
/// It behaves as OpenVINO does where that is a trap: the one call that runs a model says nothing of a run that has failed if the model
/// has one thread that is not the caller's, and its outputs stay as they were.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "backends/openvino/library/ov_api.h"
#include "backends/openvino/testing/double_counts.h"

namespace {

using atl::openvino::OvDimension;
using atl::openvino::OvPartialShape;
using atl::openvino::OvProperty;
using atl::openvino::OvShape;
using atl::openvino::OvStatus;
using atl::openvino::OvVersion;

constexpr OvStatus kFailed = -1;
constexpr int kString = 23;

std::mutex g_mutex;  // guards g_error
std::string g_error;
std::atomic<int64_t> g_objects{0}, g_compilations{0}, g_runs{0}, g_runs_apart{0};

OvStatus fail(const std::string& text) {
  std::lock_guard lock(g_mutex);
  g_error = "Exception from src/double.cc:1:\n" + text + "\n";
  return kFailed;
}

char* copied(const std::string& text) { return ::strdup(text.c_str()); }

size_t element_bytes(int type) {
  switch (type) {
    case 3:
    case 2:
    case 8:
    case 17:
      return 2;
    case 4:
    case 9:
    case 18:
      return 4;
    case 5:
    case 10:
    case 19:
      return 8;
    case kString:
      return sizeof(std::string);
    default:
      return 1;
  }
}

struct Port {
  std::string name;
  int type = 0;
  std::vector<int64_t> dims;
};

struct Counted {
  Counted() { ++g_objects; }
  Counted(const Counted&) { ++g_objects; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --g_objects; }
};

size_t count_of(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t dim : shape) count *= static_cast<size_t>(dim);
  return count;
}

/// What a tensor is; a handle of the API shares it.
struct Data {
  int type = 0;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
  std::vector<std::string> texts;
  void* borrowed = nullptr;

  void set_shape(const std::vector<int64_t>& wanted) {
    shape = wanted;
    if (type == kString)
      texts.resize(count_of(shape));
    else
      bytes.resize(count_of(shape) * element_bytes(type));
  }
  void* data() {
    if (borrowed != nullptr) return borrowed;
    return type == kString ? static_cast<void*>(texts.data()) : bytes.data();
  }
  template <class T>
  T* as() {
    return static_cast<T*>(data());
  }
};

}  // namespace

namespace atl::openvino {

struct OvCore : Counted {};
struct OvModel : Counted {
  std::vector<Port> inputs, outputs;
  std::string op;
};
struct OvCompiledModel : Counted {
  OvModel model;
  int64_t threads = 2, streams = 1;
};
struct OvTensor : Counted {
  std::shared_ptr<Data> data;
};
struct OvPort : Counted {
  Port port;
  size_t index = 0;
  bool is_input = false;
};
struct OvInferRequest : Counted {
  const OvCompiledModel* on = nullptr;
  std::vector<std::shared_ptr<Data>> inputs, outputs;
  OvStatus status = 0;
  float sum = 0;  ///< the state of `total`
};

}  // namespace atl::openvino

namespace {

using namespace atl::openvino;

std::shared_ptr<Data> new_data(const Port& port) {
  auto data = std::make_shared<Data>();
  data->type = port.type;
  std::vector<int64_t> shape = port.dims;
  for (int64_t& dim : shape) dim = std::max<int64_t>(dim, 0);
  data->set_shape(shape);
  return data;
}

OvStatus add(OvInferRequest& request) {
  Data &a = *request.inputs[0], &b = *request.inputs[1], &sum = *request.outputs[0];
  if (a.shape != b.shape) return fail("Add node: shapes do not fit");
  const size_t count = count_of(a.shape);
  for (size_t i = 0; i < count; ++i) {
    if (a.as<float>()[i] < 0) return fail("Add node: a value is below zero");
  }
  sum.set_shape(a.shape);
  for (size_t i = 0; i < count; ++i) sum.as<float>()[i] = a.as<float>()[i] + b.as<float>()[i];
  return 0;
}

OvStatus identity(OvInferRequest& request) {
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    Data &from = *request.inputs[i], &to = *request.outputs[i];
    to.set_shape(from.shape);
    if (to.type == kString) {
      std::copy_n(from.as<std::string>(), count_of(from.shape), to.as<std::string>());
    } else if (!to.bytes.empty()) {
      std::memcpy(to.data(), from.data(), to.bytes.size());
    }
  }
  return 0;
}

/// Where the elements are that are not 0.
OvStatus positions(OvInferRequest& request) {
  Data &from = *request.inputs[0], &to = *request.outputs[0];
  std::vector<int64_t> found;
  for (size_t i = 0; i < count_of(from.shape); ++i) {
    if (from.as<int32_t>()[i] != 0) found.push_back(static_cast<int64_t>(i));
  }
  to.set_shape({1, static_cast<int64_t>(found.size())});
  std::copy(found.begin(), found.end(), to.as<int64_t>());
  return 0;
}

/// The sum of the first elements of all runs of the infer request.
OvStatus total(OvInferRequest& request) {
  request.sum += request.inputs[0]->as<float>()[0];
  request.outputs[0]->set_shape(request.inputs[0]->shape);
  request.outputs[0]->as<float>()[0] = request.sum;
  return 0;
}

OvStatus compute(OvInferRequest& request) {
  const std::string& op = request.on->model.op;
  return op == "add"        ? add(request)
         : op == "identity" ? identity(request)
         : op == "total"    ? total(request)
                            : positions(request);
}

bool read_port(std::istringstream& line, std::vector<Port>& ports) {
  Port port;
  std::string dims;
  line >> port.name >> port.type >> dims;
  std::istringstream parts(dims);
  for (std::string dim; std::getline(parts, dim, ',');) port.dims.push_back(std::atoll(dim.c_str()));
  ports.push_back(port);
  return !port.name.empty();
}

OvStatus port_of(const std::vector<Port>& ports, size_t index, bool is_input, OvPort** made) {
  if (index >= ports.size()) return fail("no such port");
  *made = new OvPort;
  (*made)->port = ports[index];
  (*made)->index = index;
  (*made)->is_input = is_input;
  return 0;
}

OvStatus named_port(const std::vector<Port>& ports, const char* name, bool is_input, OvPort** made) {
  const auto found =
      std::find_if(ports.begin(), ports.end(), [&](const Port& port) { return port.name == name; });
  return port_of(ports, static_cast<size_t>(found - ports.begin()), is_input, made);
}

std::vector<int64_t> dims_of(OvShape shape) { return {shape.dims, shape.dims + shape.rank}; }

bool loses_errors(const OvCompiledModel& model) { return model.threads < 2 && model.streams != 0; }

}  // namespace

#define DOUBLE_CALL extern "C" __attribute__((visibility("default")))

DOUBLE_CALL void ov_double_counts(OvDoubleCounts* counts) {
  *counts = {g_objects.load(), g_compilations.load(), g_runs.load(), g_runs_apart.load()};
}

DOUBLE_CALL OvStatus ov_get_openvino_version(OvVersion* version) {
  *version = {copied("2026.4.0-double"), copied("a test double")};
  return 0;
}
DOUBLE_CALL void ov_version_free(OvVersion* version) {
  std::free(const_cast<char*>(version->build_number));
  std::free(const_cast<char*>(version->description));
}
DOUBLE_CALL void ov_free(const char* text) { std::free(const_cast<char*>(text)); }
DOUBLE_CALL const char* ov_get_last_err_msg() {
  std::lock_guard lock(g_mutex);
  return copied(g_error);
}

DOUBLE_CALL OvStatus ov_core_create(OvCore** core) {
  *core = new OvCore;
  return 0;
}
DOUBLE_CALL void ov_core_free(OvCore* core) { delete core; }
DOUBLE_CALL OvStatus ov_core_set_properties(const OvCore*, const char*, size_t, const OvProperty*) {
  return 0;
}
DOUBLE_CALL OvStatus ov_core_add_extension(const OvCore*, const char* path) {
  return fail(std::string("no extension ") + path);
}

DOUBLE_CALL OvStatus ov_core_read_model(const OvCore*, const char* path, const char*, OvModel** made) {
  std::ifstream file(path);
  auto model = std::make_unique<OvModel>();
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string word;
    line >> word;
    if (word == "input" && !read_port(line, model->inputs)) return fail("a port without a name");
    if (word == "output" && !read_port(line, model->outputs)) return fail("a port without a name");
    if (word == "op") line >> model->op;
  }
  if (model->op.empty()) return fail("Unable to read the model: " + std::string(path));
  *made = model.release();
  return 0;
}

DOUBLE_CALL OvStatus ov_core_compile_model_props(const OvCore*, const OvModel* model, const char* device,
                                                 size_t count, const OvProperty* properties,
                                                 OvCompiledModel** made) {
  if (std::string(device) != "CPU") return fail("no such device");
  auto compiled = std::make_unique<OvCompiledModel>();
  compiled->model = *model;
  for (size_t i = 0; i < count; ++i) {
    const std::string key = properties[i].key, value = static_cast<const char*>(properties[i].value);
    if (key == "NUM_STREAMS") compiled->streams = std::atoll(value.c_str());
    if (key == "INFERENCE_NUM_THREADS") compiled->threads = std::atoll(value.c_str());
  }
  ++g_compilations;
  *made = compiled.release();
  return 0;
}

DOUBLE_CALL void ov_model_free(OvModel* model) { delete model; }
DOUBLE_CALL OvStatus ov_model_inputs_size(const OvModel* model, size_t* size) {
  *size = model->inputs.size();
  return 0;
}
DOUBLE_CALL OvStatus ov_model_outputs_size(const OvModel* model, size_t* size) {
  *size = model->outputs.size();
  return 0;
}
DOUBLE_CALL OvStatus ov_model_const_input_by_index(const OvModel* model, size_t index, OvPort** made) {
  return port_of(model->inputs, index, true, made);
}
DOUBLE_CALL OvStatus ov_model_const_output_by_index(const OvModel* model, size_t index, OvPort** made) {
  return port_of(model->outputs, index, false, made);
}
DOUBLE_CALL OvStatus ov_model_const_input_by_name(const OvModel* model, const char* name, OvPort** made) {
  return named_port(model->inputs, name, true, made);
}
DOUBLE_CALL OvStatus ov_model_const_output_by_name(const OvModel* model, const char* name, OvPort** made) {
  return named_port(model->outputs, name, false, made);
}
DOUBLE_CALL OvStatus ov_model_reshape(const OvModel* model, const char** names, const OvPartialShape* shapes,
                                      size_t size) {
  auto& changed = *const_cast<OvModel*>(model);
  for (size_t i = 0; i < size; ++i) {
    for (std::vector<Port>* ports : {&changed.inputs, &changed.outputs}) {
      for (Port& port : *ports) {
        if (ports == &changed.inputs && port.name != names[i]) continue;
        if (static_cast<int64_t>(port.dims.size()) != shapes[i].rank.max)
          return fail("reshape: another rank");
        for (size_t k = 0; k < port.dims.size(); ++k) {
          const OvDimension& dim = shapes[i].dims[k];
          port.dims[k] = dim.min == dim.max ? dim.max : -1;
        }
      }
    }
  }
  return 0;
}

DOUBLE_CALL OvStatus ov_port_get_any_name(const OvPort* port, char** name) {
  *name = copied(port->port.name);
  return 0;
}
DOUBLE_CALL OvStatus ov_port_get_partial_shape(const OvPort* port, OvPartialShape* shape) {
  const auto rank = static_cast<int64_t>(port->port.dims.size());
  *shape = {{rank, rank}, new OvDimension[port->port.dims.size()]};
  for (size_t i = 0; i < port->port.dims.size(); ++i) {
    const int64_t dim = port->port.dims[i];
    shape->dims[i] = {std::max<int64_t>(dim, 0), dim};
  }
  return 0;
}
DOUBLE_CALL OvStatus ov_port_get_element_type(const OvPort* port, int* type) {
  *type = port->port.type;
  return 0;
}
DOUBLE_CALL void ov_output_const_port_free(OvPort* port) { delete port; }
DOUBLE_CALL void ov_partial_shape_free(OvPartialShape* shape) { delete[] shape->dims; }
DOUBLE_CALL OvStatus ov_shape_free(OvShape* shape) {
  delete[] shape->dims;
  return 0;
}

DOUBLE_CALL void ov_compiled_model_free(OvCompiledModel* model) { delete model; }
DOUBLE_CALL OvStatus ov_compiled_model_input_by_name(const OvCompiledModel* model, const char* name,
                                                     OvPort** made) {
  return named_port(model->model.inputs, name, true, made);
}
DOUBLE_CALL OvStatus ov_compiled_model_output_by_name(const OvCompiledModel* model, const char* name,
                                                      OvPort** made) {
  return named_port(model->model.outputs, name, false, made);
}
DOUBLE_CALL OvStatus ov_compiled_model_get_property(const OvCompiledModel* model, const char* key,
                                                    char** value) {
  const std::string name = key;
  if (name != "NUM_STREAMS" && name != "INFERENCE_NUM_THREADS") return fail("no such property");
  *value = copied(std::to_string(name == "NUM_STREAMS" ? model->streams : model->threads));
  return 0;
}
DOUBLE_CALL OvStatus ov_compiled_model_create_infer_request(const OvCompiledModel* model,
                                                            OvInferRequest** made) {
  auto request = std::make_unique<OvInferRequest>();
  request->on = model;
  for (const Port& port : model->model.inputs) request->inputs.push_back(new_data(port));
  for (const Port& port : model->model.outputs) request->outputs.push_back(new_data(port));
  *made = request.release();
  return 0;
}

DOUBLE_CALL void ov_infer_request_free(OvInferRequest* request) { delete request; }
DOUBLE_CALL OvStatus ov_infer_request_get_tensor_by_const_port(const OvInferRequest* request,
                                                               const OvPort* port, OvTensor** made) {
  *made = new OvTensor;
  (*made)->data = (port->is_input ? request->inputs : request->outputs)[port->index];
  return 0;
}
DOUBLE_CALL OvStatus ov_infer_request_set_tensor_by_const_port(OvInferRequest* request, const OvPort* port,
                                                               const OvTensor* tensor) {
  (port->is_input ? request->inputs : request->outputs)[port->index] = tensor->data;
  return 0;
}
DOUBLE_CALL OvStatus ov_infer_request_infer(OvInferRequest* request) {
  ++g_runs;
  const OvStatus status = compute(*request);
  return loses_errors(*request->on) ? 0 : status;
}
DOUBLE_CALL OvStatus ov_infer_request_start_async(OvInferRequest* request) {
  ++g_runs;
  ++g_runs_apart;
  request->status = compute(*request);
  return 0;
}
DOUBLE_CALL OvStatus ov_infer_request_wait(OvInferRequest* request) { return request->status; }

DOUBLE_CALL OvStatus ov_tensor_create_from_host_ptr(int type, OvShape shape, void* data, OvTensor** made) {
  *made = new OvTensor;
  (*made)->data = std::make_shared<Data>();
  (*made)->data->type = type;
  (*made)->data->shape = dims_of(shape);
  (*made)->data->borrowed = data;
  return 0;
}
DOUBLE_CALL OvStatus ov_tensor_set_shape(OvTensor* tensor, OvShape shape) {
  tensor->data->set_shape(dims_of(shape));
  return 0;
}
DOUBLE_CALL OvStatus ov_tensor_get_shape(const OvTensor* tensor, OvShape* shape) {
  const std::vector<int64_t>& dims = tensor->data->shape;
  *shape = {static_cast<int64_t>(dims.size()), new int64_t[dims.size()]};
  std::copy(dims.begin(), dims.end(), shape->dims);
  return 0;
}
DOUBLE_CALL OvStatus ov_tensor_get_byte_size(const OvTensor* tensor, size_t* size) {
  *size = count_of(tensor->data->shape) * element_bytes(tensor->data->type);
  return 0;
}
DOUBLE_CALL OvStatus ov_tensor_data(const OvTensor* tensor, void** data) {
  *data = tensor->data->data();
  return 0;
}
DOUBLE_CALL void ov_tensor_free(OvTensor* tensor) { delete tensor; }

// The digits classifier for the real Triton, whose package has no ONNX Runtime backend: the same library as
// Atoll's backend uses, one run a batch, one thread. The model has one input, "image" FP32 [n, 64], and two
// outputs, "probabilities" FP32 [n, 10] and "label" INT64 [n, 1].
#include <onnxruntime_cxx_api.h>

#include <array>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "triton_api.h"

namespace {

using bench::now_ns;

constexpr int64_t kPixels = 64;
constexpr int64_t kClasses = 10;

struct Model {
  Ort::Env env{ORT_LOGGING_LEVEL_WARNING, "digits"};
  Ort::Session session{nullptr};
};

/// What one request of a batch brings and where its answer goes.
struct Item {
  TRITONBACKEND_Response* response = nullptr;
  const float* pixels = nullptr;
  int64_t rows = 0;
  float* probabilities = nullptr;
  int64_t* label = nullptr;
};

/// Throws what the server reports, with its text lost: it can only be a fault of this backend.
void check(TRITONSERVER_Error* error) {
  if (error == nullptr) return;
  TRITONSERVER_ErrorDelete(error);
  throw std::runtime_error("a call of the server failed");
}

template <class T>
T* make_output(TRITONBACKEND_Response* response, const char* name, int datatype, int64_t rows,
               int64_t columns) {
  const std::array<int64_t, 2> shape{rows, columns};
  TRITONBACKEND_Output* output = nullptr;
  check(TRITONBACKEND_ResponseOutput(response, &output, name, datatype, shape.data(), shape.size()));
  void* buffer = nullptr;
  int memory = bench::kMemoryCpu;
  int64_t memory_id = 0;
  const auto bytes = static_cast<uint64_t>(rows * columns) * sizeof(T);
  check(TRITONBACKEND_OutputBuffer(output, &buffer, bytes, &memory, &memory_id));
  return static_cast<T*>(buffer);
}

Item open_request(TRITONBACKEND_Request* request) {
  Item item;
  TRITONBACKEND_Input* input = nullptr;
  check(TRITONBACKEND_RequestInputByIndex(request, 0, &input));
  const int64_t* shape = nullptr;
  uint32_t dims = 0;
  uint32_t buffers = 0;
  uint64_t bytes = 0;
  check(TRITONBACKEND_InputProperties(input, nullptr, nullptr, &shape, &dims, &bytes, &buffers));
  if (dims != 2 || shape[1] != kPixels || buffers != 1 ||
      bytes != static_cast<uint64_t>(shape[0] * kPixels) * 4) {
    throw std::invalid_argument("the image is not one buffer of FP32 [n, 64]");
  }
  item.rows = shape[0];
  const void* pixels = nullptr;
  int memory = bench::kMemoryCpu;
  int64_t memory_id = 0;
  check(TRITONBACKEND_InputBuffer(input, 0, &pixels, &bytes, &memory, &memory_id));
  item.pixels = static_cast<const float*>(pixels);
  check(TRITONBACKEND_ResponseNew(&item.response, request));
  item.probabilities =
      make_output<float>(item.response, "probabilities", bench::kTypeFp32, item.rows, kClasses);
  item.label = make_output<int64_t>(item.response, "label", bench::kTypeInt64, item.rows, 1);
  return item;
}

void run(Model& model, const float* pixels, int64_t rows, float* probabilities, int64_t* labels) {
  static const Ort::MemoryInfo memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  const std::array<int64_t, 2> in{rows, kPixels};
  const std::array<int64_t, 2> probabilities_shape{rows, kClasses};
  const std::array<int64_t, 2> label_shape{rows, 1};
  // ONNX Runtime does not write to inputs; its API has no const.
  const Ort::Value input = Ort::Value::CreateTensor<float>(
      memory, const_cast<float*>(pixels), static_cast<size_t>(rows * kPixels), in.data(), in.size());
  std::array<Ort::Value, 2> outputs{
      Ort::Value::CreateTensor<float>(memory, probabilities, static_cast<size_t>(rows * kClasses),
                                      probabilities_shape.data(), probabilities_shape.size()),
      Ort::Value::CreateTensor<int64_t>(memory, labels, static_cast<size_t>(rows), label_shape.data(),
                                        label_shape.size())};
  constexpr std::array<const char*, 1> kInputs{"image"};
  constexpr std::array<const char*, 2> kOutputs{"probabilities", "label"};
  model.session.Run(Ort::RunOptions{nullptr}, kInputs.data(), &input, 1, kOutputs.data(), outputs.data(),
                    outputs.size());
}

/// Joins the requests of a batch, runs them at once and hands out the parts.
void run_batch(Model& model, const std::vector<Item>& items, int64_t rows) {
  if (items.size() == 1) {
    run(model, items[0].pixels, rows, items[0].probabilities, items[0].label);
    return;
  }
  std::vector<float> pixels;
  pixels.reserve(static_cast<size_t>(rows * kPixels));
  for (const Item& item : items) pixels.insert(pixels.end(), item.pixels, item.pixels + item.rows * kPixels);
  std::vector<float> probabilities(static_cast<size_t>(rows * kClasses));
  std::vector<int64_t> labels(static_cast<size_t>(rows));
  run(model, pixels.data(), rows, probabilities.data(), labels.data());
  const float* probability = probabilities.data();
  const int64_t* label = labels.data();
  for (const Item& item : items) {
    std::memcpy(item.probabilities, probability, static_cast<size_t>(item.rows * kClasses) * sizeof(float));
    std::memcpy(item.label, label, static_cast<size_t>(item.rows) * sizeof(int64_t));
    probability += item.rows * kClasses;
    label += item.rows;
  }
}

}  // namespace

BENCH_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model* model) {
  try {
    int artifact = 0;
    const char* folder = nullptr;
    check(TRITONBACKEND_ModelRepository(model, &artifact, &folder));
    auto state = std::make_unique<Model>();
    Ort::SessionOptions options;
    options.SetIntraOpNumThreads(1);
    state->session = Ort::Session(state->env, (std::string(folder) + "/1/model.onnx").c_str(), options);
    check(TRITONBACKEND_ModelSetState(model, state.release()));
    return nullptr;
  } catch (const std::exception& error) {
    return TRITONSERVER_ErrorNew(bench::kErrorInternal, error.what());
  }
}

BENCH_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model* model) {
  void* state = nullptr;
  TRITONBACKEND_ModelState(model, &state);
  delete static_cast<Model*>(state);
  return nullptr;
}

BENCH_EXPORT TRITONSERVER_Error* TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance* instance,
                                                                    TRITONBACKEND_Request** requests,
                                                                    uint32_t count) {
  const uint64_t start = now_ns();
  std::vector<Item> items;
  items.reserve(count);
  try {
    TRITONBACKEND_Model* model = nullptr;
    void* state = nullptr;
    check(TRITONBACKEND_ModelInstanceModel(instance, &model));
    check(TRITONBACKEND_ModelState(model, &state));
    int64_t rows = 0;
    for (uint32_t i = 0; i < count; ++i) {
      items.push_back(open_request(requests[i]));
      rows += items.back().rows;
    }
    const uint64_t compute_start = now_ns();
    run_batch(*static_cast<Model*>(state), items, rows);
    const uint64_t compute_end = now_ns();
    for (uint32_t i = 0; i < count; ++i) {
      TRITONBACKEND_ResponseSend(items[i].response, bench::kResponseComplete, nullptr);
      TRITONBACKEND_ModelInstanceReportStatistics(instance, requests[i], true, start, compute_start,
                                                  compute_end, now_ns());
    }
    TRITONBACKEND_ModelInstanceReportBatchStatistics(instance, static_cast<uint64_t>(rows), start,
                                                     compute_start, compute_end, now_ns());
    for (uint32_t i = 0; i < count; ++i) TRITONBACKEND_RequestRelease(requests[i], bench::kRequestReleaseAll);
    return nullptr;
  } catch (const std::exception& error) {
    // The server still owns all requests and answers them with this error. What has been made for them is not
    // taken back: the measurement sends only good requests, and a fault ends it.
    return TRITONSERVER_ErrorNew(bench::kErrorInvalidArgument, error.what());
  }
}

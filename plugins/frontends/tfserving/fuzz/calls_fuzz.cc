// Any bytes as the body of a call, as the rest of a path, and as what a model answers. The first byte chooses. What is read has
// to have the bytes that its shape says, and what is written has to be JSON.
#include <cstdlib>
#include <string>

#include "atoll/lib/checked_document.h"
#include "frontends/tfserving/answer/tensor_answer.h"
#include "frontends/tfserving/request/call_target.h"
#include "frontends/tfserving/request/tensor_requests.h"
#include "fuzz_target.h"

namespace {

using namespace atl;                        // NOLINT
using namespace atl::frontends::tfserving;  // NOLINT

constexpr uint64_t kMostElements = 10'000;

ModelInfo model_of(unsigned kind) {
  constexpr DataType kTypes[] = {DataType::kFp32, DataType::kBytes, DataType::kInt64, DataType::kFp16};
  ModelInfo model;
  model.name = "m";
  model.max_batch_size = kind & 1;
  for (const char* name : {"a", "b"}) {
    TensorSpec& spec = model.inputs.emplace_back();
    spec.name = name;
    spec.datatype = kTypes[kind / 2 % 4];
    spec.dims = {1};
    spec.optional = (kind & 8) != 0 && name[0] == 'b';
    if ((kind & 16) != 0) break;
  }
  model.outputs = model.inputs;
  return model;
}

void expect_json(const Result<std::string>& json) {
  if (!json.ok()) return;
  CheckedDocument document;
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseNanAndInfFlag;
  document.Parse<kFlags>(json.value().data(), json.value().size());
  if (document.HasParseError()) std::abort();
}

/// The inputs, as the answer of a model that gives them back.
void check(const Result<TensorRequest>& read, const ModelInfo& model) {
  if (!read.ok()) return;
  const TensorRequest& request = read.value();
  std::vector<TakenTensor> outputs;
  for (const GivenTensor& tensor : request.inputs) {
    OutputTensor output;
    output.name = tensor.name;
    output.datatype = tensor.datatype;
    output.shape = tensor.shape;
    output.buffer.data = const_cast<char*>(tensor.bytes.data());
    output.buffer.size_bytes = tensor.bytes.size();
    if (!append_output(output, outputs).ok()) std::abort();
    if (tensor.shape.empty()) continue;
    std::string joined;
    for (int64_t row = 0; row < tensor.shape[0]; ++row) joined += tensor.rows(row, 1);
    if (joined != tensor.bytes) std::abort();
  }
  expect_json(predict_json(outputs, request.is_row, request.rows));
  expect_json(classify_json(outputs, model, request.rows));
  expect_json(regress_json(outputs, request.rows));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const unsigned kind = data[0];
  const ModelInfo model = model_of(kind);
  switch (kind >> 5) {
    case 0:
      (void)read_target(rest, (kind & 1) != 0);
      break;
    case 1:
    case 2:
      check(read_examples(rest, model, kMostElements), model);
      break;
    default:
      check(read_predict(rest, model, kMostElements), model);
  }
  return 0;
}

#include "backends/python/output_check.h"

#include <algorithm>
#include <span>

#include "atoll/text.h"

namespace atl::python {
namespace {

bool is_such_shape(std::span<const int64_t> shape, const std::vector<int64_t>& expected) noexcept {
  return std::equal(shape.begin(), shape.end(), expected.begin(), expected.end(),
                    [](int64_t size, int64_t wanted) { return wanted < 0 || size == wanted; });
}

}  // namespace

OutputCheck::OutputCheck(const ModelSource& source, Log& log)
    : log_(log), model_(cat("model '", source.name, "' version ", source.version)) {
  for (const TensorSpec& output : source.model.outputs) {
    Expected& expected = expected_.emplace_back();
    expected.name = output.name;
    expected.datatype = output.datatype;
    expected.shape = output.backend_dims();
    if (source.model.max_batch_size > 0) expected.shape.insert(expected.shape.begin(), -1);
  }
}

OutputCheck::Expected* OutputCheck::find(std::string_view name, size_t guess) noexcept {
  if (guess < expected_.size() && expected_[guess].name == name) return &expected_[guess];
  for (Expected& expected : expected_) {
    if (expected.name == name) return &expected;
  }
  return nullptr;
}

void OutputCheck::compare(const OutputTensor& output, Expected& expected) noexcept {
  if (output.datatype != expected.datatype && !expected.is_datatype_told.exchange(true)) {
    log_.warning(model_, ": output '", expected.name, "' is ", data_type_name(output.datatype),
                 ", and its configuration says ", data_type_name(expected.datatype),
                 "; clients get it as it is. This is said once");
  }
  if (!is_such_shape(output.shape, expected.shape) && !expected.is_shape_told.exchange(true)) {
    log_.warning(model_, ": output '", expected.name, "' has the shape ", shape_text(output.shape),
                 ", which does not fit the ", shape_text(expected.shape),
                 " of its configuration; clients get it as it is. This is said once");
  }
}

/// It is rare, so every one is read once more.
void OutputCheck::look_at_names(const ResponseRecord& record, const PayloadView& payload) noexcept {
  std::string name;
  for (uint32_t i = 0; i < record.tensor_count; ++i) {
    TensorRecord tensor;
    if (!payload.read(record.tensors + uint64_t{i} * sizeof tensor, tensor)) return;
    if (!payload.read(tensor.name, name)) return;
    if (find(name, i) == nullptr) tell_name(name);
  }
}

void OutputCheck::tell_name(const std::string& name) {
  std::lock_guard lock(mutex_);
  if (told_.size() >= kNamesMax || !told_.insert(name).second) return;
  log_.warning(model_, ": execute() returns an output '", name,
               "', which its configuration does not have; nobody gets it. This is said once");
}

}  // namespace atl::python

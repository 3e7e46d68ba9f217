#include "backends/python/calls/unknown_outputs.h"

#include <algorithm>

#include "atoll/core/text.h"

namespace atl::python {

UnknownOutputs::UnknownOutputs(const ModelSource& source, Log& log)
    : log_(log), model_(cat("model '", source.name, "' version ", source.version)) {
  for (const TensorSpec& output : source.model.outputs) names_.push_back(output.name);
}

bool UnknownOutputs::knows(std::string_view name, size_t guess) const noexcept {
  return (guess < names_.size() && names_[guess] == name) || std::ranges::find(names_, name) != names_.end();
}

/// It is rare, so every one is read once more.
void UnknownOutputs::look_at_names(const ResponseRecord& record, const PayloadView& payload) noexcept {
  std::string name;
  for (uint32_t i = 0; i < record.tensor_count; ++i) {
    TensorRecord tensor;
    if (!payload.read(record.tensors + uint64_t{i} * sizeof tensor, tensor)) return;
    if (!payload.read(tensor.name, name)) return;
    if (!knows(name, i)) report_name(name);
  }
}

void UnknownOutputs::report_name(const std::string& name) {
  std::lock_guard lock(mutex_);
  if (told_.size() >= kNamesMax || !told_.insert(name).second) return;
  log_.warning(model_, ": execute() returns an output '", name,
               "', which its configuration does not have; nobody gets it. This is said once");
}

}  // namespace atl::python

#include "schedulers/common/batch/batch_compatibility.h"

#include <algorithm>
#include <cstring>

#include "atoll/memory/memory.h"

namespace atl::schedulers {
namespace {

bool same_shape(const InputTensor& a, const InputTensor& b, size_t from) noexcept {
  if (a.shape.size() != b.shape.size()) return false;
  from = std::min(from, a.shape.size());
  return std::equal(a.shape.begin() + from, a.shape.end(), b.shape.begin() + from);
}

/// Only values in one buffer of host memory that are there are looked at; others count as different.
/// \param skip_first  the first value is the request's batch size, which may differ: those are added up
bool same_value(const InputTensor& a, const InputTensor& b, bool skip_first) noexcept {
  if (a.size_bytes != b.size_bytes) return false;
  uint64_t skipped = skip_first ? a.size_bytes / static_cast<uint64_t>(a.shape[0]) : 0;
  if (a.size_bytes == skipped) return true;
  auto comparable = [](const InputTensor& tensor) {
    return tensor.buffers.size() == 1 && is_host_ready(tensor.buffers[0]);
  };
  return comparable(a) && comparable(b) &&
         std::memcmp(static_cast<const char*>(a.buffers[0].data) + skipped,
                     static_cast<const char*>(b.buffers[0].data) + skipped, a.size_bytes - skipped) == 0;
}

}  // namespace

bool BatchCompatibility::same_inputs(const Request& first, const Request& other) const noexcept {
  size_t first_count = 0, other_count = 0;
  for (const InputTensor& input : first.inputs) {
    ++first_count;
    if (other.find_input(input.name) == nullptr) return false;
  }
  for ([[maybe_unused]] const InputTensor& input : other.inputs) ++other_count;
  return first_count == other_count;
}

bool BatchCompatibility::fit(const Request& first, const Request& other) const noexcept {
  if (has_optional_inputs && !same_inputs(first, other)) return false;
  for (const Input& input : compared) {
    const InputTensor* a = first.find_input(input.name);
    const InputTensor* b = other.find_input(input.name);
    if (a == nullptr || b == nullptr) {
      if (a != b) return false;
      continue;
    }
    bool whole = input.shape_tensor || !has_batch_dimension;
    if (!same_shape(*a, *b, whole ? 0 : 1)) return false;
    if (!input.shape_tensor) continue;
    // A batching model's may be one value longer than configured.
    bool has_batch_size = has_batch_dimension && input.first_dim >= 0 && a->shape.size() == 1 &&
                          a->shape[0] == input.first_dim + 1;
    if (!same_value(*a, *b, has_batch_size)) return false;
  }
  return true;
}

}  // namespace atl::schedulers

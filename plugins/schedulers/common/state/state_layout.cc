#include "schedulers/common/state/state_layout.h"

#include <limits>
#include <utility>

#include "atoll/core/text.h"

namespace atl::schedulers {
namespace {

constexpr uint64_t kLengthBytes = sizeof(uint32_t);  // before each element of BYTES

bool fits(std::span<const int64_t> shape, std::span<const int64_t> dims) noexcept {
  if (shape.size() != dims.size()) return false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (shape[i] < 0 || (dims[i] != -1 && shape[i] != dims[i])) return false;
  }
  return true;
}

std::vector<int64_t> with_batch_dimension(std::vector<int64_t> dims, bool has_batch_dimension) {
  if (has_batch_dimension) dims.insert(dims.begin(), 1);
  return dims;
}

Status check_names(std::span<const StateLayout::Entry> earlier, const StateTensor& tensor) noexcept {
  for (const StateLayout::Entry& entry : earlier) {
    if (entry.tensor.input_name == tensor.input_name) {
      return invalid_argument("State input name '", tensor.input_name, "' specified more than once.");
    }
    if (entry.tensor.output_name == tensor.output_name) {
      return invalid_argument("State output name '", tensor.output_name, "' specified more than once.");
    }
  }
  return {};
}

}  // namespace

std::optional<uint64_t> zeros_size_bytes(DataType datatype, std::span<const int64_t> shape) noexcept {
  const std::optional<int64_t> count = element_count(shape);
  const uint64_t element = datatype == DataType::kBytes ? kLengthBytes : data_type_size_bytes(datatype);
  uint64_t bytes = 0;
  if (!count || __builtin_mul_overflow(static_cast<uint64_t>(*count), element, &bytes)) return std::nullopt;
  if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return bytes;
}

Status state_configuration_is_missing(std::string_view state, std::string_view model_name) noexcept {
  return invalid_argument("unable to add state '", state, "'. State configuration is missing for model '",
                          model_name, "'.");
}

Status state_has_no_output(std::string_view state) noexcept {
  return invalid_argument("state '", state, "' is committed, but no buffer was asked for its next value");
}

Result<StateLayout> StateLayout::make(std::string model_name, std::vector<StateTensor> tensors,
                                      bool has_batch_dimension) {
  StateLayout layout;
  layout.model_name_ = std::move(model_name);
  for (StateTensor& tensor : tensors) {
    const std::string& name = tensor.input_name;
    ATOLL_RETURN_IF_ERROR(check_names(layout.entries_, tensor));
    if (data_type_name(tensor.datatype) == data_type_name(DataType::kInvalid)) {
      return invalid_argument("state '", name, "' has no type of element");
    }
    if (!fits(tensor.initial_dims, tensor.dims)) {
      return invalid_argument("state '", name, "' begins with dimensions ", shape_text(tensor.initial_dims),
                              ", expected ", shape_text(tensor.dims));
    }
    const auto zeros = zeros_size_bytes(tensor.datatype, tensor.initial_dims);
    if (!zeros || tensor.dims.size() + (has_batch_dimension ? 1 : 0) > kMaxRank) {
      return invalid_argument("state '", name, "' begins with dimensions ", shape_text(tensor.initial_dims),
                              ", which are more than a tensor may have");
    }
    const uint64_t found = tensor.initial_data.size();
    if (found != 0 && (tensor.datatype == DataType::kBytes ? found < *zeros : found != *zeros)) {
      return invalid_argument("state '", name, "' begins with ", found, " bytes, expected ", *zeros);
    }
    Entry& entry = layout.entries_.emplace_back();
    entry.initial_size_bytes = found == 0 ? *zeros : found;
    entry.initial_shape = with_batch_dimension(tensor.initial_dims, has_batch_dimension);
    tensor.dims = with_batch_dimension(std::move(tensor.dims), has_batch_dimension);
    entry.tensor = std::move(tensor);
  }
  return layout;
}

Status StateLayout::Entry::check(DataType datatype, std::span<const int64_t> shape,
                                 uint64_t size_bytes) const noexcept {
  const std::string& name = tensor.output_name;
  if (datatype != tensor.datatype) {
    return invalid_argument("state '", name, "' is given type ", data_type_name(datatype), ", expected ",
                            data_type_name(tensor.datatype));
  }
  if (!fits(shape, tensor.dims)) {
    return invalid_argument("state '", name, "' is given shape ", shape_text(shape), ", expected ",
                            shape_text(tensor.dims));
  }
  const auto zeros = zeros_size_bytes(datatype, shape);
  const bool is_bytes = datatype == DataType::kBytes;
  if (!zeros || (is_bytes ? size_bytes < *zeros : size_bytes != *zeros)) {
    return invalid_argument("state '", name, "' of shape ", shape_text(shape), " is given ", size_bytes,
                            " bytes, expected ", is_bytes ? "at least " : "",
                            zeros ? cat(*zeros) : std::string("a number of 63 bits"));
  }
  return {};
}

Result<size_t> StateLayout::find(std::string_view output_name) const noexcept {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].tensor.output_name == output_name) return i;
  }
  if (entries_.empty()) return state_configuration_is_missing(output_name, model_name_);
  return invalid_argument("state '", output_name, "' is not a valid state name.");
}

}  // namespace atl::schedulers

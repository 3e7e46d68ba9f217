#include "backends/cuda/code/extents.h"

#include <algorithm>

#include "atoll/core/text.h"

namespace atl::cuda_backend {
namespace {

Status add_tensors(const std::vector<TensorSpec>& specs, bool is_output, TensorTable& table) {
  for (const TensorSpec& spec : specs) {
    const char* kind = is_output ? "output" : "input";
    if (data_type_size_bytes(spec.datatype) == 0) {
      return invalid_argument(kind, " '", spec.name, "': found datatype ", data_type_name(spec.datatype),
                              ", expected one whose elements have a fixed size: kernels get plain memory");
    }
    BatchTensor info{spec.name, spec.datatype, is_output, !is_output && spec.optional, {}, false};
    if (table.batches) info.dims.push_back(-1);
    const std::vector<int64_t>& dims = spec.backend_dims();
    info.dims.insert(info.dims.end(), dims.begin(), dims.end());
    table.tensors.push_back(std::move(info));
  }
  return {};
}

bool fits(std::span<const int64_t> shape, std::span<const int64_t> dims) {
  return std::equal(shape.begin(), shape.end(), dims.begin(), dims.end(),
                    [](int64_t found, int64_t expected) { return expected < 0 || found == expected; });
}

}  // namespace

std::optional<uint32_t> TensorTable::find(std::string_view name, bool output) const noexcept {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].is_output == output && tensors[i].name == name) return static_cast<uint32_t>(i);
  }
  return {};
}

Result<TensorTable> make_tensor_table(const ModelDescription& model) {
  TensorTable table;
  table.batches = model.max_batch_size != 0;
  ATOLL_RETURN_IF_ERROR(add_tensors(model.inputs, false, table));
  ATOLL_RETURN_IF_ERROR(add_tensors(model.outputs, true, table));
  return table;
}

BatchExtents::BatchExtents(const TensorTable& table) : table_(&table), tensors_(table.tensors.size()) {
  for (size_t i = 0; i < tensors_.size(); ++i) tensors_[i].shape.resize(table.tensors[i].dims.size());
}

Status BatchExtents::set(uint32_t slot, std::span<const int64_t> shape) noexcept {
  const BatchTensor& info = table_->tensors[slot];
  if (!fits(shape, info.dims)) {
    return invalid_argument("tensor '", info.name, "': found shape ", shape_text(shape), ", expected ",
                            shape_text(info.dims));
  }
  const std::optional<int64_t> count = element_count(shape);
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, int64_t{data_type_size_bytes(info.datatype)}, &bytes)) {
    return invalid_argument("tensor '", info.name, "': found shape ", shape_text(shape),
                            ", expected dimensions from 0 on that make less than 2^63 bytes");
  }
  Extent& extent = tensors_[slot];
  std::copy(shape.begin(), shape.end(), extent.shape.begin());
  extent.count = *count;
  extent.bytes = bytes;
  return {};
}

void BatchExtents::set_absent(uint32_t slot) noexcept {
  Extent& extent = tensors_[slot];
  std::fill(extent.shape.begin(), extent.shape.end(), 0);
  extent.count = 0;
  extent.bytes = 0;
}

}  // namespace atl::cuda_backend

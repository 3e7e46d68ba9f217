#include "backends/repeat/repeat_config.h"

#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "atoll/backend/parameters.h"

namespace atl::repeat {
namespace {

/// A tensor that the model must have.
struct Wanted {
  std::string_view name;
  DataType type;
  bool single;  ///< dims [1]; else one dimension of any size
};
constexpr Wanted kInputs[] = {
    {kIn, DataType::kInt32, false}, {kDelay, DataType::kUint32, false}, {kWait, DataType::kUint32, true}};
constexpr Wanted kOutputs[] = {{kOut, DataType::kInt32, true}, {kIdx, DataType::kUint32, true}};

Status check_tensor(const std::string& model, std::string_view kind, const Wanted& wanted,
                    const TensorSpec& tensor) {
  if (tensor.datatype != wanted.type) {
    return invalid_argument("model '", model, "': ", kind, " '", wanted.name, "' has type ",
                            data_type_name(tensor.datatype), ", expected ", data_type_name(wanted.type));
  }
  if (tensor.dims.size() == 1 && (!wanted.single || tensor.dims[0] == 1) && !tensor.has_reshape) return {};
  return invalid_argument("model '", model, "': ", kind, " '", wanted.name, "' has dims ",
                          shape_text(tensor.dims), tensor.has_reshape ? " and a reshape" : "", ", expected ",
                          wanted.single ? "[1]" : "one dimension");
}

Status check_tensors(const std::string& model, std::string_view kind, std::span<const Wanted> wanted,
                     const std::vector<TensorSpec>& tensors) {
  for (const Wanted& one : wanted) {
    bool found = false;
    for (const TensorSpec& tensor : tensors) {
      if (tensor.name != one.name) continue;
      found = true;
      ATOLL_RETURN_IF_ERROR(check_tensor(model, kind, one, tensor));
    }
    if (!found) return invalid_argument("model '", model, "' has no ", kind, " '", one.name, "'");
  }
  if (tensors.size() == wanted.size()) return {};
  return invalid_argument("model '", model, "' has ", tensors.size(), " ", kind, "s, expected ",
                          wanted.size());
}

}  // namespace

Result<RepeatConfig> read_repeat_config(const ModelDescription& model) {
  if (!model.decoupled) {
    return invalid_argument("model '", model.name,
                            "' is not decoupled; the repeat backend expects model_transaction_policy { "
                            "decoupled: true }");
  }
  if (model.max_batch_size != 0) {
    return invalid_argument("model '", model.name, "' has max_batch_size ", model.max_batch_size,
                            "; the repeat backend expects 0");
  }
  ATOLL_RETURN_IF_ERROR(check_tensors(model.name, "input", kInputs, model.inputs));
  ATOLL_RETURN_IF_ERROR(check_tensors(model.name, "output", kOutputs, model.outputs));
  Result<bool> final_with_last = backends::bool_parameter(model, "final_with_last", false);
  if (!final_with_last.ok()) return std::move(final_with_last).status();
  Result<int64_t> fail_at =
      backends::int_parameter(model, "fail_at", -1, -1, std::numeric_limits<int32_t>::max());
  if (!fail_at.ok()) return std::move(fail_at).status();
  return RepeatConfig{
      .model = model.name, .final_with_last = final_with_last.value(), .fail_at = fail_at.value()};
}

}  // namespace atl::repeat

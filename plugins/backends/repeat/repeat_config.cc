#include "repeat_config.h"

#include <limits>
#include <span>

namespace atl::repeat {
namespace {

/// A tensor that the model must have.
struct Wanted {
  std::string_view name;
  inference::DataType type;
  bool single;  ///< dims [1]; else one dimension of any size
};
constexpr Wanted kInputs[] = {{kIn, inference::TYPE_INT32, false},
                              {kDelay, inference::TYPE_UINT32, false},
                              {kWait, inference::TYPE_UINT32, true}};
constexpr Wanted kOutputs[] = {{kOut, inference::TYPE_INT32, true}, {kIdx, inference::TYPE_UINT32, true}};

std::string_view type_name(inference::DataType type) { return data_type_name(backends::data_type_of(type)); }

template <class Tensor>
Status check_tensor(const std::string& model, std::string_view kind, const Wanted& wanted,
                    const Tensor& tensor) {
  if (tensor.data_type() != wanted.type) {
    return invalid_argument("model '", model, "': ", kind, " '", wanted.name, "' has type ",
                            type_name(tensor.data_type()), ", expected ", type_name(wanted.type));
  }
  bool right = tensor.dims_size() == 1 && (!wanted.single || tensor.dims(0) == 1) && !tensor.has_reshape();
  if (right) return {};
  return invalid_argument("model '", model, "': ", kind, " '", wanted.name, "' has dims ",
                          shape_text({tensor.dims().data(), static_cast<size_t>(tensor.dims_size())}),
                          tensor.has_reshape() ? " and a reshape" : "", ", expected ",
                          wanted.single ? "[1]" : "one dimension");
}

template <class Tensors>
Status check_tensors(const std::string& model, std::string_view kind, std::span<const Wanted> wanted,
                     const Tensors& tensors) {
  for (const Wanted& one : wanted) {
    bool found = false;
    for (const auto& tensor : tensors) {
      if (tensor.name() != one.name) continue;
      found = true;
      ATOLL_RETURN_IF_ERROR(check_tensor(model, kind, one, tensor));
    }
    if (!found) return invalid_argument("model '", model, "' has no ", kind, " '", one.name, "'");
  }
  if (static_cast<size_t>(tensors.size()) == wanted.size()) return {};
  return invalid_argument("model '", model, "' has ", tensors.size(), " ", kind, "s, expected ",
                          wanted.size());
}

}  // namespace

Result<RepeatConfig> read_repeat_config(const backends::ConfigView& config) {
  const std::string& model = config.name();
  if (!config.decoupled()) {
    return invalid_argument("model '", model,
                            "' is not decoupled; the repeat backend expects model_transaction_policy { "
                            "decoupled: true }");
  }
  if (config.max_batch_size() != 0) {
    return invalid_argument("model '", model, "' has max_batch_size ", config.max_batch_size(),
                            "; the repeat backend expects 0");
  }
  ATOLL_RETURN_IF_ERROR(check_tensors(model, "input", kInputs, config.message().input()));
  ATOLL_RETURN_IF_ERROR(check_tensors(model, "output", kOutputs, config.message().output()));
  Result<bool> final_with_last = config.bool_parameter("final_with_last", false);
  if (!final_with_last.ok()) return std::move(final_with_last).status();
  Result<int64_t> fail_at = config.int_parameter("fail_at", -1, -1, std::numeric_limits<int32_t>::max());
  if (!fail_at.ok()) return std::move(fail_at).status();
  return RepeatConfig{.model = model, .final_with_last = final_with_last.value(), .fail_at = fail_at.value()};
}

}  // namespace atl::repeat

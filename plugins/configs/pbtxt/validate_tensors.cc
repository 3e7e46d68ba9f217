#include <algorithm>
#include <set>
#include <string>

#include "atoll/tensor.h"
#include "bounds.h"
#include "shapes.h"
#include "validate.h"

namespace atl::pbtxt {

namespace {

using inference::ModelConfig;

/// The rules that inputs and outputs share. Tensor is ModelInput or ModelOutput.
template <class Tensor>
class TensorRules {
 public:
  TensorRules(const ModelConfig& config, const SourceMap& source, const char* kind)
      : config_(config), source_(source), kind_(kind) {}

  Status check(const Tensor& tensor, const std::string& field) {
    tensor_ = &tensor;
    field_ = field;
    if (tensor.name().empty()) return fail("must specify 'name'");
    if (tensor.data_type() == inference::TYPE_INVALID) return fail_named(" must specify 'data_type'");
    if (tensor.dims().empty()) return fail_named(" must specify 'dims'");
    if (tensor.has_reshape() && tensor.reshape().shape().empty() && config_.max_batch_size() == 0) {
      return fail_named(
          " cannot have empty reshape for non-batching model as scalar tensors are not supported");
    }
    if (!std::all_of(tensor.dims().begin(), tensor.dims().end(), is_extent)) {
      return fail_named(" dimension must be integer >= 1, or -1 to indicate a variable-size dimension");
    }
    ATOLL_RETURN_IF_ERROR(check_size(tensor.dims()));
    if (tensor.has_reshape()) ATOLL_RETURN_IF_ERROR(check_reshape());
    return {};
  }

 private:
  static bool is_extent(int64_t dim) { return dim >= 1 || dim == -1; }

  template <class... Parts>
  Status fail(const Parts&... parts) const {
    return source_.invalid(field_, "model ", kind_, " ", parts..., " for ", config_.name());
  }
  template <class... Parts>
  Status fail_named(const Parts&... parts) const {
    return fail("'", tensor_->name(), "'", parts...);
  }

  Status check_size(const Dims& dims) const {
    int rank = dims.size() + (config_.max_batch_size() > 0 ? 1 : 0);
    if (rank > static_cast<int>(kMaxRank)) {
      return fail_named(" has ", rank, " dimensions with the batch dimension, expected at most ", kMaxRank);
    }
    return check_shape(dims, tensor_->data_type(), tensor_->name(), field_, source_);
  }

  Status check_reshape() const {
    const Dims& dims = tensor_->dims();
    const Dims& shape = tensor_->reshape().shape();
    if (!std::all_of(shape.begin(), shape.end(), is_extent)) {
      return fail_named(
          " reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension");
    }
    ATOLL_RETURN_IF_ERROR(check_size(shape));
    int64_t dims_count = count_elements(dims);
    int64_t shape_count = count_elements(shape);
    bool scalar = shape_count == 0 && dims_count == 1;
    if (dims_count != shape_count && !scalar) return fail_named(" has different size for dims and reshape");
    if (dims_count != -1) return {};
    if (std::count(dims.begin(), dims.end(), -1) != std::count(shape.begin(), shape.end(), -1)) {
      return fail_named(" has different number of variable-size dimensions for dims and reshape");
    }
    if (runs(dims) != runs(shape)) return fail_named(" has different size for dims and reshape");
    return {};
  }

  /// Products of the extents before, between and after the variable ones. They fit, as the whole product
  /// does.
  static std::vector<int64_t> runs(const Dims& dims) {
    std::vector<int64_t> products = {1};
    for (int64_t dim : dims) {
      if (dim == -1) {
        products.push_back(1);
      } else {
        products.back() *= dim;
      }
    }
    return products;
  }

  const ModelConfig& config_;
  const SourceMap& source_;
  const char* kind_;
  const Tensor* tensor_ = nullptr;
  std::string field_;
};

/// Rules about forms that only TensorRT knows. \param what  "input" or "output".
template <class Tensor>
Status check_tensorrt_forms(const ModelConfig& config, const Tensor& tensor, const std::string& field,
                            const char* what, const SourceMap& source) {
  bool tensorrt = config.platform() == "tensorrt_plan";
  if (tensor.is_shape_tensor() && !tensorrt) {
    return source.invalid(field, "shape tensors are only supported for TensorRT platform for ",
                          config.name());
  }
  if (!tensor.is_non_linear_format_io()) return {};
  if (!tensorrt) {
    return source.invalid(field, "Non-linear IO format is only supported for the TensorRT platform for ",
                          config.name());
  }
  if (tensor.dims_size() != 3) {
    return source.invalid(field, "Non-linear IO format ", what, " requires 3 dims for ", config.name());
  }
  return {};
}

template <class Tensors>
Status check_count_and_names(const ModelConfig& config, const Tensors& tensors, const char* kind,
                             const SourceMap& source) {
  if (tensors.size() > kTensorsMax) {
    return source.invalid(cat(kind, "[", kTensorsMax, "]"), "model ", config.name(), " has ", tensors.size(),
                          " ", kind, "s, expected at most ", kTensorsMax);
  }
  std::set<std::string> names;
  for (int i = 0; i < tensors.size(); ++i) {
    std::string field = cat(kind, "[", i, "]");
    const std::string& name = tensors[i].name();
    if (name.size() > kNameBytesMax) {
      return source.invalid(field, "model ", kind, " name has ", name.size(), " bytes, expected at most ",
                            kNameBytesMax, " for ", config.name());
    }
    if (!names.insert(name).second) {
      return source.invalid(field, "model ", kind, " '", name, "' is specified more than once for ",
                            config.name());
    }
  }
  return {};
}

}  // namespace

Status validate_tensors(const ModelConfig& config, const SourceMap& source) {
  TensorRules<inference::ModelInput> inputs(config, source, "input");
  for (int i = 0; i < config.input_size(); ++i) {
    const auto& input = config.input(i);
    std::string field = cat("input[", i, "]");
    ATOLL_RETURN_IF_ERROR(inputs.check(input, field));
    if (input.format() != inference::ModelInput::FORMAT_NONE && input.dims_size() != 3) {
      return source.invalid(field, "model input NHWC/NCHW require 3 dims for ", config.name());
    }
    ATOLL_RETURN_IF_ERROR(check_tensorrt_forms(config, input, field, "input", source));
  }
  TensorRules<inference::ModelOutput> outputs(config, source, "output");
  for (int i = 0; i < config.output_size(); ++i) {
    std::string field = cat("output[", i, "]");
    ATOLL_RETURN_IF_ERROR(outputs.check(config.output(i), field));
    ATOLL_RETURN_IF_ERROR(check_tensorrt_forms(config, config.output(i), field, "output", source));
  }
  ATOLL_RETURN_IF_ERROR(check_count_and_names(config, config.input(), "input", source));
  return check_count_and_names(config, config.output(), "output", source);
}

}  // namespace atl::pbtxt

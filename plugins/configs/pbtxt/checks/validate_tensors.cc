#include <algorithm>
#include <set>
#include <string>

#include "atoll/request/tensor.h"
#include "configs/pbtxt/checks/bounds.h"
#include "configs/pbtxt/checks/validate.h"
#include "configs/pbtxt/shapes.h"

namespace atl::pbtxt {

namespace {

using inference::ModelConfig;

/// The rules that inputs and outputs share. Tensor is ModelInput or ModelOutput.
template <class Tensor>
class TensorRules {
 public:
  TensorRules(const ModelConfig& config, Findings& findings, const char* kind)
      : config_(config), findings_(findings), kind_(kind) {}

  void check(const Tensor& tensor, const std::string& field) {
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
    if (check_size(tensor.dims()) && tensor.has_reshape()) check_reshape();
  }

 private:
  static bool is_extent(int64_t dim) { return dim >= 1 || dim == -1; }

  template <class... Parts>
  void fail(const Parts&... parts) const {
    findings_.invalid(field_, "model ", kind_, " ", parts..., " for ", config_.name());
  }
  template <class... Parts>
  void fail_named(const Parts&... parts) const {
    fail("'", tensor_->name(), "'", parts...);
  }

  bool check_size(const Dims& dims) const {
    int rank = dims.size() + (config_.max_batch_size() > 0 ? 1 : 0);
    std::string what = cat("model ", kind_, " '", tensor_->name(), "'");
    return check_rank(rank, what, config_.name(), field_, findings_) &&
           check_shape(dims, tensor_->data_type(), tensor_->name(), field_, findings_);
  }

  void check_reshape() const {
    const Dims& dims = tensor_->dims();
    const Dims& shape = tensor_->reshape().shape();
    if (!std::all_of(shape.begin(), shape.end(), is_extent)) {
      return fail_named(
          " reshape dimensions must be integer >= 1, or -1 to indicate a variable-size dimension");
    }
    if (!check_size(shape)) return;
    int64_t dims_count = count_elements(dims);
    int64_t shape_count = count_elements(shape);
    bool scalar = shape_count == 0 && dims_count == 1;
    if (dims_count != shape_count && !scalar) return fail_named(" has different size for dims and reshape");
    if (dims_count != -1) return;
    if (std::count(dims.begin(), dims.end(), -1) != std::count(shape.begin(), shape.end(), -1)) {
      return fail_named(" has different number of variable-size dimensions for dims and reshape");
    }
    if (runs(dims) != runs(shape)) fail_named(" has different size for dims and reshape");
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
  Findings& findings_;
  const char* kind_;
  const Tensor* tensor_ = nullptr;
  std::string field_;
};

/// Rules about forms that only TensorRT knows. \param what  "input" or "output".
template <class Tensor>
void check_tensorrt_forms(const ModelConfig& config, const Tensor& tensor, const std::string& field,
                          const char* what, Findings& findings) {
  bool tensorrt = config.platform() == "tensorrt_plan";
  if (tensor.is_shape_tensor() && !tensorrt) {
    findings.invalid(field, "shape tensors are only supported for TensorRT platform for ", config.name());
  }
  if (!tensor.is_non_linear_format_io()) return;
  if (!tensorrt) {
    findings.invalid(field, "Non-linear IO format is only supported for the TensorRT platform for ",
                     config.name());
  } else if (tensor.dims_size() != 3) {
    findings.invalid(field, "Non-linear IO format ", what, " requires 3 dims for ", config.name());
  }
}

template <class Tensors>
void check_count_and_names(const ModelConfig& config, const Tensors& tensors, const char* kind,
                           Findings& findings) {
  if (tensors.size() > kTensorsMax) {
    return findings.invalid(cat(kind, "[", kTensorsMax, "]"), "model ", config.name(), " has ",
                            tensors.size(), " ", kind, "s, expected at most ", kTensorsMax);
  }
  std::set<std::string> names;
  for (int i = 0; i < tensors.size(); ++i) {
    std::string field = cat(kind, "[", i, "]");
    const std::string& name = tensors[i].name();
    if (name.size() > kNameBytesMax) {
      findings.invalid(field, "model ", kind, " name has ", name.size(), " bytes, expected at most ",
                       kNameBytesMax, " for ", config.name());
    }
    if (!name.empty() && !names.insert(name).second) {
      findings.invalid(field, "model ", kind, " '", name, "' is specified more than once for ",
                       config.name());
    }
  }
}

}  // namespace

void validate_tensors(const ModelConfig& config, Findings& findings) {
  TensorRules<inference::ModelInput> inputs(config, findings, "input");
  for (int i = 0; i < config.input_size(); ++i) {
    const auto& input = config.input(i);
    std::string field = cat("input[", i, "]");
    inputs.check(input, field);
    if (input.format() != inference::ModelInput::FORMAT_NONE && input.dims_size() != 3) {
      findings.invalid(field, "model input NHWC/NCHW require 3 dims for ", config.name());
    }
    check_tensorrt_forms(config, input, field, "input", findings);
  }
  TensorRules<inference::ModelOutput> outputs(config, findings, "output");
  for (int i = 0; i < config.output_size(); ++i) {
    std::string field = cat("output[", i, "]");
    outputs.check(config.output(i), field);
    check_tensorrt_forms(config, config.output(i), field, "output", findings);
  }
  check_count_and_names(config, config.input(), "input", findings);
  check_count_and_names(config, config.output(), "output", findings);
}

}  // namespace atl::pbtxt

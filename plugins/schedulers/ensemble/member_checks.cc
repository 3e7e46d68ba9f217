#include "schedulers/ensemble/member_checks.h"

#include <map>
#include <string>
#include <utility>

#include "atoll/core/text.h"
#include "model_config.pb.h"

namespace atl::ensemble {
namespace {

using Step = inference::ModelEnsembling::Step;

/// What one model says of a tensor of the ensemble.
struct Claim {
  std::string_view model;
  DataType datatype = DataType::kInvalid;
  std::vector<int64_t> dims;
  bool batches = false;

  /// With the batch dimension, if there is one.
  std::vector<int64_t> full_dims() const {
    std::vector<int64_t> full = dims;
    if (batches) full.insert(full.begin(), -1);
    return full;
  }
};

bool agree(const std::vector<int64_t>& a, const std::vector<int64_t>& b) noexcept {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && a[i] != -1 && b[i] != -1) return false;
  }
  return true;
}

class MemberCheck {
 public:
  explicit MemberCheck(const inference::ModelConfig& config) : config_(config) {
    for (const auto& input : config.input()) claim_end(input, static_cast<DataType>(input.data_type()));
    for (const auto& output : config.output()) claim_end(output, static_cast<DataType>(output.data_type()));
  }

  Status check(const Step& step, const ModelInfo& member) {
    const auto allowed = static_cast<int64_t>(member.max_batch_size);
    if (allowed != 0 && allowed < config_.max_batch_size()) {
      return invalid_argument("ensemble ", config_.name(), " allows maximum batch size ",
                              config_.max_batch_size(), ", but it contains model ", member.name,
                              " which only allows maximum batch size to be ", allowed);
    }
    ATOLL_RETURN_IF_ERROR(check_inputs(step, member));
    return check_outputs(step, member);
  }

 private:
  using Names = std::map<std::string, std::string>;

  template <class End>
  void claim_end(const End& end, DataType datatype) {
    Claim claim{config_.name(), datatype, {}, config_.max_batch_size() > 0};
    if (end.has_reshape()) {
      claim.dims.assign(end.reshape().shape().begin(), end.reshape().shape().end());
    } else {
      claim.dims.assign(end.dims().begin(), end.dims().end());
    }
    claims_.emplace(end.name(), std::move(claim));
  }

  Status check_inputs(const Step& step, const ModelInfo& member) {
    for (const auto& [name, tensor] : Names(step.input_map().begin(), step.input_map().end())) {
      const TensorSpec* spec = find_spec(member.inputs, name);
      if (spec == nullptr) {
        return invalid_argument("in ensemble ", config_.name(), ", ensemble tensor ", tensor,
                                " is mapping to non-existing input ", name, " in model ", member.name);
      }
      ATOLL_RETURN_IF_ERROR(compare(tensor, *spec, member));
    }
    for (const TensorSpec& spec : member.inputs) {
      if (spec.optional || step.input_map().contains(spec.name)) continue;
      return invalid_argument("in ensemble ", config_.name(), ", input ", spec.name, " in model ",
                              member.name, " is not mapped to any ensemble tensors");
    }
    return {};
  }

  Status check_outputs(const Step& step, const ModelInfo& member) {
    for (const auto& [name, tensor] : Names(step.output_map().begin(), step.output_map().end())) {
      const TensorSpec* spec = find_spec(member.outputs, name);
      if (spec == nullptr) {
        return invalid_argument("in ensemble ", config_.name(), ", ensemble tensor ", tensor,
                                " is mapped from non-existing output ", name, " in model ", member.name);
      }
      ATOLL_RETURN_IF_ERROR(compare(tensor, *spec, member));
    }
    return {};
  }

  /// With who spoke of the tensor first. Shapes agree with their batch dimensions, too: a model that does not batch
  /// may feed its first dimension to one that does.
  Status compare(const std::string& tensor, const TensorSpec& spec, const ModelInfo& member) {
    Claim claim{member.name, spec.datatype, spec.dims, member.max_batch_size > 0};
    const auto [known, is_first] = claims_.emplace(tensor, claim);
    if (is_first) return {};
    const Claim& first = known->second;
    if (first.datatype != claim.datatype) {
      return contradiction(tensor, "data type", type_text(first.datatype), first.model,
                           type_text(claim.datatype), claim.model);
    }
    if (agree(first.dims, claim.dims) || agree(first.full_dims(), claim.full_dims())) return {};
    return contradiction(tensor, "shape", shape_text(first.full_dims()), first.model,
                         shape_text(claim.full_dims()), claim.model);
  }

  static std::string type_text(DataType type) {
    return inference::DataType_Name(static_cast<inference::DataType>(type));
  }

  Status contradiction(const std::string& tensor, const char* what, const std::string& first,
                       std::string_view first_model, const std::string& second,
                       std::string_view second_model) const {
    return invalid_argument("in ensemble ", config_.name(), ", ensemble tensor ", tensor, ": inconsistent ",
                            what, ": ", first, " is inferred from model ", first_model, " while ", second,
                            " is inferred from model ", second_model);
  }

  const inference::ModelConfig& config_;
  std::map<std::string, Claim> claims_;  // by ensemble tensor, of who spoke of it first
};

}  // namespace

const TensorSpec* find_spec(const std::vector<TensorSpec>& specs, std::string_view name) noexcept {
  for (const TensorSpec& spec : specs) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

Status check_members(const inference::ModelConfig& config, std::span<Model* const> members) {
  MemberCheck check(config);
  for (size_t i = 0; i < members.size(); ++i) {
    ATOLL_RETURN_IF_ERROR(
        check.check(config.ensemble_scheduling().step(static_cast<int>(i)), members[i]->info()));
  }
  return {};
}

}  // namespace atl::ensemble

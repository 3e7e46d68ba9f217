#include <set>
#include <string>

#include "configs/pbtxt/checks/validate.h"

namespace atl::pbtxt {

namespace {

using Control = inference::ModelSequenceBatching::Control;

class ControlRules {
 public:
  ControlRules(const inference::ModelConfig& config, Findings& findings)
      : config_(config), findings_(findings) {}

  /// The rules for one kind of control over the whole list.
  void check(Control::Kind kind) {
    std::set<std::string> names;
    bool seen = false;
    const auto& inputs = config_.sequence_batching().control_input();
    for (int i = 0; i < inputs.size(); ++i) {
      std::string field = cat("sequence_batching.control_input[", i, "]");
      if (inputs[i].name().empty()) {
        findings_.invalid(field, "sequence batching control tensor must have a name for ", model());
      } else if (!names.insert(inputs[i].name()).second) {
        findings_.invalid(field, "sequence batching control tensor '", inputs[i].name(),
                          "' is specified for multiple control kinds for ", model());
      }
      for (int k = 0; k < inputs[i].control_size(); ++k) {
        const Control& control = inputs[i].control(k);
        if (control.kind() != kind) continue;
        std::string control_field = cat(field, ".control[", k, "]");
        if (seen) {
          findings_.invalid(control_field, "sequence batching specifies multiple ", Control::Kind_Name(kind),
                            " tensors for ", model());
          continue;
        }
        seen = true;
        if (kind == Control::CONTROL_SEQUENCE_CORRID) {
          check_typed(control, control_field);
        } else {
          check_boolean(control, control_field);
        }
      }
    }
  }

  /// Beyond the reference, where all kinds of one entry would write the same tensor.
  void check_one_kind_each() const {
    const auto& inputs = config_.sequence_batching().control_input();
    for (int i = 0; i < inputs.size(); ++i) {
      if (inputs[i].control_size() < 2) continue;
      findings_.invalid(cat("sequence_batching.control_input[", i, "]"), "sequence batching control tensor '",
                        inputs[i].name(), "' is specified for multiple control kinds for ", model());
    }
  }

 private:
  const std::string& model() const { return config_.name(); }

  static int lists(const Control& control) {
    return (control.int32_false_true().empty() ? 0 : 1) + (control.fp32_false_true().empty() ? 0 : 1) +
           (control.bool_false_true().empty() ? 0 : 1);
  }

  void check_boolean(const Control& control, const std::string& field) const {
    const std::string& kind = Control::Kind_Name(control.kind());
    if (lists(control) == 0) {
      return findings_.invalid(
          field,
          "sequence batching must specify either 'int32_false_true', 'fp32_false_true' or "
          "'bool_false_true' for ",
          kind, " for ", model());
    }
    if (lists(control) > 1) {
      return findings_.invalid(
          field,
          "sequence batching specifies more than one from 'int32_false_true', 'fp32_false_true' "
          "and 'bool_false_true' for ",
          kind, " for ", model());
    }
    auto check_length = [&](const char* list, int size) {
      if (size == 0 || size == 2) return;
      findings_.invalid(cat(field, ".", list), "sequence batching control '", list,
                        "' must have exactly 2 entries for ", kind, " for ", model());
    };
    check_length("int32_false_true", control.int32_false_true_size());
    check_length("fp32_false_true", control.fp32_false_true_size());
    check_length("bool_false_true", control.bool_false_true_size());
  }

  void check_typed(const Control& control, const std::string& field) const {
    if (lists(control) != 0) {
      return findings_.invalid(field,
                               "sequence batching must not specify either 'int32_false_true', "
                               "'fp32_false_true' or 'bool_false_true' for CONTROL_SEQUENCE_CORRID for ",
                               model());
    }
    switch (control.data_type()) {
      case inference::TYPE_UINT64:
      case inference::TYPE_INT64:
      case inference::TYPE_UINT32:
      case inference::TYPE_INT32:
      case inference::TYPE_STRING:
        return;
      default:
        return findings_.invalid(
            field, "unexpected data type for control CONTROL_SEQUENCE_CORRID for ", model(),
            ". Allowed data types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and "
            "TYPE_STRING");
    }
  }

  const inference::ModelConfig& config_;
  Findings& findings_;
};

void validate_oldest(const inference::ModelConfig& config, Findings& findings) {
  const auto& oldest = config.sequence_batching().oldest();
  for (int i = 0; i < oldest.preferred_batch_size_size(); ++i) {
    std::string field = cat("sequence_batching.oldest.preferred_batch_size[", i, "]");
    if (oldest.preferred_batch_size(i) <= 0) {
      findings.invalid(field, "sequence batching preferred batch size must be positive for ", config.name());
    } else if (oldest.preferred_batch_size(i) > config.max_batch_size()) {
      findings.invalid(field, "sequence batching preferred batch size must be <= max batch size for ",
                       config.name());
    }
  }
}

}  // namespace

void validate_sequence_batching(const inference::ModelConfig& config, Findings& findings) {
  const auto& batching = config.sequence_batching();
  if (config.response_cache().enable()) {
    findings.invalid("response_cache", "Response Cache does not currently support model ", config.name(),
                     " with sequence batching scheduler. Please disable the response cache.");
  }
  ControlRules controls(config, findings);
  for (auto kind : {Control::CONTROL_SEQUENCE_START, Control::CONTROL_SEQUENCE_END,
                    Control::CONTROL_SEQUENCE_READY, Control::CONTROL_SEQUENCE_CORRID}) {
    controls.check(kind);
  }
  if (batching.has_oldest()) validate_oldest(config, findings);
  if (batching.has_direct()) {
    float utilization = batching.direct().minimum_slot_utilization();
    if (!(utilization >= 0.0f && utilization <= 1.0f)) {  // NaN fails, too
      findings.invalid("sequence_batching.direct.minimum_slot_utilization",
                       "sequence batching minimum slot utilization must be in range (0.0, 1.0] for ",
                       config.name());
    }
  }
  controls.check_one_kind_each();
}

}  // namespace atl::pbtxt

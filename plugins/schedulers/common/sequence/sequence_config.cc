#include "schedulers/common/sequence/sequence_config.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "atoll/core/clock.h"
#include "model_config.pb.h"
#include "schedulers/common/batch/scheduling_config.h"
#include "schedulers/common/state/state_config.h"

namespace atl::schedulers {
namespace {

using Control = inference::ModelSequenceBatching::Control;

constexpr int64_t kIdleDefaultNs = kNsPerSecond;

ControlKind kind_from(Control::Kind kind) {
  switch (kind) {
    case Control::CONTROL_SEQUENCE_READY:
      return ControlKind::kReady;
    case Control::CONTROL_SEQUENCE_END:
      return ControlKind::kEnd;
    case Control::CONTROL_SEQUENCE_CORRID:
      return ControlKind::kCorrelationId;
    default:
      return ControlKind::kStart;
  }
}

DataType id_type_from(inference::DataType type) {
  switch (type) {
    case inference::TYPE_UINT64:
      return DataType::kUint64;
    case inference::TYPE_INT64:
      return DataType::kInt64;
    case inference::TYPE_UINT32:
      return DataType::kUint32;
    case inference::TYPE_INT32:
      return DataType::kInt32;
    case inference::TYPE_STRING:
      return DataType::kBytes;
    default:
      return DataType::kInvalid;
  }
}

template <class T, class List>
bool set_values(const List& false_true, DataType datatype, ControlInput& input) {
  if (false_true.size() != 2) return false;
  const T values[] = {static_cast<T>(false_true[0]), static_cast<T>(false_true[1])};
  std::memcpy(input.false_value.data(), &values[0], sizeof(T));
  std::memcpy(input.true_value.data(), &values[1], sizeof(T));
  input.datatype = datatype;
  return true;
}

/// Whether the control has a type, and the values that it needs.
bool set_type(const Control& control, ControlInput& input) {
  if (input.kind == ControlKind::kCorrelationId) {
    input.datatype = id_type_from(control.data_type());
    return input.datatype != DataType::kInvalid;
  }
  return set_values<int32_t>(control.int32_false_true(), DataType::kInt32, input) ||
         set_values<float>(control.fp32_false_true(), DataType::kFp32, input) ||
         set_values<bool>(control.bool_false_true(), DataType::kBool, input);
}

}  // namespace

Result<SequenceSettings> sequence_settings_from(const inference::ModelConfig& config,
                                                const std::string& model_directory) {
  const auto& batching = config.sequence_batching();
  const bool batches = config.max_batch_size() > 0;
  SequenceSettings settings;
  settings.limits.slots_each = static_cast<uint32_t>(std::max(1, config.max_batch_size()));
  const uint64_t idle_us = batching.max_sequence_idle_microseconds();
  settings.limits.idle_ns = idle_us == 0 ? kIdleDefaultNs : duration_ns_from(idle_us);
  std::vector<ControlInput> inputs;
  for (const auto& written : batching.control_input()) {
    for (const Control& control : written.control()) {
      ControlInput& input = inputs.emplace_back();
      input.name = written.name();
      input.kind = kind_from(control.kind());
      if (!set_type(control, input)) {
        return invalid_argument("sequence batching control tensor '", written.name(), "' of model '",
                                config.name(), "': found no type, or not two values, for ",
                                Control::Kind_Name(control.kind()));
      }
    }
  }
  settings.controls = ControlInputs(std::move(inputs), batches);
  Result<StateLayout> states = state_layout_from(config, model_directory);
  if (!states.ok()) return std::move(states).status();
  settings.states = std::move(states).value();
  settings.compatibility = batch_compatibility_from(config);
  settings.iterative = batching.iterative_sequence();
  return settings;
}

}  // namespace atl::schedulers

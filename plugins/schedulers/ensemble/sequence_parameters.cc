#include "schedulers/ensemble/sequence_parameters.h"

namespace atl::ensemble {
namespace {

constexpr std::string_view kId = "sequence_id", kStart = "sequence_start", kEnd = "sequence_end";

void set_flag(SequenceFlags flag, const Parameter& parameter, SequenceFields* fields) noexcept {
  if (parameter.type != ParameterType::kBool) return;
  fields->flags = parameter.bool_value ? fields->flags | flag : fields->flags & ~uint32_t{flag};
  fields->overridden = true;
}

Parameter& add(std::string_view key, ParameterType type, Response& response) noexcept {
  Parameter& parameter = response.parameters.add(response.arena());
  parameter.key = key;
  parameter.type = type;
  return parameter;
}

}  // namespace

void override_sequence(const Response& response, SequenceFields* fields) noexcept {
  for (const Parameter& parameter : response.parameters) {
    if (parameter.key == kId) {
      if (parameter.type == ParameterType::kInt) {
        fields->id = {static_cast<uint64_t>(parameter.int_value), {}};
        fields->overridden = true;
      } else if (parameter.type == ParameterType::kString) {
        fields->id = {0, parameter.text};
        fields->overridden = true;
      }
    } else if (parameter.key == kStart) {
      set_flag(kSequenceStart, parameter, fields);
    } else if (parameter.key == kEnd) {
      set_flag(kSequenceEnd, parameter, fields);
    }
  }
}

void add_sequence_parameters(const SequenceFields& fields, Response& response) noexcept {
  if (fields.id.text.empty()) {
    add(kId, ParameterType::kInt, response).int_value = static_cast<int64_t>(fields.id.number);
  } else {
    add(kId, ParameterType::kString, response).text = response.arena().copy_text(fields.id.text);
  }
  add(kStart, ParameterType::kBool, response).bool_value = (fields.flags & kSequenceStart) != 0;
  add(kEnd, ParameterType::kBool, response).bool_value = (fields.flags & kSequenceEnd) != 0;
}

}  // namespace atl::ensemble

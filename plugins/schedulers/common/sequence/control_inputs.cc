#include "schedulers/common/sequence/control_inputs.h"

#include <cstring>
#include <utility>

#include "schedulers/common/batch/added_input.h"

namespace atl::schedulers {
namespace {

constexpr int64_t kOneElement[] = {1, 1};

bool is_true(ControlKind kind, const ControlValues& values) noexcept {
  switch (kind) {
    case ControlKind::kStart:
      return (values.sequence_flags & kSequenceStart) != 0;
    case ControlKind::kEnd:
      return (values.sequence_flags & kSequenceEnd) != 0;
    case ControlKind::kReady:
    case ControlKind::kCorrelationId:
      break;
  }
  return values.ready;
}

/// The id as an element of the type; wider numbers keep their low bits.
Buffer id_value(Request& request, DataType datatype, const SequenceId& id) noexcept {
  if (datatype == DataType::kBytes) {
    const auto size = static_cast<uint32_t>(id.text.size());
    std::byte* bytes = request.arena().make_array<std::byte>(sizeof size + size);
    std::memcpy(bytes, &size, sizeof size);  // little-endian, as the machine
    if (size != 0) std::memcpy(bytes + sizeof size, id.text.data(), size);
    return {.data = bytes, .size_bytes = sizeof size + size};
  }
  std::byte* bytes = request.arena().make_array<std::byte>(sizeof id.number);
  std::memcpy(bytes, &id.number, sizeof id.number);
  return {.data = bytes, .size_bytes = data_type_size_bytes(datatype)};
}

}  // namespace

void ControlInputs::write_value(Request& request, const ControlInput& control, const ControlValues& values,
                                Buffer* buffer) const noexcept {
  if (control.kind == ControlKind::kCorrelationId) {
    *buffer = id_value(request, control.datatype, values.sequence);
  } else {
    const auto& value = is_true(control.kind, values) ? control.true_value : control.false_value;
    // Nobody writes to inputs.
    *buffer = {.data = const_cast<std::byte*>(value.data()),
               .size_bytes = data_type_size_bytes(control.datatype)};
  }
}

void ControlInputs::set(Request& request, const ControlValues& values) const noexcept {
  for (const ControlInput& control : inputs_) {
    InputTensor& input = input_named(request, control.name);
    // Only this function gives an input a name that is the control's own memory.
    const bool again = input.name.data() == control.name.data();
    if (again && control.kind == ControlKind::kCorrelationId) continue;
    auto* buffer = again ? const_cast<Buffer*>(input.buffers.data()) : request.arena().make_array<Buffer>(1);
    write_value(request, control, values, buffer);
    if (again) continue;
    input = {};
    input.name = control.name;
    input.datatype = control.datatype;
    input.flags = InputTensor::kAddedByScheduler;
    input.shape = {kOneElement, rank_};
    input.buffers = {buffer, 1};
    input.size_bytes = buffer->size_bytes;
  }
}

}  // namespace atl::schedulers

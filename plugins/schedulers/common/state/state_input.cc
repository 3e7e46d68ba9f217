#include "schedulers/common/state/state_input.h"

#include "schedulers/common/batch/added_input.h"

namespace atl::schedulers {
void set_state_input(Request& request, const StateTensor& tensor, std::span<const int64_t> shape,
                     const Buffer& value) noexcept {
  InputTensor& input = input_named(request, tensor.input_name);
  // Only this function gives an input a name that is the tensor's own memory.
  const bool again = input.name.data() == tensor.input_name.data() && input.shape.size() == shape.size();
  auto* dims =
      again ? const_cast<int64_t*>(input.shape.data()) : request.arena().make_array<int64_t>(shape.size());
  auto* buffer = again ? const_cast<Buffer*>(input.buffers.data()) : request.arena().make_array<Buffer>(1);
  std::ranges::copy(shape, dims);
  *buffer = value;
  input = {};
  input.name = tensor.input_name;
  input.datatype = tensor.datatype;
  input.flags = InputTensor::kAddedByScheduler;
  input.shape = {dims, shape.size()};
  input.buffers = {buffer, 1};
  input.size_bytes = value.size_bytes;
}

}  // namespace atl::schedulers

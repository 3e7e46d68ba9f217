#include "schedulers/common/state/null_state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "schedulers/common/state/state_input.h"

namespace atl::schedulers {

NullState::NullState(ImplicitStates& states) : states_(states), cells_(states.layout().entries().size()) {}

void NullState::begin_batch() noexcept {
  const std::lock_guard lock(mutex_);
  outgrown_.clear();
  for (Cell& cell : cells_) {
    cell.has_output = false;
    for (Room* room : {&cell.zeros, &cell.next}) {
      const bool much_too_large = room->block.buffer().size_bytes / 2 > room->needed_bytes;
      if (much_too_large || room->block.is_outdated()) room->block.reset();
      room->needed_bytes = 0;
    }
  }
}

std::vector<StateBlock> NullState::end_batch() noexcept {
  constexpr uint64_t kMostKeptBytes = uint64_t{1} << 20;
  const std::lock_guard lock(mutex_);
  std::vector<StateBlock> large = std::exchange(outgrown_, {});
  for (Cell& cell : cells_) {
    for (Room* room : {&cell.zeros, &cell.next}) {
      if (room->block.buffer().size_bytes > kMostKeptBytes) large.push_back(std::exchange(room->block, {}));
    }
  }
  return large;
}

/// Room for zeros is zeros.
Status NullState::make_room(Room& room, uint64_t size_bytes, MemoryKind kind, int64_t device_id) noexcept {
  room.needed_bytes = std::max(room.needed_bytes, size_bytes);
  if (room.block && room.block.buffer().size_bytes >= size_bytes && room.wanted == kind &&
      room.wanted_id == device_id) {
    return {};
  }
  Result<StateBlock> block = states_.memory().allocate(size_bytes, kind, device_id);
  if (!block.ok()) {
    return make_status(Code::kResourceExhausted,
                       "state of a row without sequence: ", block.status().message());
  }
  if (block->buffer().kind != MemoryKind::kGpu && size_bytes != 0) {
    std::memset(block->buffer().data, 0, block->buffer().size_bytes);
  }
  // Rows of this batch may be using the one before.
  if (room.block) outgrown_.push_back(std::move(room.block));
  room.block = std::move(block).value();
  room.wanted = kind;
  room.wanted_id = device_id;
  return {};
}

Status NullState::attach_like(Request& request, const Request& reference) noexcept {
  const std::lock_guard lock(mutex_);
  const auto entries = states_.layout().entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    const StateTensor& tensor = entries[i].tensor;
    const InputTensor* like = reference.find_input(tensor.input_name);
    const std::span<const int64_t> shape = like == nullptr ? entries[i].initial_shape : like->shape;
    const std::optional<uint64_t> size_bytes = zeros_size_bytes(tensor.datatype, shape);
    if (!size_bytes) return internal_error("state '", tensor.input_name, "' has shape ", shape_text(shape));
    ATOLL_RETURN_IF_ERROR(make_room(cells_[i].zeros, *size_bytes, MemoryKind::kCpu, 0));
    Buffer zeros = cells_[i].zeros.block.buffer();
    zeros.size_bytes = *size_bytes;
    set_state_input(request, tensor, shape, zeros);
  }
  request.state = this;
  return {};
}

Status NullState::check_name(std::string_view name) const noexcept {
  return states_.layout().find(name).status();
}

Status NullState::output(std::string_view name, DataType datatype, std::span<const int64_t> shape,
                         uint64_t size_bytes, MemoryKind preferred_kind, int64_t preferred_device_id,
                         Buffer* buffer) noexcept {
  Result<size_t> found = states_.layout().find(name);
  if (!found.ok()) return std::move(found).status();
  ATOLL_RETURN_IF_ERROR(states_.layout().entries()[*found].check(datatype, shape, size_bytes));
  const std::lock_guard lock(mutex_);
  Cell& cell = cells_[*found];
  const int64_t device_id = preferred_kind == MemoryKind::kGpu ? preferred_device_id : 0;
  ATOLL_RETURN_IF_ERROR(make_room(cell.next, size_bytes, preferred_kind, device_id));
  cell.has_output = true;
  *buffer = cell.next.block.buffer();
  buffer->size_bytes = size_bytes;
  return {};
}

Status NullState::commit(std::string_view name) noexcept {
  Result<size_t> found = states_.layout().find(name);
  if (!found.ok()) return std::move(found).status();
  const std::lock_guard lock(mutex_);
  if (cells_[*found].has_output) return {};
  return state_has_no_output(name);
}

uint64_t NullState::bytes_held() const noexcept {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const StateBlock& block : outgrown_) bytes += block.buffer().size_bytes;
  for (const Cell& cell : cells_) {
    bytes += cell.zeros.block.buffer().size_bytes + cell.next.block.buffer().size_bytes;
  }
  return bytes;
}

}  // namespace atl::schedulers

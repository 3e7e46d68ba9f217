#include "schedulers/common/state/implicit_state.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "schedulers/common/state/state_input.h"

namespace atl::schedulers {
namespace {

/// Values up to this size are kept inside the object of their sequence.
constexpr uint64_t kInnerBytesMax = 256;
/// Larger places are used for smaller values as long as less than half of them is wasted, or little.
constexpr uint64_t kWasteBytes = 4096;

/// As much as a processor fetches at a time.
constexpr size_t kPrefetchBytesMax = 512;

constexpr size_t round_up(size_t bytes, size_t alignment) noexcept {
  return (bytes + alignment - 1) / alignment * alignment;
}
constexpr bool is_host(MemoryKind kind) noexcept { return kind != MemoryKind::kGpu; }

}  // namespace

Buffer ImplicitState::Place::buffer(uint64_t size_bytes) const noexcept {
  Buffer part = block.buffer();
  part.size_bytes = size_bytes;
  return part;
}

bool ImplicitState::Place::has_room(uint64_t size_bytes) const noexcept {
  const uint64_t room_bytes = block.buffer().size_bytes;
  return block && size_bytes <= room_bytes && room_bytes / 2 <= std::max(size_bytes, kWasteBytes);
}

ImplicitState::ImplicitState(ImplicitStates& owner) noexcept : owner_(owner) {
  for (size_t i = 0; i < owner_.layout_.entries().size(); ++i) {
    new (&cell(i)) Cell();
    const auto& shape = owner_.layout_.entries()[i].initial_shape;
    std::copy(shape.begin(), shape.end(), shape_of(i));
  }
  count(static_cast<int64_t>(owner_.size_bytes_));
}

ImplicitState::~ImplicitState() {
  for (size_t i = 0; i < owner_.layout_.entries().size(); ++i) cell(i).~Cell();
  owner_.bytes_held_.fetch_sub(bytes_held_, std::memory_order_relaxed);
}

void ImplicitStateDeleter::operator()(ImplicitState* state) const noexcept {
  state->~ImplicitState();
  ::operator delete(state, std::align_val_t(StateMemory::kAlignment));
}

// What follows an ImplicitState in its memory was laid out by its ImplicitStates.
ImplicitState::Cell& ImplicitState::cell(size_t i) noexcept {
  auto* cells = reinterpret_cast<std::byte*>(this) + owner_.cells_offset_;
  return *std::launder(reinterpret_cast<Cell*>(cells + i * sizeof(Cell)));
}
int64_t* ImplicitState::shape_of(size_t i) noexcept {
  return reinterpret_cast<int64_t*>(reinterpret_cast<std::byte*>(this) + owner_.offsets_[i].shapes);
}
int64_t* ImplicitState::next_shape_of(size_t i) noexcept {
  return shape_of(i) + owner_.layout_.entries()[i].initial_shape.size();
}

bool ImplicitState::is_self_contained() const noexcept { return bytes_held_ == owner_.size_bytes_; }

void ImplicitState::count(int64_t bytes) noexcept {
  bytes_held_ += static_cast<uint64_t>(bytes);
  owner_.bytes_held_.fetch_add(static_cast<uint64_t>(bytes), std::memory_order_relaxed);
}

/// A place of the object that is not used; null: none is, or it is too small.
void* ImplicitState::free_inner(size_t i, uint64_t size_bytes) noexcept {
  const ImplicitStates::Offsets& at = owner_.offsets_[i];
  if (at.inner_bytes == 0 || size_bytes > at.inner_bytes) return nullptr;
  const Cell& of = cell(i);
  auto* inner = reinterpret_cast<std::byte*>(this) + at.inner;
  for (std::byte* place : {inner, inner + at.inner_bytes}) {
    if (of.present.data() != place && of.next.data() != place && of.read.data() != place) return place;
  }
  return nullptr;
}

Status ImplicitState::allocate(size_t i, uint64_t size_bytes, MemoryKind kind, int64_t device_id,
                               bool growable, Place* place) noexcept {
  place->wanted = kind;
  place->wanted_id = device_id;
  void* inner = kind == MemoryKind::kCpu ? free_inner(i, size_bytes) : nullptr;
  if (inner != nullptr) {
    place->block = StateBlock::borrow(inner, owner_.offsets_[i].inner_bytes);
    return {};
  }
  StateMemory& memory = owner_.memory_;
  Result<StateBlock> block = growable ? memory.allocate_growable(size_bytes, kind, device_id)
                                      : memory.allocate(size_bytes, kind, device_id);
  if (!block.ok()) {
    return make_status(Code::kResourceExhausted, "state '", owner_.layout_.entries()[i].tensor.output_name,
                       "': ", block.status().message());
  }
  place->block = std::move(block).value();
  count(static_cast<int64_t>(place->block.buffer().size_bytes));
  return {};
}

/// False: it cannot, and is as it was.
bool ImplicitState::grow(Place& place, uint64_t size_bytes) noexcept {
  const uint64_t was_bytes = place.block.buffer().size_bytes;
  if (!place.block.is_growable() || !place.block.grow(size_bytes).ok()) return false;
  count(static_cast<int64_t>(place.block.buffer().size_bytes - was_bytes));
  return true;
}

void ImplicitState::drop(Place& place) noexcept {
  if (!place.block.is_borrowed()) count(-static_cast<int64_t>(place.block.buffer().size_bytes));
  place = Place();
}

/// What the request still reads is kept until the next one.
void ImplicitState::replace(Cell& of, Place& place, Place with) noexcept {
  if (place.block && place.data() == of.attached) {
    of.read = std::move(place);
  } else {
    drop(place);
  }
  place = std::move(with);
}

/// Of the present value the bytes are kept.
Status ImplicitState::make_room(size_t i, Place& place, uint64_t size_bytes, MemoryKind kind,
                                int64_t device_id) noexcept {
  Cell& of = cell(i);
  const bool growable = owner_.layout_.entries()[i].tensor.growable;
  const bool has_room =
      growable ? place.block && size_bytes <= place.block.buffer().size_bytes : place.has_room(size_bytes);
  if (place.is_of(kind, device_id) && (has_room || grow(place, size_bytes))) return {};
  Place room;
  ATOLL_RETURN_IF_ERROR(allocate(i, size_bytes, kind, device_id, growable, &room));
  const uint64_t kept_bytes = &place == &of.present ? std::min(size_bytes, of.size_bytes) : 0;
  if (kept_bytes != 0) {
    Status copied = StateMemory::copy(room.block, place.block, kept_bytes);
    if (!copied.ok()) {
      drop(room);
      return copied;
    }
  }
  replace(of, place, std::move(room));
  return {};
}

/// Whether the CPU can write an initial value there.
bool ImplicitState::may_begin_in(const Place& place, uint64_t size_bytes) noexcept {
  return place.has_room(size_bytes) && is_host(place.block.buffer().kind);
}

Status ImplicitState::begin() noexcept {
  const auto entries = owner_.layout_.entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    Cell& of = cell(i);
    drop(of.read);
    of.attached = nullptr;
    of.has_output = false;
    const uint64_t size_bytes = entries[i].initial_size_bytes;
    if (may_begin_in(of.present, size_bytes) || may_begin_in(of.next, size_bytes)) continue;
    ATOLL_RETURN_IF_ERROR(make_room(i, of.next, size_bytes, MemoryKind::kCpu, 0));
  }
  // Nothing fails from here on.
  for (size_t i = 0; i < entries.size(); ++i) {
    Cell& of = cell(i);
    of.size_bytes = entries[i].initial_size_bytes;
    if (!may_begin_in(of.present, of.size_bytes)) std::swap(of.present, of.next);
    const auto& data = entries[i].tensor.initial_data;
    if (!data.empty()) {
      std::memcpy(of.present.data(), data.data(), data.size());
    } else if (of.size_bytes != 0) {
      std::memset(of.present.data(), 0, of.size_bytes);
    }
    std::ranges::copy(entries[i].initial_shape, shape_of(i));
    if (entries[i].tensor.same_buffer) drop(of.next);
  }
  return {};
}

/// Moves what is in memory of a provider that is to go to memory of the CPU. Where that cannot be the provider
/// is kept, and it is tried again at the next request.
void ImplicitState::leave_outdated(size_t i) noexcept {
  Cell& of = cell(i);
  if (of.next.block.is_outdated()) drop(of.next);
  if (!of.present.block.is_outdated()) return;
  Place room;
  if (!allocate(i, of.size_bytes, MemoryKind::kCpu, 0, false, &room).ok()) return;
  if (StateMemory::copy(room.block, of.present.block, of.size_bytes).ok()) std::swap(of.present, room);
  drop(room);
}

void ImplicitState::attach(Request& request) noexcept {
  const auto entries = owner_.layout_.entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    Cell& of = cell(i);
    drop(of.read);
    of.attached = nullptr;
    of.has_output = false;
    leave_outdated(i);
    of.attached = of.present.data();
    set_state_input(request, entries[i].tensor, {shape_of(i), entries[i].initial_shape.size()},
                    of.present.buffer(of.size_bytes));
  }
  request.state = this;
}

Status ImplicitState::check_name(std::string_view name) const noexcept {
  return owner_.layout_.find(name).status();
}

Status ImplicitState::output(std::string_view name, DataType datatype, std::span<const int64_t> shape,
                             uint64_t size_bytes, MemoryKind preferred_kind, int64_t preferred_device_id,
                             Buffer* buffer) noexcept {
  Result<size_t> found = owner_.layout_.find(name);
  if (!found.ok()) return std::move(found).status();
  const size_t i = *found;
  const StateLayout::Entry& entry = owner_.layout_.entries()[i];
  ATOLL_RETURN_IF_ERROR(entry.check(datatype, shape, size_bytes));
  Cell& of = cell(i);
  const int64_t device_id = is_host(preferred_kind) ? 0 : preferred_device_id;
  const bool same = entry.tensor.same_buffer;
  Place& place = same ? of.present : of.next;
  ATOLL_RETURN_IF_ERROR(make_room(i, place, size_bytes, preferred_kind, device_id));
  std::ranges::copy(shape, same ? shape_of(i) : next_shape_of(i));
  (same ? of.size_bytes : of.next_size_bytes) = size_bytes;
  of.has_output = true;
  *buffer = place.buffer(size_bytes);
  return {};
}

Status ImplicitState::commit(std::string_view name) noexcept {
  Result<size_t> found = owner_.layout_.find(name);
  if (!found.ok()) return std::move(found).status();
  Cell& of = cell(*found);
  if (!of.has_output) return state_has_no_output(name);
  of.has_output = false;
  if (owner_.layout_.entries()[*found].tensor.same_buffer) return {};
  std::swap(of.present, of.next);
  of.size_bytes = of.next_size_bytes;
  const size_t rank = owner_.layout_.entries()[*found].initial_shape.size();
  std::copy_n(next_shape_of(*found), rank, shape_of(*found));
  return {};
}

ImplicitStates::ImplicitStates(StateLayout layout, StateMemory& memory)
    : layout_(std::move(layout)), memory_(memory) {
  cells_offset_ = round_up(sizeof(ImplicitState), alignof(ImplicitState::Cell));
  size_t end = cells_offset_ + layout_.entries().size() * sizeof(ImplicitState::Cell);
  for (const StateLayout::Entry& entry : layout_.entries()) {
    Offsets& at = offsets_.emplace_back();
    at.shapes = end;
    end += 2 * entry.initial_shape.size() * sizeof(int64_t);
    const size_t bytes =
        round_up(std::max<uint64_t>(1, std::min(entry.initial_size_bytes, kInnerBytesMax + 1)),
                 StateMemory::kAlignment);
    if (bytes <= kInnerBytesMax) at.inner_bytes = bytes;
  }
  end = round_up(end, StateMemory::kAlignment);
  for (Offsets& at : offsets_) {
    at.inner = end;
    end += 2 * at.inner_bytes;
  }
  size_bytes_ = end;
}

ImplicitStatePtr ImplicitStates::make() noexcept {
  void* memory = ::operator new(size_bytes_, std::align_val_t(StateMemory::kAlignment));
  return ImplicitStatePtr(new (memory) ImplicitState(*this));
}

void ImplicitStates::prefetch(const ImplicitState& state) const noexcept {
  const auto* bytes = reinterpret_cast<const std::byte*>(&state);
  for (size_t at = 0; at < std::min(size_bytes_, kPrefetchBytesMax); at += StateMemory::kAlignment)
    __builtin_prefetch(bytes + at);
}

}  // namespace atl::schedulers

/// Implicit state: what a model keeps from one request of a sequence to the next, in tensors that its backend
/// writes as outputs (SequenceState) and gets back as inputs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "atoll/request/request.h"
#include "schedulers/common/state/state_layout.h"
#include "schedulers/common/state/state_memory.h"

namespace atl::schedulers {

class ImplicitState;
class ImplicitStates;

struct ImplicitStateDeleter {
  void operator()(ImplicitState* state) const noexcept;
};
using ImplicitStatePtr = std::unique_ptr<ImplicitState, ImplicitStateDeleter>;

/// The state of one sequence. Used by one holder at a time: the scheduler, and from attach() until the request is
/// answered and released the instance.
///
///     state->begin();               // requests with the START flag only
///     state->attach(request);       // then the request is executed
///
/// A tensor has two blocks of memory, its present value and room for the next one, which change places when the
/// next one is committed. Blocks are kept from step to step, and also when the sequence begins anew: with values
/// of one size nothing is allocated after the second step. Small ones are part of this object. A value that is
/// not committed, as that of an execution that failed, leaves the present one as it is. Of several tensors each
/// is committed for itself.
///
/// With `use_same_buffer_for_input_output` there is one block, and what is written to it counts at once, in the
/// shape that output() was given; commit() is not needed. If another size or kind of memory is asked for, the
/// value is copied to a new block (of which the original keeps neither the bytes nor the shape). With
/// `use_growable_memory` such a block grows where it is, or, where its memory cannot, has room for half as much
/// again; it is kept until the sequence begins anew. So a value that grows by a little in every step is not
/// copied, or seldom. It does so in every kind of memory.
class ImplicitState final : public SequenceState {
 public:
  ImplicitState(const ImplicitState&) = delete;
  ImplicitState& operator=(const ImplicitState&) = delete;

  /// The initial values, in memory of the CPU. Where the configuration has none they are zeros, because memory
  /// as it is may hold what another client's sequence has left there. Not while a request is with the instance;
  /// before the first attach().
  /// Errors: RESOURCE_EXHAUSTED; all values are as they were.
  Status begin() noexcept;
  /// Gives the request the present values as inputs, in place of inputs of the same names, and Request::state.
  /// Before every execution, also of a request that comes back to be executed again. Shapes and buffers of the
  /// inputs are in the request's arena; names and bytes are this object's and its ImplicitStates'.
  void attach(Request& request) noexcept;

  /// See SequenceState; and: the input of the request is not read any more when another buffer is asked for
  /// after commit(). It may be the same memory.
  /// Errors: also those of StateLayout::find(), StateLayout::Entry::check(); INTERNAL a device failed.
  Status check_name(std::string_view name) const noexcept override;
  Status output(std::string_view name, DataType datatype, std::span<const int64_t> shape, uint64_t size_bytes,
                MemoryKind preferred_kind, int64_t preferred_device_id, Buffer* buffer) noexcept override;
  Status commit(std::string_view name) noexcept override;

  /// Memory that it takes, itself included.
  uint64_t bytes_held() const noexcept { return bytes_held_; }
  /// It has no blocks of a provider's: it may be kept for another sequence, which begins it anew.
  bool is_self_contained() const noexcept;

 private:
  friend class ImplicitStates;
  friend struct ImplicitStateDeleter;

  /// Memory of one value: a part of this object, or a block of its own.
  struct Place {
    StateBlock block;
    int64_t wanted_id = 0;  ///< device and kind of memory that were asked for
    MemoryKind wanted = MemoryKind::kCpu;

    void* data() const noexcept { return block.buffer().data; }
    Buffer buffer(uint64_t size_bytes) const noexcept;
    bool has_room(uint64_t size_bytes) const noexcept;
    bool is_of(MemoryKind kind, int64_t device_id) const noexcept {
      return wanted == kind && wanted_id == device_id;
    }
  };
  struct Cell {
    Place present, next;
    Place read;                ///< what the request has as input, when it is neither of them any more
    void* attached = nullptr;  ///< the bytes that the request has as input
    uint64_t size_bytes = 0, next_size_bytes = 0;
    bool has_output = false;  ///< next, not committed
  };

  explicit ImplicitState(ImplicitStates& owner) noexcept;
  virtual ~ImplicitState();

  Cell& cell(size_t i) noexcept;
  int64_t* shape_of(size_t i) noexcept;       // of the present value
  int64_t* next_shape_of(size_t i) noexcept;  // of the value that was asked for
  void* free_inner(size_t i, uint64_t size_bytes) noexcept;
  Status allocate(size_t i, uint64_t size_bytes, MemoryKind kind, int64_t device_id, bool growable,
                  Place* place) noexcept;
  bool grow(Place& place, uint64_t size_bytes) noexcept;
  Status make_room(size_t i, Place& place, uint64_t size_bytes, MemoryKind kind, int64_t device_id) noexcept;
  static bool may_begin_in(const Place& place, uint64_t size_bytes) noexcept;
  void replace(Cell& of, Place& place, Place with) noexcept;
  void drop(Place& place) noexcept;
  void leave_outdated(size_t i) noexcept;
  void count(int64_t bytes) noexcept;

  ImplicitStates& owner_;
  uint64_t bytes_held_ = 0;
};

/// The implicit state of all sequences of one model version. [any]; outlives what it makes.
class ImplicitStates {
 public:
  /// \param memory  outlives it
  ImplicitStates(StateLayout layout, StateMemory& memory);
  ImplicitStates(const ImplicitStates&) = delete;
  ImplicitStates& operator=(const ImplicitStates&) = delete;

  /// The model has none: nothing is to be made or attached.
  bool empty() const noexcept { return layout_.empty(); }
  const StateLayout& layout() const noexcept { return layout_; }
  StateMemory& memory() noexcept { return memory_; }
  /// For a sequence that begins. One allocation; the values take memory by begin() and output().
  ImplicitStatePtr make() noexcept;
  /// Has the processor fetch one that will be used soon: of many sequences, most are not in its caches.
  void prefetch(const ImplicitState& state) const noexcept;
  /// What all of them take at this moment, in all kinds of memory.
  uint64_t bytes_held() const noexcept { return bytes_held_.load(std::memory_order_relaxed); }

 private:
  friend class ImplicitState;
  friend struct ImplicitStateDeleter;

  /// Where in an ImplicitState's memory the parts of one tensor are.
  struct Offsets {
    size_t shapes = 0;       ///< of the present value, then of the next one
    size_t inner = 0;        ///< two places, one after the other
    size_t inner_bytes = 0;  ///< of each; 0: there are none
  };

  const StateLayout layout_;
  StateMemory& memory_;
  std::vector<Offsets> offsets_;
  size_t cells_offset_ = 0;
  size_t size_bytes_ = 0;
  std::atomic<uint64_t> bytes_held_{0};
};

}  // namespace atl::schedulers

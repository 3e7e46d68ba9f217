/// The implicit state of requests that stand for rows of a batch without a sequence.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "atoll/request/request.h"
#include "schedulers/common/state/implicit_state.h"

namespace atl::schedulers {

/// One for all such rows of one instance. Their states are zeros, and what is given as the next one is thrown
/// away: all rows write it into the same memory, which is never read. Memory up to a size is kept from batch to
/// batch, as long as not much less of it is needed.
class NullState final : public SequenceState {
 public:
  /// \param states  of the model; outlives it
  explicit NullState(ImplicitStates& states);
  NullState(const NullState&) = delete;
  NullState& operator=(const NullState&) = delete;
  virtual ~NullState() = default;

  /// Before the first row of a batch is attached, and after the batch before has ended.
  void begin_batch() noexcept;
  /// After the last row of a batch was released, and before the next one begins: a sequence may have grown to
  /// any size, and the next batch may be long in coming. \returns what is too large to be kept, to be ended
  /// where no lock is held
  [[nodiscard]] std::vector<StateBlock> end_batch() noexcept;
  /// Gives a request zeros in the shapes of the states of `reference`, a request of the batch that has its own
  /// (ImplicitState::attach), and Request::state. Where that has none the shape is the initial one.
  /// Errors: RESOURCE_EXHAUSTED; some inputs may be there already.
  Status attach_like(Request& request, const Request& reference) noexcept;

  /// As of ImplicitState. [any]
  Status check_name(std::string_view name) const noexcept override;
  Status output(std::string_view name, DataType datatype, std::span<const int64_t> shape, uint64_t size_bytes,
                MemoryKind preferred_kind, int64_t preferred_device_id, Buffer* buffer) noexcept override;
  Status commit(std::string_view name) noexcept override;

  uint64_t bytes_held() const noexcept;  ///< [any]

 private:
  struct Room {
    StateBlock block;
    MemoryKind wanted = MemoryKind::kCpu;
    int64_t wanted_id = 0;
    uint64_t needed_bytes = 0;  ///< most, in this batch
  };
  struct Cell {
    Room zeros, next;
    bool has_output = false;
  };
  Status make_room(Room& room, uint64_t size_bytes, MemoryKind kind, int64_t device_id) noexcept;

  ImplicitStates& states_;
  mutable std::mutex mutex_;  // guards the following
  std::vector<Cell> cells_;
  std::vector<StateBlock> outgrown_;  // in this batch
};

}  // namespace atl::schedulers

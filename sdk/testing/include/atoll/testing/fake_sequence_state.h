/// The implicit state of a sequence, for tests of backends.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/core/text.h"
#include "atoll/memory/memory.h"
#include "atoll/request/request.h"

namespace atl::test {

/// Keeps what a backend commits and gives it to the sequence's next request, as a scheduler does. Breaches of the
/// protocol (an unknown name, another type, a size that is not that of the shape, a commit without a buffer,
/// bytes written around a buffer) are refused where SequenceState can refuse them, and collected in problems():
/// every test of a backend should expect none. Not thread safe.
///
///     FakeSequenceState state;
///     state.add("STATE_IN", "STATE_OUT", {DataType::kFp32, {1, 2}, bytes_of<float>({0, 0})});
///     state.attach(*request);
///     ... the request is executed ...
///     EXPECT_EQ(state.value("STATE_OUT").bytes, bytes_of<float>({1, 2}));
class FakeSequenceState final : public SequenceState {
 public:
  struct Value {
    DataType datatype = DataType::kInvalid;
    std::vector<int64_t> shape;  ///< as the backend sees it
    std::string bytes;
  };

  FakeSequenceState() = default;
  FakeSequenceState(const FakeSequenceState&) = delete;
  FakeSequenceState& operator=(const FakeSequenceState&) = delete;
  virtual ~FakeSequenceState() = default;

  // --- the test ---
  /// A state and its first value, whose type it keeps.
  void add(std::string input_name, std::string output_name, Value value) {
    states_.push_back({std::move(input_name), std::move(output_name), std::move(value), {}, nullptr, 0});
  }
  /// Buffers of the kind that this gives are from there if the backend prefers it; outlives this.
  void give_memory_of(Memory& memory) noexcept { memory_ = &memory; }
  /// Every output() from now on; OK: no longer.
  void fail_outputs(Status failure) noexcept { failure_ = std::move(failure); }
  /// The present values become inputs of the request, in place of those of the same names, and this its state.
  /// Whatever was not committed is forgotten. The inputs' bytes are copies in the request's arena.
  void attach(Request& request) {
    for (State& state : states_) {
      InputTensor* input = nullptr;
      for (InputTensor& one : request.inputs) {
        if (one.name == state.input_name) input = &one;
      }
      if (input == nullptr) input = &request.add_input();
      *input = {};
      auto* buffer = request.arena().make<Buffer>();
      buffer->size_bytes = state.value.bytes.size();
      buffer->data = request.arena().allocate(buffer->size_bytes, kAlignment);
      if (buffer->size_bytes != 0)
        std::memcpy(buffer->data, state.value.bytes.data(), state.value.bytes.size());
      input->name = request.arena().copy_text(state.input_name);
      input->datatype = state.value.datatype;
      input->flags = InputTensor::kAddedByScheduler;
      input->shape = request.arena().copy(std::span<const int64_t>(state.value.shape));
      input->buffers = {buffer, 1};
      input->size_bytes = buffer->size_bytes;
      state.room.reset();
    }
    request.state = this;
  }
  /// What was committed last, else what it began with; of a name that is none the test ends.
  const Value& value(std::string_view output_name) { return known(output_name).value; }
  void set(std::string_view output_name, Value value) { known(output_name).value = std::move(value); }
  uint64_t commits(std::string_view output_name) { return known(output_name).commits; }
  /// Breaches of the protocol, one sentence each.
  std::vector<std::string> problems() const {
    std::vector<std::string> all = problems_;
    for (const State& state : states_) {
      if (state.room != nullptr && !state.room->is_intact()) all.push_back(overrun(state));
    }
    return all;
  }

  // --- SequenceState ---
  Status check_name(std::string_view name) const noexcept override {
    const bool is_known =
        std::ranges::any_of(states_, [&](const State& state) { return state.output_name == name; });
    return is_known ? Status() : invalid_argument("state '", name, "' is not a valid state name.");
  }
  Status output(std::string_view name, DataType datatype, std::span<const int64_t> shape, uint64_t size_bytes,
                MemoryKind preferred_kind, int64_t preferred_device_id, Buffer* buffer) noexcept override {
    State* state = find(name);
    if (state == nullptr) return breach(cat("state '", name, "' is not a valid state name."));
    if (datatype != state->value.datatype) {
      return breach(cat("state '", name, "' is given type ", data_type_name(datatype), ", expected ",
                        data_type_name(state->value.datatype)));
    }
    const auto count = element_count(shape);
    const uint64_t element = data_type_size_bytes(datatype);
    if (!count || (element != 0 && static_cast<uint64_t>(*count) * element != size_bytes)) {
      return breach(
          cat("state '", name, "' of shape ", shape_text(shape), " is given ", size_bytes, " bytes"));
    }
    if (!failure_.ok()) return failure_.clone();
    note_overrun(*state);
    state->next = {datatype, {shape.begin(), shape.end()}, {}};
    const bool foreign = memory_ != nullptr && memory_->kind() == preferred_kind;
    state->room = std::make_unique<Room>(foreign ? memory_ : nullptr, size_bytes, preferred_device_id);
    *buffer = state->room->buffer;
    return {};
  }
  Status commit(std::string_view name) noexcept override {
    State* state = find(name);
    if (state == nullptr) return breach(cat("state '", name, "' is not a valid state name."));
    if (state->room == nullptr) {
      return breach(cat("state '", name, "' is committed, but no buffer was asked for its next value"));
    }
    note_overrun(*state);
    state->next.bytes = state->room->bytes();
    state->value = std::move(state->next);
    state->room.reset();
    ++state->commits;
    return {};
  }

 private:
  static constexpr size_t kAlignment = 64;

  /// A buffer, between guards if it is the test's own memory.
  struct Room {
    Room(Memory* from, uint64_t size_bytes, int64_t device_id) : memory(from) {
      if (memory != nullptr) {
        auto allocated = memory->allocate(size_bytes, device_id);
        if (!allocated.ok()) fail(allocated.status().message());
        buffer = *allocated;
        buffer.size_bytes = size_bytes;
        return;
      }
      guarded = static_cast<char*>(::operator new(size_bytes + 2 * kAlignment, std::align_val_t(kAlignment)));
      std::memset(guarded, kGuard, size_bytes + 2 * kAlignment);
      buffer.data = guarded + kAlignment;
      buffer.size_bytes = size_bytes;
    }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    ~Room() {
      if (memory != nullptr) {
        memory->free(buffer);
      } else {
        ::operator delete(guarded, std::align_val_t(kAlignment));
      }
    }
    bool is_intact() const noexcept {
      if (memory != nullptr) return true;
      for (size_t i = 0; i < kAlignment; ++i) {
        if (guarded[i] != kGuard || guarded[kAlignment + buffer.size_bytes + i] != kGuard) return false;
      }
      return true;
    }
    std::string bytes() const {
      std::string copy(buffer.size_bytes, '\0');
      Buffer to;
      to.data = copy.data();
      to.size_bytes = copy.size();
      const bool on_device = buffer.kind == MemoryKind::kGpu;
      const Status status = on_device ? memory->copy(to, buffer) : copy_on_host(to, buffer);
      if (!status.ok()) fail(status.message());
      return copy;
    }

    static constexpr char kGuard = 0x5a;
    Memory* memory;
    char* guarded = nullptr;
    Buffer buffer;
  };
  struct State {
    std::string input_name, output_name;
    Value value, next;
    std::unique_ptr<Room> room;  ///< of the next value; null: none was asked for
    uint64_t commits = 0;
  };

  [[noreturn]] static void fail(std::string_view text) noexcept {
    std::fprintf(stderr, "FakeSequenceState: %.*s\n", static_cast<int>(text.size()), text.data());
    std::abort();
  }
  State* find(std::string_view output_name) noexcept {
    for (State& state : states_) {
      if (state.output_name == output_name) return &state;
    }
    return nullptr;
  }
  State& known(std::string_view output_name) noexcept {
    State* state = find(output_name);
    if (state == nullptr) fail(cat("there is no state '", output_name, "'"));
    return *state;
  }
  static std::string overrun(const State& state) {
    return cat("bytes around the buffer of state '", state.output_name, "' were written");
  }
  void note_overrun(const State& state) {
    if (state.room != nullptr && !state.room->is_intact()) problems_.push_back(overrun(state));
  }
  Status breach(std::string text) {
    problems_.push_back(text);
    return Status(Code::kInvalidArgument, std::move(text));
  }

  std::vector<State> states_;
  std::vector<std::string> problems_;
  Memory* memory_ = nullptr;
  Status failure_;
};

}  // namespace atl::test

/// The values of one ensemble tensor while a request is executed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "atoll/request/request.h"

namespace atl::ensemble {

/// What goes on from step to step beside the tensors.
struct SequenceFields {
  SequenceId id;
  uint32_t flags = 0;       ///< SequenceFlags
  bool overridden = false;  ///< a member's response said so; else they are the request's
};

/// A response of a step that is kept as long as its tensors are read. In the response's arena.
struct KeptResponse {
  Response* response = nullptr;
  uint32_t values = 0;  ///< of its tensors that are still there
  SequenceFields sequence;
};

/// One value, borrowed from a kept response or from the ensemble's request.
struct Value {
  enum class State : uint8_t { kAwaited, kHere, kGone };
  State state = State::kAwaited;
  bool empty = false;  ///< an input that was not sent, or an output that its step left out
  DataType datatype = DataType::kInvalid;
  uint32_t uses = 0;   ///< by who has not read it yet
  uint32_t flags = 0;  ///< InputTensor::kShared
  std::span<const int64_t> shape;
  std::span<const Buffer> buffers;
  uint64_t size_bytes = 0;
  KeptResponse* kept = nullptr;  ///< null: of the ensemble's request, or empty
};

/// By iteration. Most ensembles have one iteration, which needs no memory of its own; of the later ones those are
/// kept that are not gone.
class TensorValues {
 public:
  /// Null: it has not come yet, or is gone.
  Value* find(uint64_t iteration) noexcept {
    Value* value = place(iteration);
    return value != nullptr && value->state == Value::State::kHere ? value : nullptr;
  }
  /// One that has not come before.
  Value& add(uint64_t iteration) {
    if (iteration > 0) {
      while (gone_ + later_.size() < iteration) later_.emplace_back();
    }
    Value& value = *place(iteration);
    value = {};
    value.state = Value::State::kHere;
    return value;
  }
  void drop(uint64_t iteration) noexcept {
    place(iteration)->state = Value::State::kGone;
    while (!later_.empty() && later_.front().state == Value::State::kGone) {
      later_.pop_front();
      ++gone_;
    }
  }
  /// Calls it with each value that is here.
  template <class Each>
  void for_each(Each&& each) {
    if (first_.state == Value::State::kHere) each(first_);
    for (Value& value : later_) {
      if (value.state == Value::State::kHere) each(value);
    }
  }
  /// Forgets all of them.
  void clear() noexcept {
    first_.state = Value::State::kAwaited;
    if (gone_ == 0 && later_.empty()) return;
    later_.clear();
    gone_ = 0;
  }

 private:
  /// Null: it has not come yet, or is gone.
  Value* place(uint64_t iteration) noexcept {
    if (iteration == 0) return &first_;
    const uint64_t at = iteration - 1;
    return at < gone_ || at - gone_ >= later_.size() ? nullptr : &later_[static_cast<size_t>(at - gone_)];
  }

  Value first_;
  std::deque<Value> later_;  ///< from iteration gone_ + 1 on
  uint64_t gone_ = 0;
};

}  // namespace atl::ensemble

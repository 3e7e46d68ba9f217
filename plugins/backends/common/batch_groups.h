/// Which requests of a batch are run at once: those that can be joined, and each by itself after a joined run that failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "atoll/backend/responder.h"
#include "atoll/request/request.h"

namespace atl::backends {

/// Requests of one batch that are run at once.
struct BatchGroup {
  std::vector<uint32_t> indices;  ///< in the batch
  std::vector<Request*> members;  ///< the same
  uint32_t weight = 0;            ///< sum of their batch weights

  void clear() noexcept {
    indices.clear();
    members.clear();
    weight = 0;
  }
  void add(uint32_t index, Request& request) {
    indices.push_back(index);
    members.push_back(&request);
    weight += request.batch_weight();
  }
};

/// Use one an instance: its memory is kept. Not thread safe.
///
///     groups.fill(responder, [&](Request& request) { return check(request); });
///     while (groups.take(responder, can_be_joined)) {
///       ... run groups.current(); if that failed and it has several members, groups.split()
///     }
class BatchGroups {
 public:
  /// Has those requests of the responder's batch wait that the function finds nothing wrong with; the others fail with what it says.
  /// \param check  Status(Request&)
  template <class Check>
  void fill(BatchResponder& responder, Check&& check) {
    pending_.clear();
    alone_ = 0;
    for (uint32_t i = 0; i < responder.size(); ++i) {
      Status status = check(responder.request(i));
      if (status.ok()) {
        pending_.push_back(i);
      } else {
        responder.fail(i, std::move(status));
      }
    }
  }

  /// Makes the first request that waits, and all that can be joined with it, the current group.
  /// \param can_be_joined  bool(const Request& first, const Request& other)
  /// \returns false: none waits
  template <class CanBeJoined>
  bool take(BatchResponder& responder, CanBeJoined&& can_be_joined) {
    if (pending_.empty()) return false;
    group_.clear();
    rest_.clear();
    const bool joins = alone_ == 0;
    if (!joins) --alone_;
    for (const uint32_t i : pending_) {
      Request& request = responder.request(i);
      if (group_.members.empty() || (joins && can_be_joined(*group_.members[0], request))) {
        group_.add(i, request);
      } else {
        rest_.push_back(i);
      }
    }
    pending_.swap(rest_);
    return true;
  }

  /// A run that failed says nothing about which of its requests is to blame: each of the current group waits again, for
  /// a run of its own.
  void split() {
    pending_.insert(pending_.begin(), group_.indices.begin(), group_.indices.end());
    alone_ = group_.indices.size();
  }

  const BatchGroup& current() const noexcept { return group_; }

 private:
  std::vector<uint32_t> pending_, rest_;
  size_t alone_ = 0;  ///< so many of the first that wait are not to be joined
  BatchGroup group_;
};

}  // namespace atl::backends

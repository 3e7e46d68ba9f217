/// The instances of one model, as far as one is of interest to another.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace atl::python {

/// Told that another instance has become ready, or is no more.
class GroupMember {
 public:
  virtual void on_group_changed() noexcept = 0;

 protected:
  ~GroupMember() = default;
};

/// Who has no worker leaves requests to those that have one; if there is none, nobody need wait for it. [any]
class InstanceGroup {
 public:
  void add(GroupMember& member) {
    std::lock_guard lock(mutex_);
    members_.push_back(&member);
  }
  /// It is not told anything any more.
  void remove(GroupMember& member) noexcept {
    std::lock_guard lock(mutex_);
    std::erase(members_, &member);
  }
  void change_ready(int by) noexcept {
    ready_.fetch_add(by, std::memory_order_acq_rel);
    std::lock_guard lock(mutex_);
    for (GroupMember* member : members_) member->on_group_changed();
  }
  bool is_any_ready() const noexcept { return ready_.load(std::memory_order_acquire) > 0; }

 private:
  std::atomic<int> ready_{0};
  std::mutex mutex_;
  std::vector<GroupMember*> members_;
};

}  // namespace atl::python

/// atl::Listeners as a list.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "atoll/frontend/listeners.h"

namespace atl::runtime {

class ListenerList final : public Listeners {
 public:
  virtual ~ListenerList() = default;
  void add(const Host& owner, int fd) noexcept override {
    std::lock_guard lock(mutex_);
    sockets_.emplace_back(&owner, fd);
  }
  void remove(const Host& owner, int fd) noexcept override {
    std::lock_guard lock(mutex_);
    std::erase(sockets_, std::pair(&owner, fd));
  }
  void visit(const std::function<void(const Host&, int)>& look) const noexcept override {
    std::lock_guard lock(mutex_);
    for (const auto& [owner, fd] : sockets_) look(*owner, fd);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<const Host*, int>> sockets_;
};

}  // namespace atl::runtime

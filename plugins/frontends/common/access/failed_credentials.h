/// How often each address has presented credentials that are wrong.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "atoll/core/clock.h"

namespace atl::frontends {

/// Bounded: addresses that fall on one place of the table share it. Costs nothing unless a credential is wrong. [any]
class FailedCredentials {
 public:
  /// So many a second get the answer that the credential is wrong; further ones that the client is too fast.
  static constexpr uint32_t kMostASecond = 10;

  /// Counts one. \param peer  as CallHead::peer(); its port does not count
  /// \returns false: it is one too many in this second
  bool add(std::string_view peer, int64_t now_ns) noexcept {
    failures_.fetch_add(1, std::memory_order_relaxed);
    const uint64_t hash = hash_of(peer.substr(0, peer.rfind(':')));
    const std::lock_guard lock(mutex_);
    Place& place = places_[hash % kPlaces];
    if (now_ns - place.since_ns >= kNsPerSecond || place.count == 0) place = {now_ns, 0};
    if (place.count < kMostASecond) {
      ++place.count;
      return true;
    }
    too_many_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  uint64_t failures() const noexcept { return failures_.load(std::memory_order_relaxed); }
  /// Of these those that were one too many.
  uint64_t too_many() const noexcept { return too_many_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kPlaces = 1024;
  struct Place {
    int64_t since_ns = 0;
    uint32_t count = 0;
  };

  static uint64_t hash_of(std::string_view address) noexcept {
    uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const char c : address) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash ^ (hash >> 32);
  }

  std::atomic<uint64_t> failures_{0};
  std::atomic<uint64_t> too_many_{0};
  std::mutex mutex_;
  std::array<Place, kPlaces> places_{};
};

}  // namespace atl::frontends

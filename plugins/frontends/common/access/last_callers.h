/// The credential that each connection has sent last, and whose it is.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "atoll/core/clock.h"
#include "atoll/frontend/access.h"
#include "frontends/common/access/caller_identity.h"

namespace atl::frontends {

/// A head that notes whether somebody has looked at more of it than the header `authorization`.
class WatchedHead final : public CallHead {
 public:
  static constexpr std::string_view kAuthorization = "authorization";

  explicit WatchedHead(const CallHead& head) noexcept : head_(head) {}
  virtual ~WatchedHead() = default;

  size_t find(std::string_view name, std::span<std::string_view> values) const noexcept override {
    if (name != kAuthorization) saw_more_ = true;
    return head_.find(name, values);
  }
  std::string peer() const noexcept override {
    saw_more_ = true;
    return head_.peer();
  }
  const ClientCertificate* certificate() const noexcept override {
    saw_more_ = true;
    return head_.certificate();
  }
  bool saw_more() const noexcept { return saw_more_; }

 private:
  const CallHead& head_;
  mutable bool saw_more_ = false;
};

/// Of the connections of one thread: a call that presents what the one before on its connection has presented is the same caller's,
/// and no source is asked, as long as the identity holds and for a second at most. Only what came of the header
/// `authorization` alone is kept. Bounded: connections that fall on one place of the table share it. [its thread]
class LastCallers {
 public:
  /// An entry is looked up again after this time, also where its identity says that it holds.
  static constexpr int64_t kMostAgeNs = kNsPerSecond;

  LastCallers() noexcept = default;
  LastCallers(const LastCallers&) = delete;
  LastCallers& operator=(const LastCallers&) = delete;
  ~LastCallers() { clear(); }

  /// Whose call it is. \param connection  any number that is the connection's alone while it lives
  /// \returns null: it is to be looked up
  const std::shared_ptr<const Identity>* find(uint64_t connection, const AccessQuestion& question,
                                              int64_t now_ns) noexcept;
  /// Keeps what was found for this question. \param sources  who found it
  /// \param count  of entries that are kept, of all threads; outlives this
  void keep(uint64_t connection, const AccessQuestion& question,
            const std::shared_ptr<const Identity>& identity, Replaceable<IdentityChain>::Hold sources,
            std::atomic<int64_t>& count, int64_t now_ns) noexcept;

  bool empty() const noexcept { return kept_ == 0; }
  /// Lets those go that are too old or hold no more: what is kept keeps a source from being replaced.
  void sweep(int64_t now_ns) noexcept;
  void clear() noexcept;

 private:
  static constexpr size_t kPlaces = 256;
  /// Longer credentials are looked up each time.
  static constexpr size_t kMostBytes = 4096;
  struct Entry {
    Replaceable<IdentityChain>::Hold sources;
    std::shared_ptr<const Identity> identity;  ///< null: nothing is kept; ends before the sources
    std::atomic<int64_t>* count = nullptr;
    uint64_t connection = 0;
    ApiCategory category = ApiCategory::kOther;
    CallProtocol protocol = CallProtocol::kHttp;
    int64_t since_ns = 0;
    std::string credential;
  };

  static bool is_fresh(const Entry& entry, int64_t now_ns) noexcept;
  Entry& place_of(uint64_t connection) noexcept;
  void drop(Entry& entry) noexcept;

  std::unique_ptr<std::array<Entry, kPlaces>> entries_;  ///< null: nothing was kept yet
  size_t kept_ = 0;
};

/// Where a call's connection keeps what it has sent last.
struct CallerPlace {
  LastCallers& callers;
  uint64_t connection;  ///< as of LastCallers
};

}  // namespace atl::frontends

/// Which scope counts for which model: read by every request, replaced as a whole by updates.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "telemetry/trace/scope.h"

namespace atl::tracing {

/// An immutable state of all settings.
struct ScopeSnapshot {
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };
  struct Model {
    OwnValues own;
    std::shared_ptr<Scope> scope;
  };
  OwnValues own;  ///< of the server, against the manifest
  std::shared_ptr<Scope> global;
  std::unordered_map<std::string, Model, Hash, std::equal_to<>> models;  ///< those with values of their own

  const std::shared_ptr<Scope>& scope_of(std::string_view model) const noexcept {
    if (models.empty()) return global;
    auto found = models.find(model);
    return found == models.end() ? global : found->second.scope;
  }
};

/// Readers touch a counter of their own thread's shard and nothing that another thread writes.
class ScopeTable {
 public:
  explicit ScopeTable(std::unique_ptr<const ScopeSnapshot> first) noexcept : current_(first.release()) {}
  ScopeTable(const ScopeTable&) = delete;
  ScopeTable& operator=(const ScopeTable&) = delete;
  /// No reader may be left.
  ~ScopeTable() { delete current_.load(); }

  /// [request] Samples a request of the model. The scope is set only if it is sampled.
  Sampled sample(std::string_view model, bool forced, std::shared_ptr<Scope>* scope) noexcept;
  /// By one writer at a time, which may look at the present snapshot until its next publish().
  const ScopeSnapshot& current() const noexcept { return *current_.load(std::memory_order_acquire); }
  /// Puts a snapshot in place, waits until no reader is left in the one before, and returns that.
  std::unique_ptr<const ScopeSnapshot> publish(std::unique_ptr<const ScopeSnapshot> next) noexcept;

 private:
  static constexpr uint32_t kShards = 16;
  struct alignas(64) Shard {
    /// Readers inside, by the parity of the generation they came in with, so that a writer waits only for
    /// those that were there before it.
    std::atomic<uint32_t> readers[2] = {0, 0};
  };
  Shard& own_shard() noexcept;

  std::array<Shard, kShards> shards_;
  std::atomic<uint32_t> generation_{0};
  std::atomic<const ScopeSnapshot*> current_;
};

}  // namespace atl::tracing

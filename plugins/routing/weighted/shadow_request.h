/// A copy of a client's request, run on another version; its responses are dropped.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "atoll/core/gate.h"
#include "atoll/gpu/device_memory.h"
#include "atoll/request/inner_request.h"
#include "routing/weighted/route_table.h"

namespace atl::routing {

/// Memory that the tensors of all shadow requests together may take. [any]
class ShadowBudget {
 public:
  explicit ShadowBudget(uint64_t limit_bytes) noexcept : limit_bytes_(limit_bytes) {}
  bool take(uint64_t bytes) noexcept;
  void give_back(uint64_t bytes) noexcept { used_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t used_bytes() const noexcept { return used_bytes_.load(std::memory_order_relaxed); }

 private:
  const uint64_t limit_bytes_;
  std::atomic<uint64_t> used_bytes_{0};
};

/// Before run() whoever holds it may delete it; from then on it is its own.
class ShadowRequest final : public InnerRequest {
 public:
  /// Null if the limits do not allow it or an input cannot be copied to CPU memory; that is counted as
  /// dropped. Blocks for inputs in device memory. \param devices  null: nothing reaches it. \param pass  kept
  /// until the request is over
  static std::unique_ptr<ShadowRequest> copy_of(const Request& from, ShadowTarget& target,
                                                uint32_t max_in_flight, ShadowBudget& budget,
                                                const DeviceMemory* devices, Pass pass) noexcept;
  virtual ~ShadowRequest();

  /// Hands it to the target's version and forgets it.
  static void run(std::unique_ptr<ShadowRequest> shadow, ModelCatalog& catalog) noexcept;
  /// Counts it as dropped; to be deleted then.
  void count_dropped() noexcept { target_.dropped.fetch_add(1, std::memory_order_relaxed); }

 private:
  ShadowRequest(ShadowTarget& target, ShadowBudget& budget, Pass pass) noexcept
      : pass_(std::move(pass)), target_(target), budget_(budget) {}
  bool copy(const Request& from, const DeviceMemory* devices) noexcept;
  bool copy_inputs(const Request& from, const DeviceMemory* devices) noexcept;

  // --- InnerRequest ---
  Status reserve(const OutputTensor& output, uint64_t size_bytes) noexcept override;
  void unreserve(uint64_t size_bytes) noexcept override { budget_.give_back(size_bytes); }
  void on_response(Response* response, uint32_t flags) noexcept override;
  void on_end() noexcept override;

  Pass pass_;  ///< goes last: with it the plugin may be unmapped
  ShadowTarget& target_;
  ShadowBudget& budget_;
  void* input_bytes_ = nullptr;
  uint64_t input_size_bytes_ = 0;
  bool failed_ = false;
};

}  // namespace atl::routing

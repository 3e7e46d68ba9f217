/// A response to a request of the program: the server's own response, and what it needs to outlive its request.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "atoll/models/model.h"
#include "atoll/request/request.h"
#include "request/response_allocator.h"

namespace atl::triton {

/// Of one output; in the response's arena.
struct OutputMemory {
  void* buffer = nullptr;
  void* userp = nullptr;  ///< the allocator's
  uint64_t size_bytes = 0;
  TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
  int64_t device_id = 0;
  bool is_heap = false;  ///< of an output that the program did not ask for
  OutputMemory* older = nullptr;
};

}  // namespace atl::triton

/// Pooled. Until it is sent it is the sender's, by one thread at a time, then the program's.
struct TRITONSERVER_InferenceResponse final : atl::Response {
  std::atomic<bool> is_sent{false};  ///< it is the program's
  TRITONSERVER_ResponseAllocator* allocator = nullptr;
  void* allocator_userp = nullptr;
  atl::Model* model = nullptr;                  ///< held from hand_over() on
  std::string_view request_id;                  ///< from hand_over() on
  atl::triton::OutputMemory* memory = nullptr;  ///< of all outputs

  // --- of the pool ---
  TRITONSERVER_InferenceResponse* next_free = nullptr;
  uint32_t shard = 0;

  /// A response as new, for a request that the sink is of. Tells the allocator.
  static TRITONSERVER_InferenceResponse& make(atl::ResponseSink& sink,
                                              TRITONSERVER_ResponseAllocator& allocator,
                                              void* allocator_userp) noexcept;
  /// Memory of the allocator's; of the heap for an output that the program did not ask for.
  /// Errors: ALREADY_EXISTS the output has memory; the allocator's.
  atl::Status allocate_output(atl::OutputTensor& output, bool is_wanted, uint64_t size_bytes,
                              atl::MemoryKind preferred_kind, int64_t preferred_device_id) noexcept;
  /// Before it is given to the program: only outputs that were asked for, each complete, once, and with nothing that is
  /// the request's.
  void hand_over(const atl::Request& request) noexcept;
  /// Gives memory back, and the response to the pool.
  void end() noexcept;

 private:
  atl::Status wait_for_outputs() noexcept;
  void keep_wanted(const atl::Request& request) noexcept;
  void take_texts(const atl::Request& request) noexcept;
  atl::Status ask_allocator(const char* name, atl::triton::OutputMemory& made) noexcept;
  void give_memory_back() noexcept;
};

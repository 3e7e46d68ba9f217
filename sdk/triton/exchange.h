/// A request that foreign code executes, and what that code makes to answer it. All of it belongs to the request's
/// handle, and is changed under the handle's mutex: a response may be sent by one thread while another one releases
/// the request or deletes a factory, and a sink is called by one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "atoll/triton/buffer_attributes.h"
#include "atoll/triton/request.h"
#include "cell_pool.h"
#include "objects.h"

struct TRITONBACKEND_Output {
  enum class Memory : uint8_t { kNone, kGiven, kRefused };

  std::atomic<TRITONBACKEND_Response*> response{nullptr};  ///< null: it was sent or deleted
  std::string_view name;                                   ///< as the shape, in the response's arena
  std::span<const int64_t> shape;
  atl::DataType datatype = atl::DataType::kInvalid;
  Memory memory = Memory::kNone;
  TRITONSERVER_BufferAttributes attributes;  ///< if memory was given
  TRITONBACKEND_Output* next = nullptr;      ///< of the response

  TRITONBACKEND_Output* next_free = nullptr;
  uint32_t shard = 0;
};

struct TRITONBACKEND_Response {
  std::atomic<TRITONBACKEND_Request*> exchange{nullptr};  ///< null: it was sent or deleted
  atl::Response* response = nullptr;
  TRITONBACKEND_Output* first_output = nullptr;
  TRITONBACKEND_Output* last_output = nullptr;
  uint32_t output_count = 0;
  TRITONBACKEND_Response* previous = nullptr;  ///< of the request's unsent ones
  TRITONBACKEND_Response* next = nullptr;

  TRITONBACKEND_Response* next_free = nullptr;
  uint32_t shard = 0;
};

struct TRITONBACKEND_ResponseFactory {
  std::atomic<TRITONBACKEND_Request*> exchange{nullptr};  ///< null: it was deleted

  TRITONBACKEND_ResponseFactory* next_free = nullptr;
  uint32_t shard = 0;
};

struct TRITONBACKEND_State {
  std::atomic<TRITONBACKEND_Request*> exchange{nullptr};  ///< null: the request is no longer the caller's
  std::string name;
  int64_t shape[atl::kMaxRank] = {};
  uint32_t rank = 0;
  atl::DataType datatype = atl::DataType::kInvalid;
  bool has_buffer = false;
  bool is_committed = false;
  TRITONSERVER_MemoryType wanted_type = TRITONSERVER_MEMORY_CPU;  ///< as the buffer was asked for
  int64_t wanted_id = 0;
  atl::Buffer buffer;
  TRITONSERVER_BufferAttributes attributes;
  TRITONBACKEND_State* next = nullptr;  ///< of the request

  TRITONBACKEND_State* next_free = nullptr;
  uint32_t shard = 0;
};

namespace atl::triton {

using ExchangeLock = std::unique_lock<std::mutex>;

struct HandlePools {
  CellPool<TRITONBACKEND_Request> requests;
  CellPool<TRITONBACKEND_Response> responses;
  CellPool<TRITONBACKEND_Output> outputs;
  CellPool<TRITONBACKEND_ResponseFactory> factories;
  CellPool<TRITONBACKEND_State> states;
};
HandlePools& pools() noexcept;

/// The exchange that a handle belongs to, locked; null if it belongs to none any more.
class Locked {
 public:
  template <class Handle>
  explicit Locked(const Handle* handle) noexcept {
    if (handle != nullptr) take(handle->exchange);
  }
  explicit Locked(const TRITONBACKEND_Output* output) noexcept {
    if (output == nullptr) return;
    const TRITONBACKEND_Response* response = output->response.load(std::memory_order_acquire);
    if (response == nullptr) return;
    take(response->exchange);
    if (exchange_ != nullptr && output->response.load(std::memory_order_relaxed) != response) drop();
  }
  /// Of a request that is the caller's and not only to be read.
  explicit Locked(TRITONBACKEND_Request* request) noexcept {
    if (request == nullptr || request->read_only) return;
    lock_ = ExchangeLock(request->mutex);
    exchange_ = request;
    if (object(request) == nullptr) drop();
  }
  explicit operator bool() const noexcept { return exchange_ != nullptr; }
  TRITONBACKEND_Request& operator*() const noexcept { return *exchange_; }
  TRITONBACKEND_Request* operator->() const noexcept { return exchange_; }
  ExchangeLock& lock() noexcept { return lock_; }

 private:
  void take(const std::atomic<TRITONBACKEND_Request*>& of) noexcept {
    exchange_ = of.load(std::memory_order_acquire);
    if (exchange_ == nullptr) return;
    lock_ = ExchangeLock(exchange_->mutex);
    if (of.load(std::memory_order_relaxed) != exchange_) drop();
  }
  void drop() noexcept {
    lock_.unlock();
    exchange_ = nullptr;
  }

  TRITONBACKEND_Request* exchange_ = nullptr;
  ExchangeLock lock_;
};

/// Why a call that does more than read is refused: no request, one that is only to be read, or no longer the caller's.
TRITONSERVER_Error* refuse_change(const char* function, const TRITONBACKEND_Request* request) noexcept;

// --- the caller has the lock ---

/// Why nothing can be sent any more; null: it can.
TRITONSERVER_Error* closed(const TRITONBACKEND_Request& exchange) noexcept;
TRITONBACKEND_Response& add_response(TRITONBACKEND_Request& exchange) noexcept;
/// Ends the handle, and those of its outputs. The response itself is the caller's then, and the reference that the
/// handle had.
Response& take_response(TRITONBACKEND_Request& exchange, TRITONBACKEND_Response& response) noexcept;
/// The responses that were not sent.
void discard_responses(TRITONBACKEND_Request& exchange) noexcept;
void end_states(TRITONBACKEND_Request& exchange) noexcept;
/// Nothing is sent from here on, except by the caller.
void close(TRITONBACKEND_Request& exchange, Channel as) noexcept;
/// \param response  null: only the flags. After kFinal the lock is no longer held, as the sink may do much then.
void send(TRITONBACKEND_Request& exchange, ExchangeLock& lock, Response* response, uint32_t flags) noexcept;
/// To the reporter that the backend named, if it did and that was not done.
void report_execution(TRITONBACKEND_Request& exchange) noexcept;
/// Of a request whose final response nobody can send any more.
void answer_forgotten(TRITONBACKEND_Request& exchange, ExchangeLock& lock) noexcept;

/// A factory or response has ended, or the caller's hold of the request; takes the lock if it is not held. After the
/// last of them the handle is free, and the request answered if it was not.
void drop_reference(TRITONBACKEND_Request& exchange, ExchangeLock& lock) noexcept;

}  // namespace atl::triton

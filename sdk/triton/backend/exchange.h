/// A request that foreign code executes, and what that code makes to answer it. All of it belongs to the request's
/// handle, and is changed under the handle's mutex: a response may be sent by one thread while another one releases
/// the request or deletes a factory. The sink is called without the mutex, by one thread at a time: what another thread
/// sends meanwhile is left to that one, and what needs the sink's answer waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "atoll/triton/buffer_attributes.h"
#include "atoll/triton/request.h"
#include "backend/cell_pool.h"
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
  TRITONBACKEND_Response* next = nullptr;  ///< of these, or of those that its sink is still to be called for
  uint32_t flags = 0;                      ///< to be sent with
  bool is_dropped = false;                 ///< not to be sent, but discarded

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

/// Why a call that does more than read is refused: no request, one that is only to be read, or no longer the caller's.
TRITONSERVER_Error* refuse_change(const char* function, const TRITONBACKEND_Request* request) noexcept;

/// Whether the caller released the request to be executed again, and had not reported it: asked of a handle that is no
/// longer the caller's.
bool was_given_back(TRITONBACKEND_Request& request) noexcept;

/// What a call needs of the sink.
enum class SinkUse : uint8_t {
  kResponses,  ///< a response, or memory for one
  kNobody      ///< that nobody calls it any more
};

/// The exchange that a handle belongs to, locked; null if it belongs to none any more.
class Locked {
 public:
  template <class Handle>
  explicit Locked(const Handle* handle) noexcept {
    if (handle != nullptr) take(handle->exchange.load(std::memory_order_acquire), handle);
  }
  explicit Locked(const TRITONBACKEND_Output* output) noexcept {
    if (output == nullptr) return;
    const TRITONBACKEND_Response* response = output->response.load(std::memory_order_acquire);
    if (response != nullptr) take(response->exchange.load(std::memory_order_acquire), output);
  }
  /// Of a request that is the caller's and not only to be read.
  explicit Locked(TRITONBACKEND_Request* request) noexcept {
    if (request != nullptr && !request->read_only) take(request, request);
  }
  /// Once the sink is free for that use.
  template <class Handle>
  Locked(Handle* handle, SinkUse use) noexcept : Locked(handle) {
    (void)wait_for_sink(handle, use);
  }
  /// Waits until the sink is free for that use. False, and it is null: the handle belongs to nothing any more, or this
  /// thread is in a call of the sink itself.
  template <class Handle>
  bool wait_for_sink(Handle* handle, SinkUse use) noexcept {
    while (exchange_ != nullptr && exchange_->sink_calls.is_calling) {
      SinkCalls& calls = exchange_->sink_calls;
      if (use == SinkUse::kResponses && calls.may_overlap) break;
      is_within_call_ = calls.caller == std::this_thread::get_id();
      if (!is_within_call_) calls.are_done.wait(lock_);
      if (is_within_call_ || !belongs(handle)) drop();
    }
    return exchange_ != nullptr;
  }
  /// Why a call is refused that had to wait: see refuse().
  TRITONSERVER_Error* refusal(const char* function, const char* what, const void* handle,
                              bool has_null) const noexcept {
    return is_within_call_ ? within_call(function) : refuse(function, what, handle, has_null);
  }
  TRITONSERVER_Error* refusal(const char* function, const TRITONBACKEND_Request* request) const noexcept {
    return is_within_call_ ? within_call(function) : refuse_change(function, request);
  }
  explicit operator bool() const noexcept { return exchange_ != nullptr; }
  TRITONBACKEND_Request& operator*() const noexcept { return *exchange_; }
  TRITONBACKEND_Request* operator->() const noexcept { return exchange_; }
  ExchangeLock& lock() noexcept { return lock_; }

 private:
  static TRITONSERVER_Error* within_call(const char* function) noexcept {
    return invalid_argument(function, ": is called from within the callback for a response of that request");
  }
  template <class Handle>
  void take(TRITONBACKEND_Request* exchange, Handle* handle) noexcept {
    if (exchange == nullptr) return;
    exchange_ = exchange;
    lock_ = ExchangeLock(exchange->mutex);
    if (!belongs(handle)) drop();
  }
  template <class Handle>
  bool belongs(const Handle* handle) const noexcept {
    return handle->exchange.load(std::memory_order_relaxed) == exchange_;
  }
  bool belongs(const TRITONBACKEND_Output* output) const noexcept {
    const TRITONBACKEND_Response* response = output->response.load(std::memory_order_relaxed);
    return response != nullptr && belongs(response);
  }
  bool belongs(const TRITONBACKEND_Request* request) const noexcept {
    return request->request.load(std::memory_order_acquire) != nullptr;
  }
  void drop() noexcept {
    lock_.unlock();
    exchange_ = nullptr;
  }

  TRITONBACKEND_Request* exchange_ = nullptr;
  bool is_within_call_ = false;
  ExchangeLock lock_;
};

// --- the caller has the lock ---

/// Why nothing can be sent any more; null: it can.
TRITONSERVER_Error* closed(const TRITONBACKEND_Request& exchange) noexcept;
TRITONBACKEND_Response& add_response(TRITONBACKEND_Request& exchange) noexcept;
void end_states(TRITONBACKEND_Request& exchange) noexcept;
/// Nothing is sent from here on, except by the caller; what was not sent is to be discarded.
void close(TRITONBACKEND_Request& exchange, ResponseState as) noexcept;

// --- and these call the sink, unless another thread does and takes it over; the lock is held again afterwards, if there
// --- is the exchange: the caller has a reference of its own, or does not touch it any more

/// Calls it for what is enqueued.
void call_sink(TRITONBACKEND_Request& exchange, ExchangeLock& lock) noexcept;
/// Ends the handle, and those of its outputs. The reference that it had is the caller's.
void send(TRITONBACKEND_Request& exchange, ExchangeLock& lock, TRITONBACKEND_Response& response,
          uint32_t flags) noexcept;
/// The same.
void discard(TRITONBACKEND_Request& exchange, ExchangeLock& lock, TRITONBACKEND_Response& response) noexcept;
/// The final flag alone.
void send_end(TRITONBACKEND_Request& exchange, ExchangeLock& lock) noexcept;
/// A final response that only says what failed.
void send_failure(TRITONBACKEND_Request& exchange, ExchangeLock& lock, Status failure) noexcept;

/// Lets a request that was given back be executed again. Only if no response is left to send, and nobody calls the
/// sink.
void reschedule(TRITONBACKEND_Request& exchange, ExchangeLock& lock) noexcept;

/// To the reporter that the backend named, if it did and that was not done.
void report_execution(TRITONBACKEND_Request& exchange) noexcept;
/// Of a request whose final response nobody can send any more.
void answer_forgotten(TRITONBACKEND_Request& exchange, ExchangeLock& lock) noexcept;

/// A factory or response has ended, or the caller's hold of the request; takes the lock if it is not held. After the
/// last of them the handle is free, and the request answered if it was not.
void drop_reference(TRITONBACKEND_Request& exchange, ExchangeLock& lock) noexcept;

}  // namespace atl::triton

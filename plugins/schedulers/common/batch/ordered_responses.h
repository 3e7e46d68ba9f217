/// Responses leave in the order in which their requests left the queue, whatever instance is done first.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "atoll/core/intrusive_list.h"
#include "atoll/request/sink_interposer.h"

namespace atl::schedulers {

/// Puts itself before the sinks of the requests of one model version. Responses of the first request in
/// order pass at once; those of the others are kept until every request before them has had its final one.
/// One thread delivers at a time: it is whichever brought the response that was waited for. Sinks may expect
/// one call at a time for a request, so while a kept response is delivered the request's own backend waits.
class OrderedResponses {
 public:
  OrderedResponses() = default;
  OrderedResponses(const OrderedResponses&) = delete;
  OrderedResponses& operator=(const OrderedResponses&) = delete;
  ~OrderedResponses();

  /// The next place in the order is this request's. The caller orders the calls. [any]
  void reserve(Request& request);

 private:
  struct Sent {
    Response* response;
    uint32_t flags;
  };
  class Place final : public SinkInterposer {
   public:
    explicit Place(OrderedResponses& owner) noexcept : owner_(owner) {}
    virtual ~Place() = default;
    Response* new_response() noexcept override;
    Status allocate(Response& response, OutputTensor& output, uint64_t size_bytes, MemoryKind preferred_kind,
                    int64_t preferred_device_id) noexcept override;
    void send(Response* response, uint32_t flags) noexcept override;
    void discard(Response* response) noexcept override;
    void released(Request& request) noexcept override;

    /// Gives the request's own sink a response that was kept.
    void deliver(const Sent& one) noexcept;

    OrderedResponses& owner_;
    std::atomic<std::thread::id> caller;  ///< the thread that is inside the request's own sink
    std::deque<Sent> sent;
    Place* after = nullptr;  ///< in the order
    bool final_sent = false, final_delivered = false, was_released = false;
  };

  /// A stay inside the sink of a place's request; again inside itself, if the sink or who it calls does so.
  class Turn {
   public:
    explicit Turn(Place& place) noexcept;
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();

   private:
    Place& place_;
    bool is_outermost_;
  };

  void deliver() noexcept;
  void give_back(Place& place) noexcept;

  std::atomic<uint32_t> inside_{0};  // threads that may touch this object after the last answer
  std::mutex mutex_;
  IntrusiveList<Place, &Place::after> order_;
  bool delivering_ = false;
  std::vector<std::unique_ptr<Place>> places_;
  std::vector<Place*> free_;
};

}  // namespace atl::schedulers

#include "telemetry/recorder/recording_service.h"

#include <memory>
#include <utility>

#include "telemetry/recorder/recorded_entries.h"

namespace atl::recorder {

using Kind = RecordingQueue::Kind;

/// One request that is recorded.
class RecordingService::Observation final : public RequestObservation {
 public:
  Observation(RecordingService& service, Filter::Hold filter, uint64_t number, int64_t arrival_ns) noexcept
      : service_(service), filter_(std::move(filter)), number_(number), arrival_ns_(arrival_ns) {}
  virtual ~Observation() = default;

  void on_response(const Request& request, const Response* response, uint32_t) noexcept override {
    if (response == nullptr) return;
    ++responses_;
    const uint64_t bytes = filter_->responses ? entry_bytes(request, *response, filter_->tensors) : 0;
    if (bytes == 0 || !service_.queue_.admit(Kind::kResponse, bytes)) {
      ++responses_lost_;
      return;
    }
    auto entry = std::make_unique<recording::v1::Entry>();
    recording::v1::Response& made = *entry->mutable_response();
    made.set_number(number_);
    made.set_since_ns(since_ns());
    fill_entry(request, *response, filter_->tensors, service_.devices_, &made);
    service_.queue_.add(Kind::kResponse, bytes, std::move(entry));
  }

  void ended(const Request& request, const Status& refusal) noexcept override {
    const std::unique_ptr<Observation> self(this);
    const uint64_t bytes = kEndBytes + refusal.message().size();
    if (!service_.queue_.admit(Kind::kResponse, bytes)) return;
    auto entry = std::make_unique<recording::v1::Entry>();
    recording::v1::End& made = *entry->mutable_end();
    made.set_number(number_);
    made.set_since_ns(since_ns());
    made.set_responses(responses_);
    made.set_responses_lost(responses_lost_);
    made.set_cancelled(request.cancelled());
    if (!refusal.ok()) {
      made.set_code(static_cast<uint32_t>(refusal.code()));
      made.set_message(std::string(refusal.message()));
    }
    service_.queue_.add(Kind::kResponse, bytes, std::move(entry));
  }

 private:
  static constexpr uint64_t kEndBytes = 256;

  int64_t since_ns() const noexcept { return service_.host_.clock().now_ns() - arrival_ns_; }

  RecordingService& service_;
  const Filter::Hold filter_;
  const uint64_t number_;
  const int64_t arrival_ns_;
  uint32_t responses_ = 0;
  uint32_t responses_lost_ = 0;
};

RecordingService::RecordingService(Host& host, RecorderSettings settings)
    : file_(settings.file),
      host_(host),
      began_ns_(host.clock().now_ns()),
      queue_(settings, host.clock().wall_ns(), host.log()) {
  filter_.replace(std::move(settings.filter));
}

Status RecordingService::start() noexcept {
  if (!active()) return {};
  ATOLL_RETURN_IF_ERROR(devices_.open());
  return queue_.start(host_.executors());
}

void RecordingService::stop() noexcept {
  queue_.stop();
  filter_.close();
  devices_.close();
}

void RecordingService::follow(const RecorderSettings& next) noexcept {
  filter_.replace(RecordingFilter(next.filter));
  queue_.follow(next.filter, next.limits);
}

RequestObservation* RecordingService::begin(const Request& request) noexcept {
  if (queue_.has_ended()) return nullptr;
  Filter::Hold filter = filter_.hold();
  const uint64_t seen = seen_.fetch_add(1, std::memory_order_relaxed);
  if (!filter || !filter->wants(request, sampling_chance(request, seen))) return nullptr;
  const uint64_t bytes = entry_bytes(request, filter->tensors);
  if (!queue_.admit(Kind::kRequest, bytes)) return nullptr;
  const int64_t now_ns = host_.clock().now_ns();
  const uint64_t number = last_number_.fetch_add(1, std::memory_order_relaxed) + 1;
  auto entry = std::make_unique<recording::v1::Entry>();
  recording::v1::Request& made = *entry->mutable_request();
  made.set_number(number);
  made.set_arrival_ns(now_ns - began_ns_);
  fill_entry(request, filter->tensors, now_ns, devices_, &made);
  auto* observation = new Observation(*this, std::move(filter), number, now_ns);
  queue_.add(Kind::kRequest, bytes, std::move(entry));
  return observation;
}

}  // namespace atl::recorder

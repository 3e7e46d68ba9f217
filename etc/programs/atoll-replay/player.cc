#include "player.h"

#include <algorithm>
#include <utility>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"

namespace atl::replay {
namespace {

using std::chrono::steady_clock;

/// How soon an interruption is noticed: a signal cannot wake who waits here.
constexpr std::chrono::milliseconds kLookAround{50};
/// So many failures and differences are told one by one.
constexpr uint64_t kToldMax = 10;

/// How long after the first request one goes out. Times come from a file, so that they may be anything.
std::chrono::nanoseconds offset_of(int64_t arrival_ns, int64_t first_ns, double pace) {
  constexpr double kMostNs = 3e17;  // ten years
  const double offset_ns = (static_cast<double>(arrival_ns) - static_cast<double>(first_ns)) / pace;
  return std::chrono::nanoseconds(static_cast<int64_t>(std::clamp(offset_ns, 0.0, kMostNs)));
}

int64_t ns_of(steady_clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
}

}  // namespace

bool Player::wait_until(Time due) {
  std::unique_lock lock(mutex_);
  while (!interrupted_.load() && steady_clock::now() < due) {
    send_ready(lock);
    changed_.wait_until(lock, std::min(due, steady_clock::now() + kLookAround),
                        [this] { return !ready_.empty(); });
  }
  return !interrupted_.load();
}

bool Player::wait_for_fewer_than(int64_t in_flight) {
  std::unique_lock lock(mutex_);
  const auto has_changed = [&] { return !ready_.empty() || in_flight_ < in_flight; };
  while (!interrupted_.load()) {
    send_ready(lock);
    if (in_flight_ < in_flight) return true;
    changed_.wait_for(lock, kLookAround, has_changed);
  }
  return false;
}

void Player::send_ready(std::unique_lock<std::mutex>& lock) {
  while (!ready_.empty() && !interrupted_.load()) {
    const RecordedCall& call = *ready_.front();
    ready_.pop_front();
    lock.unlock();
    send(call);
    lock.lock();
  }
}

Summary Player::play() {
  const Time begun = steady_clock::now();
  const std::vector<RecordedCall>& calls = traffic_.calls();
  for (const RecordedCall& call : calls) {
    const Time due = begun + offset_of(call.arrival_ns, calls.front().arrival_ns, options_.pace);
    if (!wait_until(due) || !wait_for_fewer_than(options_.in_flight_max)) break;
    {
      std::scoped_lock lock(mutex_);
      summary_.latest_ns = std::max(summary_.latest_ns, ns_of(steady_clock::now() - due));
    }
    start(call);
  }
  (void)wait_for_fewer_than(1);
  sender_.stop();
  std::scoped_lock lock(mutex_);
  return std::move(summary_);
}

void Player::start(const RecordedCall& call) {
  {
    std::scoped_lock lock(mutex_);
    ++in_flight_;
    if (is_chained(call)) {
      Chain& chain = chains_[call.sequence];
      if (chain.is_busy) {
        chain.waiting.push_back(&call);
        return;
      }
      chain.is_busy = true;
    }
  }
  send(call);
}

void Player::send(const RecordedCall& call) {
  const Time sent = steady_clock::now();
  Result<recording::v1::Entry> entry = traffic_.read(call.request);
  if (!entry.ok()) return on_outcome(call, {}, sent, {std::move(entry).status(), {}});
  recording::v1::Request request = std::move(*entry->mutable_request());
  SendOptions options;
  options.ends_stream = call.ends_stream;
  options.names_version = !options_.latest;
  options.timeout_ns = options_.timeout_s * kNsPerSecond;
  // A client that gave up at its deadline when it was recorded gives up now, too.
  if (request.deadline_ns() > 0) options.timeout_ns = std::min(options.timeout_ns, request.deadline_ns());
  if (call.cancelled) options.timeout_ns = std::clamp<int64_t>(call.ended_after_ns, 1, options.timeout_ns);
  // What is compared needs the outputs that were asked for, and no tensors of the request.
  recording::v1::Request asked;
  asked.set_model(request.model());
  *asked.mutable_outputs() = request.outputs();
  sender_.send(std::move(request), options, [this, &call, asked = std::move(asked), sent](Outcome outcome) {
    on_outcome(call, asked, sent, std::move(outcome));
  });
}

void Player::on_outcome(const RecordedCall& call, const recording::v1::Request& request, Time sent,
                        Outcome outcome) {
  count(call, request, ns_of(steady_clock::now() - sent), outcome);
  std::scoped_lock lock(mutex_);
  if (is_chained(call)) {
    Chain& chain = chains_[call.sequence];
    if (chain.waiting.empty()) {
      chains_.erase(call.sequence);
    } else {
      ready_.push_back(chain.waiting.front());
      chain.waiting.pop_front();
    }
  }
  --in_flight_;
  changed_.notify_all();
}

void Player::count(const RecordedCall& call, const recording::v1::Request& request, int64_t latency_ns,
                   const Outcome& outcome) {
  std::string failure(outcome.failure.message());
  bool failed = !outcome.failure.ok();
  for (const recording::v1::Response& response : outcome.responses) {
    if (response.code() == 0 || failed) continue;
    failed = true;
    failure = response.message();
  }
  {
    std::scoped_lock lock(mutex_);
    ++summary_.requests;
    auto& latencies = summary_.latencies_ns[call.model];
    if (!failed) latencies.push_back(latency_ns);
    if (call.cancelled) return;  // how far it came is chance
    if (failed && !call.failed) ++summary_.failures;
  }
  if (failed && !call.failed) return say(call, cat("failed: ", failure));
  if (options_.compares && !failed) compare(call, request, outcome);
}

void Player::compare(const RecordedCall& call, const recording::v1::Request& request,
                     const Outcome& outcome) {
  if (!call.failed && !call.is_complete) return;
  std::string difference;
  if (call.failed) {
    difference = "it failed when it was recorded, and does not now";
  } else {
    std::vector<recording::v1::Response> recorded;
    for (const EntryPlace& place : call.responses) {
      Result<recording::v1::Entry> entry = traffic_.read(place);
      if (!entry.ok()) return say(call, std::string(entry.status().message()));
      recorded.push_back(std::move(*entry->mutable_response()));
    }
    difference = answer_difference(request, recorded, outcome.responses, options_.tolerance);
  }
  {
    std::scoped_lock lock(mutex_);
    ++summary_.compared;
    if (!difference.empty()) ++summary_.differences;
  }
  if (!difference.empty()) say(call, cat("is answered differently: ", difference));
}

void Player::say(const RecordedCall& call, const std::string& what) {
  std::scoped_lock lock(mutex_);
  if (++told_ > kToldMax) return;
  tell_(cat("request ", call.number, " of model '", call.model, "' ", what));
  if (told_ == kToldMax) tell_("further ones are counted and not told");
}

}  // namespace atl::replay

#include "caches/local/local_cache.h"

#include <algorithm>
#include <random>
#include <utility>

#include "atoll/model.h"
#include "atoll/open_parts.h"
#include "atoll/sink_interposer.h"

namespace atl::caches {
namespace {

/// Its client may change what was written there while it is copied.
bool has_placed_outputs(const Request& request) noexcept {
  return std::any_of(request.outputs.begin(), request.outputs.end(),
                     [](const RequestedOutput& output) { return output.placement.data != nullptr; });
}

uint64_t random_seed() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace

/// Stands before the sink of a request that is computed, and keeps its answer. In the request's arena.
class LocalCache::Keeper final : public SinkInterposer {
 public:
  void send(Response* response, uint32_t flags) noexcept override {
    const bool is_only = std::exchange(is_first_, false);
    ResponseSink& sink = next();
    if ((flags & kFinal) == 0) return send_to(sink, response, flags);
    note_end(is_only ? response : nullptr);
    Gate& gate = cache_.host_.gate();
    const bool last = parts_.done(kFinalPart);
    send_to(sink, response, flags);
    if (last) gate.leave();
  }
  void released(Request& request) noexcept override {
    ResponseSink& sink = next();
    Gate& gate = cache_.host_.gate();
    const bool last = parts_.done(kReleasePart);
    release_to(sink, request);
    if (last) gate.leave();
  }

 private:
  enum Part : uint32_t { kFinalPart = 1, kReleasePart = 2 };
  friend class atl::Arena;
  /// A pass of the gate is given to it.
  Keeper(LocalCache& cache, Request& request, CacheWaiter& waiter, const CacheKey& key,
         uint64_t looked_up_ns) noexcept
      : cache_(cache), request_(request), waiter_(waiter), key_(key), looked_up_ns_(looked_up_ns) {}

  /// \param response  the only one; null: there were others, or none with data
  void note_end(const Response* response) noexcept {
    const int64_t begun_ns = cache_.clock_.now_ns();
    const bool succeeded = response != nullptr && response->error.ok();
    KeptAnswer::Ref answer;
    const bool is_kept = succeeded && !has_placed_outputs(request_);
    if (is_kept && cache_.store_.takes(KeptAnswer::size_of(*response)))
      answer = KeptAnswer::copy_of(*response);
    if (answer) (void)cache_.store_.insert(key_, answer, begun_ns);
    const auto took_ns = static_cast<uint64_t>(cache_.clock_.now_ns() - begun_ns);
    cache_.counts_of(key_).insert_ns.fetch_add(took_ns, std::memory_order_relaxed);
    waiter_.report_miss(request_, looked_up_ns_ + took_ns);
    const bool was_cancelled = response != nullptr && response->error.code() == Code::kCancelled;
    if (was_cancelled) {
      cache_.pass_on(key_);
    } else {
      cache_.end_flight(key_, std::move(answer));
    }
  }

  LocalCache& cache_;
  Request& request_;
  CacheWaiter& waiter_;
  const CacheKey key_;
  const uint64_t looked_up_ns_;
  bool is_first_ = true;  ///< no response has come
  OpenParts parts_{kFinalPart | kReleasePart};
};

LocalCache::LocalCache(Host& host, const LocalCacheSettings& settings)
    : host_(host), clock_(host.clock()), seed_(random_seed()), store_(settings.size_bytes, settings.ttl_ns) {}

Status LocalCache::start() noexcept {
  Result<SerialExecutorPtr> made = host_.executors().create("cache", {});
  if (!made.ok()) return std::move(made).status();
  executor_ = std::move(made).value();
  return {};
}

CacheOutcome LocalCache::look_up(Request& request, CacheWaiter& waiter) noexcept {
  const int64_t begun_ns = clock_.now_ns();
  const std::optional<CacheKey> key = key_of(request, request.model->info().load_id, seed_);
  if (!key) return CacheOutcome::kMiss;
  KeptAnswer::Ref answer = store_.find(*key, begun_ns);
  if (answer) {
    hit(request, waiter, *key, answer, begun_ns);
    return CacheOutcome::kHit;
  }
  if (request.cancelled() || !host_.gate().enter()) return CacheOutcome::kMiss;
  Waiting* waiting = nullptr;
  const Flights::Role role = flights_.join(
      *key, [&] { return waiting = make_waiting(request, waiter, *key, begun_ns); },
      [&] { return static_cast<bool>(answer = store_.find(*key, begun_ns)); });
  if (role == Flights::Role::kLeads) {
    lead(request, waiter, *key, begun_ns);  // the pass is the keeper's
    return CacheOutcome::kMiss;
  }
  host_.gate().leave();
  if (role == Flights::Role::kAnswered) {
    hit(request, waiter, *key, answer, begun_ns);
    return CacheOutcome::kHit;
  }
  return waiting == nullptr ? CacheOutcome::kMiss : CacheOutcome::kWaits;
}

void LocalCache::hit(Request& request, CacheWaiter& waiter, const CacheKey& key,
                     const KeptAnswer::Ref& answer, int64_t begun_ns) noexcept {
  const auto took_ns = static_cast<uint64_t>(clock_.now_ns() - begun_ns);
  Counts& counts = counts_of(key);
  counts.hits.fetch_add(1, std::memory_order_relaxed);
  counts.look_up_ns.fetch_add(took_ns, std::memory_order_relaxed);
  waiter.report_hit(request, took_ns);
  answer->answer(request);
}

void LocalCache::lead(Request& request, CacheWaiter& waiter, const CacheKey& key, int64_t begun_ns) noexcept {
  const auto took_ns = static_cast<uint64_t>(clock_.now_ns() - begun_ns);
  Counts& counts = counts_of(key);
  counts.misses.fetch_add(1, std::memory_order_relaxed);
  counts.look_up_ns.fetch_add(took_ns, std::memory_order_relaxed);
  request.arena().make<Keeper>(*this, request, waiter, key, took_ns)->interpose(request);
}

/// With the lock of its flight. Null: it is cancelled.
Waiting* LocalCache::make_waiting(Request& request, CacheWaiter& waiter, const CacheKey& key,
                                  int64_t begun_ns) noexcept {
  auto* waiting = new Waiting;
  waiting->request = &request;
  waiting->waiter = &waiter;
  waiting->cache = this;
  waiting->key = key;
  waiting->begun_ns = begun_ns;
  waiting->pass = Pass(host_.gate());
  if (waiting->pass && request.cancellation.listen(this, waiting)) {
    counts_of(key).waits.fetch_add(1, std::memory_order_relaxed);
    return waiting;
  }
  delete waiting;
  return nullptr;
}

/// \param answer  empty: there is none, and those who waited go on by themselves
void LocalCache::end_flight(const CacheKey& key, KeptAnswer::Ref answer) noexcept {
  WaitingList waited;
  flights_.end(key, waited);
  if (waited.empty()) return;
  Waiting* first = waited.front();
  executor_->post(make_task([this, first, answer = std::move(answer)] {
    for (Waiting* one = first; one != nullptr;) {
      Waiting& waiting = *std::exchange(one, one->next);
      waiting.request->cancellation.stop_listening();
      if (answer) {
        hit(*waiting.request, *waiting.waiter, waiting.key, answer, waiting.begun_ns);
      } else {
        const auto waited_ns = static_cast<uint64_t>(clock_.now_ns() - waiting.begun_ns);
        counts_of(waiting.key).misses.fetch_add(1, std::memory_order_relaxed);
        waiting.waiter->report_miss(*waiting.request, waited_ns);
        waiting.waiter->resume(*waiting.request);
      }
      waiting.let_go();
    }
  }));
}

/// The one that was computed is cancelled, which says nothing of its answer.
void LocalCache::pass_on(const CacheKey& key) noexcept {
  Waiting* next = flights_.pass_on(key);
  if (next == nullptr) return;
  executor_->post(make_task([this, next] {
    Waiting& waiting = *next;
    waiting.request->cancellation.stop_listening();
    if (host_.gate().enter()) {
      lead(*waiting.request, *waiting.waiter, waiting.key, waiting.begun_ns);
    } else {
      end_flight(waiting.key, {});
    }
    waiting.waiter->resume(*waiting.request);
    waiting.let_go();
  }));
}

/// On the thread that cancels, which still uses the request.
void LocalCache::on_cancel(void* context) noexcept {
  auto& waiting = *static_cast<Waiting*>(context);
  waiting.hold();
  executor_->post(make_task([this, &waiting] { end_wait(waiting); }));
}

void LocalCache::end_wait(Waiting& waiting) noexcept {
  if (flights_.remove(waiting)) {
    waiting.request->cancellation.stop_listening();
    waiting.waiter->resume(*waiting.request);
    waiting.let_go();
  }
  waiting.let_go();
}

void LocalCache::collect(MetricSink& sink) const noexcept {
  const auto one = [&](std::string_view name, std::string_view help, MetricKind kind, double value) {
    sink.family(name, help, kind);
    sink.sample({}, value);
  };
  uint64_t hit_count = 0, miss_count = 0, wait_count = 0, look_up_ns = 0, insert_ns = 0;
  for (const Counts& counts : counts_) {
    hit_count += counts.hits;
    miss_count += counts.misses;
    wait_count += counts.waits;
    look_up_ns += counts.look_up_ns;
    insert_ns += counts.insert_ns;
  }
  const auto us = [](uint64_t ns) { return static_cast<double>(ns / 1000); };
  const auto hits = static_cast<double>(hit_count), misses = static_cast<double>(miss_count);
  const auto used = static_cast<double>(store_.used_bytes());
  one("nv_cache_num_entries", "Number of responses stored in response cache", MetricKind::kGauge,
      static_cast<double>(store_.entries()));
  one("nv_cache_num_lookups", "Number of cache lookups in response cache", MetricKind::kGauge, hits + misses);
  one("nv_cache_num_hits", "Number of cache hits in response cache", MetricKind::kGauge, hits);
  one("nv_cache_num_misses", "Number of cache misses in response cache", MetricKind::kGauge, misses);
  one("nv_cache_num_evictions", "Number of cache evictions in response cache", MetricKind::kGauge,
      static_cast<double>(store_.evictions()));
  one("nv_cache_lookup_duration", "Total cache lookup duration (hit and miss), in microseconds",
      MetricKind::kGauge, us(look_up_ns));
  one("nv_cache_insertion_duration", "Total cache insertion duration, in microseconds", MetricKind::kGauge,
      us(insert_ns));
  one("nv_cache_util", "Cache utilization [0.0 - 1.0]", MetricKind::kGauge,
      used / static_cast<double>(store_.size_bytes()));
  one("atoll_cache_bytes", "Bytes that the responses in the cache take, overhead included",
      MetricKind::kGauge, used);
  one("atoll_cache_waits_total", "Requests that waited for the answer to an equal one", MetricKind::kCounter,
      static_cast<double>(wait_count));
}

}  // namespace atl::caches

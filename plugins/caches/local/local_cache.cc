#include "caches/local/local_cache.h"

#include <utility>

#include "atoll/models/model.h"
#include "caches/common/answer_keeper.h"
#include "caches/common/random_number.h"

namespace atl::caches {

/// Keeps the answer of a request that is computed.
class LocalCache::Keeper final : public AnswerKeeper {
 private:
  friend class atl::Arena;
  Keeper(LocalCache& cache, Request& request, CacheWaiter& waiter, const CacheKey& key,
         uint64_t looked_up_ns) noexcept
      : AnswerKeeper(cache.host_, cache.counts_, request, waiter, key.high, looked_up_ns),
        cache_(cache),
        key_(key) {}

  void on_answer(const Response* only) noexcept override {
    const int64_t begun_ns = now_ns();
    KeptAnswer::Ref answer;
    if (may_keep(only) && cache_.store_.takes(KeptAnswer::size_of(*only)))
      answer = KeptAnswer::copy_of(*only);
    if (answer) (void)cache_.store_.insert(key_, answer, begun_ns);
    report_since(begun_ns);
    if (only != nullptr && only->error.code() == Code::kCancelled) {
      cache_.pass_on(key_);
    } else {
      cache_.end_flight(key_, std::move(answer));
    }
  }

  LocalCache& cache_;
  const CacheKey key_;
};

LocalCache::LocalCache(Host& host, const LocalCacheSettings& settings)
    : host_(host),
      clock_(host.clock()),
      seed_(random_number()),
      store_(settings.size_bytes, settings.ttl_ns) {}

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
  counts_.add_hit(key.high, took_ns);
  waiter.report_hit(request, took_ns);
  answer->answer(request);
}

void LocalCache::lead(Request& request, CacheWaiter& waiter, const CacheKey& key, int64_t begun_ns) noexcept {
  const auto took_ns = static_cast<uint64_t>(clock_.now_ns() - begun_ns);
  counts_.add_miss(key.high, took_ns);
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
    waits_.fetch_add(1, std::memory_order_relaxed);
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
        counts_.add_miss(waiting.key.high, waited_ns);
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
  counts_.collect(sink);
  const auto one = [&](std::string_view name, std::string_view help, MetricKind kind, double value) {
    sink.family(name, help, kind);
    sink.sample({}, value);
  };
  const auto used = static_cast<double>(store_.used_bytes());
  one("nv_cache_num_entries", "Number of responses stored in response cache", MetricKind::kGauge,
      static_cast<double>(store_.entries()));
  one("nv_cache_num_evictions", "Number of cache evictions in response cache", MetricKind::kGauge,
      static_cast<double>(store_.evictions()));
  one("nv_cache_util", "Cache utilization [0.0 - 1.0]", MetricKind::kGauge,
      used / static_cast<double>(store_.size_bytes()));
  one("atoll_cache_bytes", "Bytes that the responses in the cache take, overhead included",
      MetricKind::kGauge, used);
  one("atoll_cache_waits_total", "Requests that waited for the answer to an equal one", MetricKind::kCounter,
      static_cast<double>(waits_.load(std::memory_order_relaxed)));
}

}  // namespace atl::caches

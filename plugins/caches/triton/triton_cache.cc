#include "caches/triton/triton_cache.h"

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/models/model.h"
#include "atoll/request/cancellation.h"
#include "caches/common/answer_keeper.h"
#include "caches/common/random_number.h"
#include "caches/triton/packed_answer.h"

namespace atl::caches {

/// Has the answer kept.
class TritonCache::Keeper final : public AnswerKeeper {
 private:
  friend class atl::Arena;
  /// \param key  lives as long as the request
  Keeper(TritonCache& cache, Request& request, CacheWaiter& waiter, std::string_view key, uint64_t hash,
         uint64_t looked_up_ns) noexcept
      : AnswerKeeper(cache.host_, cache.counts_, request, waiter, hash, looked_up_ns),
        cache_(cache),
        key_(key) {}

  void on_answer(const Response* only) noexcept override {
    const int64_t begun_ns = now_ns();
    if (may_keep(only)) keep(*only);
    report_since(begun_ns);
  }
  void keep(const Response& answer) noexcept try {
    const TritonCacheSettings& settings = cache_.settings_;
    const uint64_t buffered = cache_.buffered_bytes_.load(std::memory_order_relaxed);
    if (cache_.is_stuck(hash()) || buffered + output_bytes(answer) > settings.write_buffer_bytes) {
      cache_.dropped_.fetch_add(1, std::memory_order_relaxed);  // before it is written in vain
      return;
    }
    auto bytes = pack_answer(answer, request().model->info(), key_, settings.entry_bytes_max);
    if (bytes) cache_.insert(hash(), std::string(key_), std::move(*bytes));
  } catch (const std::exception&) {
    cache_.dropped_.fetch_add(1, std::memory_order_relaxed);
  }

  TritonCache& cache_;
  const std::string_view key_;
};

/// A request that waits for the library: until that has looked, the time is over or the request is cancelled. What comes
/// after that does not touch the request any more.
class TritonCache::LookUp final : public CancelListener, public std::enable_shared_from_this<LookUp> {
 public:
  LookUp(TritonCache& cache, Request& request, CacheWaiter& waiter, int64_t begun_ns, ContentKey key)
      : cache_(cache),
        request_(request),
        waiter_(waiter),
        begun_ns_(begun_ns),
        key_(std::move(key)),
        pass_(cache.host_.gate()) {}

  /// False: the server ends, or the request is cancelled. It goes on.
  bool begin() noexcept {
    if (!pass_ || !request_.cancellation.listen(this, nullptr)) return false;
    timer_ = cache_.timers_->post_at(begun_ns_ + cache_.settings_.timeout_ns,
                                     make_task([self = shared_from_this()] { self->give_up(); }));
    cache_.lane_of(key_.hash).executor->post(make_task([self = shared_from_this()] { self->look(); }));
    return true;
  }

 private:
  /// On the thread that cancels.
  void on_cancel(void*) noexcept override {
    cache_.timers_->post(make_task([self = shared_from_this()] {
      if (!self->leave()) return;
      self->waiter_.resume(self->request_);
      self->pass_.reset();
    }));
  }
  /// False: it went on already.
  bool leave() noexcept {
    if (is_over_.exchange(true)) return false;
    request_.cancellation.stop_listening();
    return true;
  }
  /// On the lane's thread.
  void look() noexcept {
    if (is_over_) return;
    Lane& lane = cache_.lane_of(key_.hash);
    lane.called_ns = cache_.clock_.now_ns();
    Result<std::string> found = cache_.find(key_.text);
    lane.called_ns = 0;
    (void)cache_.timers_->cancel(timer_);
    if (!leave()) return;
    if (!cache_.hit(request_, waiter_, key_, std::move(found), begun_ns_)) miss();
    pass_.reset();
  }
  void give_up() noexcept {
    if (!leave()) return;
    cache_.failures_.report(CacheFailure::kTimeout, "the cache has not answered within ",
                            cache_.settings_.timeout_ns / kNsPerMs, " ms");
    miss();
    pass_.reset();
  }
  void miss() noexcept {
    cache_.miss(request_, waiter_, key_, begun_ns_);
    waiter_.resume(request_);
  }

  TritonCache& cache_;
  Request& request_;
  CacheWaiter& waiter_;
  const int64_t begun_ns_;
  const ContentKey key_;
  Pass pass_;
  TimerId timer_ = 0;
  std::atomic<bool> is_over_{false};
};

TritonCache::TritonCache(Host& host, const TritonCacheSettings& settings)
    : host_(host),
      clock_(host.clock()),
      settings_(settings),
      process_(random_number()),
      failures_(host.clock(), host.log()),
      lanes_(settings.threads) {}

Status TritonCache::start(std::unique_ptr<AnswerLibrary> library) {
  library_ = std::move(library);
  if (!has_threads()) return {};
  Result<SerialExecutorPtr> timers = host_.executors().create("cache", {});
  if (!timers.ok()) return std::move(timers).status();
  timers_ = std::move(timers).value();
  for (Lane& lane : lanes_) {
    Result<SerialExecutorPtr> executor = host_.executors().create("cache library", {});
    if (!executor.ok()) return std::move(executor).status();
    lane.executor = std::move(executor).value();
  }
  return {};
}

void TritonCache::stop() noexcept {
  for (Lane& lane : lanes_) lane.executor.reset();
  timers_.reset();
  library_.reset();
}

CacheOutcome TritonCache::look_up(Request& request, CacheWaiter& waiter) noexcept try {
  const int64_t begun_ns = clock_.now_ns();
  std::optional<ContentKey> key = content_key_of(request, "", process_);
  if (!key) return CacheOutcome::kMiss;
  if (!has_threads()) {
    if (hit(request, waiter, *key, find(key->text), begun_ns)) return CacheOutcome::kHit;
    miss(request, waiter, *key, begun_ns);
    return CacheOutcome::kMiss;
  }
  if (is_stuck(key->hash)) {
    failures_.count(CacheFailure::kUnavailable);
    return CacheOutcome::kMiss;
  }
  const auto look_up = std::make_shared<LookUp>(*this, request, waiter, begun_ns, std::move(*key));
  return look_up->begin() ? CacheOutcome::kWaits : CacheOutcome::kMiss;
} catch (const std::exception&) {
  return CacheOutcome::kMiss;  // there is no memory to ask
}

bool TritonCache::is_stuck(uint64_t hash) noexcept {
  if (!has_threads()) return false;
  const int64_t called_ns = lane_of(hash).called_ns.load(std::memory_order_relaxed);
  return called_ns != 0 && clock_.now_ns() - called_ns > settings_.timeout_ns;
}

Result<std::string> TritonCache::find(const std::string& key) noexcept try {
  Result<std::string> found = library_->look_up(key);
  if (!found.ok() && found.status().code() != Code::kNotFound) {
    failures_.report(CacheFailure::kLookUp, "the cache failed looking up '", key,
                     "': ", found.status().text());
  }
  return found;
} catch (const std::exception& exception) {
  return internal_error(exception.what());
}

bool TritonCache::hit(Request& request, CacheWaiter& waiter, const ContentKey& key, Result<std::string> found,
                      int64_t begun_ns) noexcept try {
  if (!found.ok()) return false;
  Result<ReadAnswer> answer = unpack_answer(*found, request, key.text);
  if (!answer.ok()) {
    failures_.report(CacheFailure::kAnswer, "what the cache has under '", key.text,
                     "' is not an answer: ", answer.status().message());
    return false;
  }
  const uint64_t took_ns = since_ns(begun_ns);
  counts_.add_hit(key.hash, took_ns);
  waiter.report_hit(request, took_ns);
  answer->answer(request);
  return true;
} catch (const std::exception&) {
  return false;  // there is no memory to read it
}

void TritonCache::miss(Request& request, CacheWaiter& waiter, const ContentKey& key,
                       int64_t begun_ns) noexcept {
  const uint64_t took_ns = since_ns(begun_ns);
  counts_.add_miss(key.hash, took_ns);
  if (!host_.gate().enter()) return waiter.report_miss(request, took_ns);
  Arena& arena = request.arena();
  const std::string_view text = arena.copy_text(key.text);
  arena.make<Keeper>(*this, request, waiter, text, key.hash, took_ns)->interpose(request);
}

void TritonCache::keep(uint64_t hash, const std::string& key, const std::string& bytes) noexcept {
  const int64_t begun_ns = clock_.now_ns();
  Status status;
  try {
    status = library_->insert(key, bytes);
  } catch (const std::exception& exception) {
    status = internal_error(exception.what());
  }
  if (has_threads()) counts_.add_insertion(hash, since_ns(begun_ns));  // else its keeper counts it
  if (status.ok() || status.code() == Code::kAlreadyExists) return;
  failures_.report(CacheFailure::kInsertion, "the cache failed keeping '", key, "': ", status.text());
}

/// Before the answer goes on to its client, who may ask the same again at once.
void TritonCache::insert(uint64_t hash, std::string key, std::string bytes) {
  if (!has_threads()) return keep(hash, key, bytes);
  buffered_bytes_.fetch_add(bytes.size(), std::memory_order_relaxed);
  lane_of(hash).executor->post(
      make_task([this, hash, key = std::move(key), bytes = std::move(bytes)]() noexcept {
        Lane& lane = lane_of(hash);
        lane.called_ns = clock_.now_ns();
        keep(hash, key, bytes);
        lane.called_ns = 0;
        buffered_bytes_.fetch_sub(bytes.size(), std::memory_order_relaxed);
      }));
}

void TritonCache::collect(MetricSink& sink) const noexcept {
  counts_.collect(sink);
  failures_.collect(sink);
  sink.family("atoll_cache_dropped_total",
              "Answers that were not given to the cache: it had no room for them", MetricKind::kCounter);
  sink.sample({}, static_cast<double>(dropped_.load(std::memory_order_relaxed)));
  sink.family("atoll_cache_buffered_bytes", "Answers on their way to the cache", MetricKind::kGauge);
  sink.sample({}, static_cast<double>(buffered_bytes_.load(std::memory_order_relaxed)));
}

}  // namespace atl::caches

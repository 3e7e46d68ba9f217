#include "caches/redis/redis_cache.h"

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "atoll/models/model.h"
#include "atoll/request/cancellation.h"
#include "caches/common/answer_keeper.h"
#include "caches/common/answer_message.h"
#include "caches/common/content_key.h"
#include "caches/common/random_number.h"

namespace atl::caches {

/// Stores the answer.
class RedisCache::Keeper final : public AnswerKeeper {
 private:
  friend class atl::Arena;
  /// \param key  lives as long as the request
  Keeper(RedisCache& cache, Request& request, CacheWaiter& waiter, std::string_view key, uint64_t hash,
         uint64_t looked_up_ns) noexcept
      : AnswerKeeper(cache.host_, cache.counts_, request, waiter, hash, looked_up_ns),
        cache_(cache),
        key_(key) {}

  void on_answer(const Response* only) noexcept override {
    const int64_t begun_ns = now_ns();
    if (may_keep(only)) store(*only);
    report_since(begun_ns);
  }
  void store(const Response& answer) noexcept try {
    RedisClient& client = cache_.client_;
    if (!client.is_available()) return;
    if (!client.has_room(output_bytes(answer)))
      return client.count_dropped();  // before it is written in vain
    auto value = write_answer(answer, request().model->info(), cache_.settings_.entry_bytes_max);
    if (value) client.set(std::string(key_), hash(), std::move(*value));
  } catch (const std::exception&) {
    cache_.client_.count_dropped();
  }

  RedisCache& cache_;
  const std::string_view key_;
};

/// A request that waits for Redis. Its cancellation may look at it while it is resumed.
class RedisCache::LookUp final : public CancelListener, public std::enable_shared_from_this<LookUp> {
 public:
  LookUp(RedisCache& cache, Request& request, CacheWaiter& waiter, int64_t begun_ns)
      : cache_(cache), request_(request), waiter_(waiter), begun_ns_(begun_ns), pass_(cache.host_.gate()) {}

  /// False: the server ends, or the request is cancelled. It goes on.
  bool begin(ContentKey key) noexcept {
    key_ = std::move(key);
    if (!pass_ || !request_.cancellation.listen(this, nullptr)) return false;
    cache_.client_.get(key_.text, key_.hash,
                       [self = shared_from_this()](RedisClient::Outcome outcome, std::string* value) {
                         self->finish(outcome, value);
                       });
    return true;
  }

 private:
  /// On the thread that cancels.
  void on_cancel(void*) noexcept override {
    cache_.client_.post([self = shared_from_this()] {
      if (!self->leave()) return;
      self->waiter_.resume(self->request_);
      self->pass_.reset();
    });
  }
  /// False: it went on already.
  bool leave() noexcept {
    if (std::exchange(is_over_, true)) return false;
    request_.cancellation.stop_listening();
    return true;
  }
  void finish(RedisClient::Outcome outcome, std::string* value) noexcept {
    if (!leave()) return;
    if (outcome != RedisClient::Outcome::kFound || !hit(*value)) miss();
    pass_.reset();
  }
  bool hit(const std::string& value) noexcept try {
    Result<ReadAnswer> answer = ReadAnswer::read(value, request_.model->info(), request_);
    if (!answer.ok()) {
      cache_.client_.count_failure(RedisFailure::kProtocol);
      cache_.host_.log().warning("what lies in Redis at '", key_.text,
                                 "' is not an answer: ", answer.status().message());
      return false;
    }
    const uint64_t took_ns = time_taken_ns();
    cache_.counts_.add_hit(key_.hash, took_ns);
    waiter_.report_hit(request_, took_ns);
    answer->answer(request_);
    return true;
  } catch (const std::exception&) {
    return false;  // there is no memory to read it
  }
  void miss() noexcept {
    const uint64_t took_ns = time_taken_ns();
    cache_.counts_.add_miss(key_.hash, took_ns);
    if (cache_.host_.gate().enter()) {
      Arena& arena = request_.arena();
      const std::string_view key = arena.copy_text(key_.text);
      arena.make<Keeper>(cache_, request_, waiter_, key, key_.hash, took_ns)->interpose(request_);
    } else {
      waiter_.report_miss(request_, took_ns);
    }
    waiter_.resume(request_);
  }
  uint64_t time_taken_ns() const noexcept {
    return static_cast<uint64_t>(cache_.clock_.now_ns() - begun_ns_);
  }

  RedisCache& cache_;
  Request& request_;
  CacheWaiter& waiter_;
  const int64_t begun_ns_;
  Pass pass_;
  ContentKey key_;
  bool is_over_ = false;  ///< on the client's thread
};

RedisCache::RedisCache(Host& host, const RedisSettings& settings)
    : host_(host),
      clock_(host.clock()),
      settings_(settings),
      process_(random_number()),
      client_(host.log(), settings) {}

CacheOutcome RedisCache::look_up(Request& request, CacheWaiter& waiter) noexcept try {
  if (!client_.is_available()) {
    client_.count_failure(RedisFailure::kUnavailable);
    return CacheOutcome::kMiss;
  }
  const int64_t begun_ns = clock_.now_ns();
  std::optional<ContentKey> key = content_key_of(request, settings_.key_prefix, process_);
  if (!key) return CacheOutcome::kMiss;
  const auto look_up = std::make_shared<LookUp>(*this, request, waiter, begun_ns);
  return look_up->begin(std::move(*key)) ? CacheOutcome::kWaits : CacheOutcome::kMiss;
} catch (const std::exception&) {
  return CacheOutcome::kMiss;  // there is no memory to ask
}

void RedisCache::collect(MetricSink& sink) const noexcept {
  counts_.collect(sink);
  client_.collect(sink);
}

}  // namespace atl::caches

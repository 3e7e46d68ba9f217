#include "atoll/runtime/event_queue.h"

#include <dlfcn.h>

#include <algorithm>

namespace atl::runtime {
namespace {

std::string handler_text(std::string_view event_id, EventHandler handler) {
  Dl_info file{};
  const bool known = ::dladdr(reinterpret_cast<void*>(handler), &file) != 0 && file.dli_fname != nullptr;
  return cat("the handler of event '", event_id, "' in ",
             known ? file.dli_fname : "a file that is not known");
}

}  // namespace

EventQueue::Topic* EventQueue::topic_for(std::string_view event_id, uint32_t size) {
  auto found = topics_.find(event_id);
  if (found == topics_.end()) {
    found = topics_.emplace(std::string(event_id), Topic{}).first;
    found->second.size = size;
  }
  return found->second.size == size ? &found->second : nullptr;
}

void EventQueue::remove_queued(Subscriber& subscriber, uint64_t sequence) {
  auto queued = subscriber.queue.find(sequence);
  if (!queued->second.initial) --subscriber.counted;
  auto newest = subscriber.newest.find(queued->second.key);
  if (newest != subscriber.newest.end() && newest->second == sequence) subscriber.newest.erase(newest);
  subscriber.queue.erase(queued);
  order_.erase(sequence);
}

void EventQueue::enqueue(uint64_t id, Subscriber& subscriber, std::string_view key, const Payload& payload,
                         bool initial) {
  bool coalesce = subscriber.options.overflow == Overflow::kCoalesce;
  if (coalesce) {
    if (auto newest = subscriber.newest.find(key); newest != subscriber.newest.end()) {
      subscriber.queue[newest->second].payload = payload;
      return;
    }
  }
  if (!initial && subscriber.counted >= subscriber.options.depth) {
    auto oldest = std::find_if(subscriber.queue.begin(), subscriber.queue.end(),
                               [](const auto& entry) { return !entry.second.initial; });
    remove_queued(subscriber, oldest->first);
    ++subscriber.dropped;
    ++totals_.dropped;
  }
  uint64_t sequence = next_sequence_++;
  subscriber.queue.emplace(sequence, Queued{std::string(key), payload, initial});
  if (!initial) ++subscriber.counted;
  if (coalesce) subscriber.newest.emplace(std::string(key), sequence);
  order_.emplace(sequence, id);
}

void EventQueue::publish(std::string_view event_id, std::string_view key, const void* event, uint32_t size,
                         bool retain) noexcept {
  bool wake = false;
  const char* refused = nullptr;
  if (size == 0 || size > kEventBytesMax) {
    refused = "its size is not 1..4096 bytes";
  } else {
    const char* bytes = static_cast<const char*>(event);
    auto payload = std::make_shared<const std::vector<char>>(bytes, bytes + size);
    std::lock_guard lock(mutex_);
    Topic* topic = topic_for(event_id, size);
    if (topic == nullptr) {
      refused = "other users of the id have another size";
    } else {
      if (retain) {
        auto kept = topic->retained.find(key);
        if (kept != topic->retained.end()) {
          kept->second = payload;
        } else if (topic->retained.size() < kRetainedKeysMax) {
          topic->retained.emplace(std::string(key), payload);
        }
      }
      ++totals_.published;
      bool was_empty = order_.empty();
      for (uint64_t id : topic->subscribers) enqueue(id, subscribers_[id], key, payload, false);
      wake = was_empty && !order_.empty();
    }
  }
  if (refused != nullptr)
    log_.error("event '", event_id, "' of ", size, " bytes was not published: ", refused);
  if (wake) wake_();
}

void EventQueue::forget(std::string_view event_id, std::string_view key) noexcept {
  std::lock_guard lock(mutex_);
  auto topic = topics_.find(event_id);
  if (topic == topics_.end()) return;
  auto kept = topic->second.retained.find(key);
  if (kept != topic->second.retained.end()) topic->second.retained.erase(kept);
}

Result<uint64_t> EventQueue::subscribe(std::string_view event_id, uint32_t size,
                                       const SubscriptionOptions& options, EventHandler handler,
                                       void* context) noexcept {
  if (options.depth < 1 || options.depth > kDepthMax) {
    return invalid_argument("event '", event_id, "': depth is ", options.depth, ", expected 1..", kDepthMax);
  }
  if (size == 0 || size > kEventBytesMax || handler == nullptr) {
    return invalid_argument("event '", event_id, "': size is ", size, ", expected 1..", kEventBytesMax,
                            ", with a handler");
  }
  bool wake = false;
  uint64_t id = 0;
  {
    std::lock_guard lock(mutex_);
    Topic* topic = topic_for(event_id, size);
    if (topic == nullptr) {
      return invalid_argument("event '", event_id, "': size is ", size, " bytes, other users of the id have ",
                              topics_.find(event_id)->second.size);
    }
    id = next_subscription_++;
    Subscriber& subscriber = subscribers_[id];
    subscriber.event_id = event_id;
    if (calls_ != nullptr) subscriber.text = handler_text(event_id, handler);
    subscriber.options = options;
    subscriber.handler = handler;
    subscriber.context = context;
    topic->subscribers.push_back(id);
    bool was_empty = order_.empty();
    for (const auto& [key, payload] : topic->retained) enqueue(id, subscriber, key, payload, true);
    wake = was_empty && !order_.empty();
  }
  if (wake) wake_();
  return id;
}

void EventQueue::unsubscribe(uint64_t subscription) noexcept {
  std::unique_lock lock(mutex_);
  auto found = subscribers_.find(subscription);
  if (found != subscribers_.end()) {
    std::erase(topics_.find(found->second.event_id)->second.subscribers, subscription);
    for (const auto& [sequence, queued] : found->second.queue) order_.erase(sequence);
    subscribers_.erase(found);
  }
  if (std::this_thread::get_id() == delivering_thread_) return;  // inside a handler, perhaps its own
  handler_done_.wait(lock, [&] { return delivering_to_ != subscription; });
}

uint64_t EventQueue::dropped(uint64_t subscription) const noexcept {
  std::lock_guard lock(mutex_);
  auto found = subscribers_.find(subscription);
  return found == subscribers_.end() ? 0 : found->second.dropped;
}

EventBusStatistics EventQueue::statistics() const noexcept {
  std::lock_guard lock(mutex_);
  EventBusStatistics now = totals_;
  now.queued = order_.size();
  now.subscriptions = subscribers_.size();
  return now;
}

bool EventQueue::deliver_one() {
  std::unique_lock lock(mutex_);
  if (order_.empty()) return false;
  auto [sequence, id] = *order_.begin();
  Subscriber& subscriber = subscribers_[id];
  Payload payload = subscriber.queue[sequence].payload;
  EventHandler handler = subscriber.handler;
  std::string text = subscriber.text;
  void* context = subscriber.context;
  remove_queued(subscriber, sequence);
  ++totals_.delivered;
  delivering_to_ = id;
  delivering_thread_ = std::this_thread::get_id();
  lock.unlock();
  bool threw = false;
  try {
    CallWatch::Call watched(calls_, std::move(text));
    handler(context, payload->data());
  } catch (...) {
    threw = true;
  }
  lock.lock();
  delivering_to_ = 0;
  delivering_thread_ = {};
  if (threw) ++handler_throws_;
  lock.unlock();
  handler_done_.notify_all();
  if (threw) log_.error("an event handler threw an exception; it was caught and counted");
  return true;
}

void EventQueue::deliver() {
  size_t delivered = 0;
  while (delivered < kTurnMax && deliver_one()) ++delivered;
  if (delivered == kTurnMax) wake_();
}

size_t EventQueue::subscriptions() const {
  std::lock_guard lock(mutex_);
  return subscribers_.size();
}

uint64_t EventQueue::handler_throws() const {
  std::lock_guard lock(mutex_);
  return handler_throws_;
}

Result<uint64_t> InstanceEvents::subscribe_raw(std::string_view event_id, uint32_t size,
                                               const SubscriptionOptions& options, EventHandler handler,
                                               void* context) noexcept {
  Result<uint64_t> id = queue_.subscribe(event_id, size, options, handler, context);
  if (id.ok()) {
    std::lock_guard lock(mutex_);
    open_.push_back(id.value());
  }
  return id;
}

void InstanceEvents::unsubscribe(uint64_t subscription) noexcept {
  {
    std::lock_guard lock(mutex_);
    std::erase(open_, subscription);
  }
  queue_.unsubscribe(subscription);
}

size_t InstanceEvents::end_all() noexcept {
  std::vector<uint64_t> left;
  {
    std::lock_guard lock(mutex_);
    left.swap(open_);
  }
  for (uint64_t id : left) queue_.unsubscribe(id);
  return left.size();
}

}  // namespace atl::runtime

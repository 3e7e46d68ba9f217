#include "launchers/kubernetes/pod_watch.h"

#include <utility>

#include "launchers/kubernetes/api_refusal.h"

namespace atl::launchers {
namespace {

constexpr int kPageSize = 500;
/// A watch that ends earlier than that is not asked for again at once.
constexpr int64_t kShortWatchNs = kNsPerSecond;
/// The cluster ends a watch after that time, and a little more: those that began together do not end together.
constexpr int kWatchSeconds = 300;

}  // namespace

const PodView* PodWatch::find(std::string_view name) const {
  const auto pod = pods_.find(name);
  return pod == pods_.end() ? nullptr : &pod->second;
}

void PodWatch::at(int64_t time_ns, void (PodWatch::*then)()) {
  (void)executor_->cancel(timer_);
  timer_ = executor_->post_at(time_ns, make_task([this, then] { (this->*then)(); }));
}

uint64_t PodWatch::want_list() {
  switch (step_) {
    case Step::kListing:
      lists_again_ = true;
      break;
    case Step::kIdle:
    case Step::kWatching:
      calls_.end_watch();
      step_ = Step::kSoon;
      at(clock_.now_ns(), &PodWatch::begin_list);
      break;
    case Step::kSoon:
      break;
  }
  return next_number();
}

void PodWatch::begin_list() {
  calls_.end_watch();
  step_ = Step::kListing;
  lists_again_ = false;
  ++number_;
  list_page({});
}

void PodWatch::list_page(const std::string& continues) {
  if (continues.empty()) found_.clear();
  const std::string page = continues.empty() ? std::string() : cat("&continue=", percent_encode(continues));
  calls_.call({.path = cat(pods_path_, "?", query_, "&limit=", kPageSize, page)},
              [this](Result<HttpAnswer> answer) { listed_page(std::move(answer)); });
}

void PodWatch::listed_page(Result<HttpAnswer> answer) {
  // A list that takes longer than the cluster remembers begins anew.
  if (answer.ok() && answer->status == kHttpGone) return again(true, 0);
  if (answer.ok() && !is_success(answer.value())) {
    const ApiRefusal refusal = read_refusal(answer.value());
    listener_.cluster_answered(unavailable("pods cannot be listed: ", refusal.status.message()));
    return again(true, refusal.retry_after_ns);
  }
  Result<PodPage> page = answer.ok() ? read_pod_page(answer->body) : std::move(answer).status();
  if (!page.ok()) {
    listener_.cluster_answered(page.status());
    return again(true, 0);
  }
  for (PodView& pod : page->pods) {
    std::string name = pod.name;
    found_.insert_or_assign(std::move(name), std::move(pod));
  }
  if (!page->continues.empty()) return list_page(page->continues);
  version_ = std::move(page->version);
  listed();
}

void PodWatch::listed() {
  failures_ = 0;
  const auto before = std::exchange(pods_, std::exchange(found_, {}));
  listener_.cluster_answered({});
  for (const auto& [name, pod] : before) {
    if (!pods_.contains(name)) listener_.pod_gone(name);
  }
  for (const auto& [name, pod] : pods_) {
    const auto known = before.find(name);
    if (known == before.end() || known->second.version != pod.version) listener_.pod_changed(pod);
  }
  listener_.pods_listed(number_);
  if (lists_again_) return begin_list();
  begin_watch();
}

void PodWatch::begin_watch() {
  step_ = Step::kWatching;
  watch_begun_ns_ = clock_.now_ns();
  calls_.watch(
      cat(pods_path_, "?", query_,
          "&watch=1&allowWatchBookmarks=true&resourceVersion=", percent_encode(version_),
          "&timeoutSeconds=", kWatchSeconds + watch_begun_ns_ / kNsPerMs % kWatchSeconds),
      [this](WatchEvent event) { watched(std::move(event)); },
      [this](Result<HttpAnswer> answer) { watch_ended(std::move(answer)); });
}

void PodWatch::watched(WatchEvent event) {
  failures_ = 0;
  if (event.kind == WatchKind::kExpired || event.kind == WatchKind::kFailed) {
    calls_.end_watch();
    if (event.kind == WatchKind::kFailed) {
      ++failures_;
      listener_.cluster_answered(unavailable("the watch of pods has ended: ", event.text));
    }
    return again(true, 0);
  }
  listener_.cluster_answered({});
  if (!event.version.empty()) version_ = std::move(event.version);
  if (event.kind == WatchKind::kBookmark) return;
  std::string name = event.pod.name;
  if (event.kind == WatchKind::kDeleted) {
    pods_.erase(name);
    return listener_.pod_gone(name);
  }
  const PodView& pod = pods_.insert_or_assign(name, std::move(event.pod)).first->second;
  listener_.pod_changed(pod);
}

void PodWatch::watch_ended(Result<HttpAnswer> answer) {
  const bool is_over = answer.ok() && is_success(answer.value());
  if (is_over && clock_.now_ns() - watch_begun_ns_ >= kShortWatchNs) return begin_watch();
  // Half of its last line may be missing; it is told again from the version on.
  if (is_over) return again(false, 0);
  if (!answer.ok()) {
    listener_.cluster_answered(answer.status());
    return again(false, 0);
  }
  if (answer->status == kHttpGone) return again(true, 0);
  const ApiRefusal refusal = read_refusal(answer.value());
  listener_.cluster_answered(unavailable("pods cannot be watched: ", refusal.status.message()));
  again(!refusal.passes, refusal.retry_after_ns);
}

void PodWatch::again(bool lists, int64_t asked_ns) {
  const int64_t now_ns = clock_.now_ns();
  step_ = lists ? Step::kSoon : Step::kWatching;
  const int64_t pause_ns = retry_pause_ns(++failures_, asked_ns, static_cast<uint64_t>(now_ns));
  at(now_ns + pause_ns, lists ? &PodWatch::begin_list : &PodWatch::begin_watch);
}

}  // namespace atl::launchers

#include "launchers/kubernetes/keeper_lease.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "atoll/core/text.h"
#include "atoll/lib/rfc3339.h"
#include "launchers/kubernetes/api_refusal.h"
#include "launchers/kubernetes/keeper_name.h"
#include "launchers/kubernetes/pod_names.h"

namespace atl::launchers {
namespace {

constexpr int64_t kHeldNs = KeeperLease::kDurationNs * 2 / 3;
constexpr int64_t kRenewNs = KeeperLease::kDurationNs / 3;
constexpr int64_t kRetryNs = 2 * kNsPerSecond;
constexpr int64_t kLongestS = 3'600, kTransitionsMax = 1'000'000'000;

std::string holder_of(const Json& lease) { return text_at(lease, {"spec", "holderIdentity"}); }

}  // namespace

std::string leases_path(const std::string& name_space) {
  return cat("/apis/coordination.k8s.io/v1/namespaces/", percent_encode(name_space), "/leases");
}

std::string unique_holder() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return cat(host.data(), "_", random_name());
}

KeeperLease::KeeperLease(std::string leases_path, const std::string& keeper, std::string holder,
                         ClusterCalls& calls, Clock& clock, Log& log)
    : leases_path_(std::move(leases_path)),
      keeper_(keeper),
      name_(cat("atoll-", keeper)),
      holder_(std::move(holder)),
      calls_(calls),
      clock_(clock),
      log_(log) {}

void KeeperLease::start(SerialExecutor& executor, std::function<void()> held) {
  executor_ = &executor;
  on_held_ = std::move(held);
  ask();
}

void KeeperLease::call(ApiCall call, Answered then) {
  // What is not answered in time is of no use any more.
  call.timeout_ns = kRenewNs;
  calls_.call(std::move(call), [this, then](Result<HttpAnswer> answer) { (this->*then)(std::move(answer)); });
}

void KeeperLease::later(int64_t pause_ns, void (KeeperLease::*then)()) {
  executor_->post_at(clock_.now_ns() + pause_ns, make_task([this, then] {
                       if (!is_released_) (this->*then)();
                     }));
}

void KeeperLease::ask() { call({.path = cat(leases_path_, "/", name_)}, &KeeperLease::asked); }

void KeeperLease::asked(Result<HttpAnswer> answer) {
  if (is_released_) return;
  if (answer.ok() && answer->status == kHttpNotFound) return make();
  if (!answer.ok() || !is_success(answer.value())) {
    const Status why = answer.ok() ? read_refusal(answer.value()).status.clone() : answer.status().clone();
    if (!is_held()) lost(why.text());
    return later(kRetryNs, &KeeperLease::ask);
  }
  Json lease = parse_json(answer->body);
  if (!lease.is_object()) {
    if (!is_held()) lost("the lease cannot be read");
    return later(kRetryNs, &KeeperLease::ask);
  }
  const std::string holder = holder_of(lease);
  if (text_at(lease, {"metadata", "resourceVersion"}) != text_at(lease_, {"metadata", "resourceVersion"}))
    seen_ns_ = clock_.now_ns();
  lease_ = std::move(lease);
  // Its own, of a call whose answer was lost.
  if (holder.empty() || holder == holder_) return take(lease_);
  held_until_ns_ = 0;
  const int64_t stands_ns =
      std::clamp(number_at(lease_, {"spec", "leaseDurationSeconds"}), kDurationNs / kNsPerSecond, kLongestS) *
      kNsPerSecond;
  if (clock_.now_ns() - seen_ns_ >= stands_ns) return take(lease_);
  lost(cat("'", holder.substr(0, 300), "' keeps these pods"));
  later(kRetryNs, &KeeperLease::ask);
}

Json KeeperLease::own_spec(const Json& before) const {
  const std::string now = write_rfc3339(clock_.wall_ns(), SecondDigits::kMicroseconds);
  Json spec = before.is_object() ? before : Json::object();
  if (text_at(spec, {"holderIdentity"}) != holder_) {
    spec["acquireTime"] = now;
    const int64_t transitions =
        std::clamp<int64_t>(number_at(spec, {"leaseTransitions"}), 0, kTransitionsMax);
    spec["leaseTransitions"] = transitions + (before.is_object() ? 1 : 0);
  }
  spec["holderIdentity"] = holder_;
  spec["leaseDurationSeconds"] = kDurationNs / kNsPerSecond;
  spec["renewTime"] = now;
  return spec;
}

void KeeperLease::make() {
  held_until_ns_ = 0;
  asked_ns_ = clock_.now_ns();
  const Json lease = {
      {"apiVersion", "coordination.k8s.io/v1"},
      {"kind", "Lease"},
      {"metadata", {{"name", name_}, {"labels", {{kManagedByLabel, kManager}, {kKeeperLabel, keeper_}}}}},
      {"spec", own_spec(Json())}};
  call({"POST", cat(leases_path_, "?fieldManager=", kManager, "&fieldValidation=Strict"), json_text(lease)},
       &KeeperLease::taken);
}

/// \param lease  as it was seen: whoever has changed it since then is first
void KeeperLease::take(const Json& lease) {
  asked_ns_ = clock_.now_ns();
  Json own = lease;
  own["spec"] = own_spec(field_at(lease, {"spec"}));
  call({"PUT", cat(leases_path_, "/", name_, "?fieldManager=", kManager, "&fieldValidation=Strict"),
        json_text(own)},
       &KeeperLease::taken);
}

void KeeperLease::taken(Result<HttpAnswer> answer) {
  if (is_released_) return;
  if (!answer.ok() || !is_success(answer.value())) {
    // Another one was first, or the answer before this one was lost; or somebody has deleted it, so that anybody may make it.
    if (answer.ok() && answer->status == kHttpNotFound) held_until_ns_ = 0;
    if (answer.ok() && (answer->status == kHttpConflict || answer->status == kHttpNotFound)) return ask();
    const Status why = answer.ok() ? read_refusal(answer.value()).status.clone() : answer.status().clone();
    if (!is_held()) lost(why.text());
    return later(kRetryNs, &KeeperLease::ask);
  }
  Json lease = parse_json(answer->body);
  if (!lease.is_object()) return later(kRetryNs, &KeeperLease::ask);
  lease_ = std::move(lease);
  seen_ns_ = clock_.now_ns();
  held_until_ns_ = asked_ns_ + kHeldNs;
  later(kRenewNs, &KeeperLease::renew);
  if (!is_held()) return;  // the answer took longer than it is held
  has_told_ = false;
  if (!std::exchange(is_held_told_, true)) log_.info("this process keeps the pods, by lease ", name_);
  if (on_held_) on_held_();
}

void KeeperLease::lost(const std::string& why) {
  if (std::exchange(has_told_, true)) return;
  is_held_told_ = false;
  log_.warning("pods are neither made nor ended until this process holds lease ", name_, ": ", why);
}

void KeeperLease::release(std::function<void()> done) {
  is_released_ = true;
  if (!is_held()) return done();
  held_until_ns_ = 0;
  Json nobody = lease_;
  nobody["spec"] = own_spec(field_at(lease_, {"spec"}));
  nobody["spec"]["holderIdentity"] = "";
  calls_.call({"PUT", cat(leases_path_, "/", name_, "?fieldManager=", kManager, "&fieldValidation=Strict"),
               json_text(nobody)},
              [done = std::move(done)](Result<HttpAnswer>) { done(); });
}

void KeptCalls::call(ApiCall call, Done done) {
  if (call.method == "GET" || lease_.is_held()) return calls_.call(std::move(call), std::move(done));
  waiting_.emplace_back(std::move(call), std::move(done));
}

void KeptCalls::resume() {
  for (auto& [call, done] : std::exchange(waiting_, {})) calls_.call(std::move(call), std::move(done));
}

}  // namespace atl::launchers

#include "launchers/kubernetes/kubernetes_launcher.h"

#include <algorithm>
#include <fstream>
#include <utility>
#include <vector>

#include "atoll/core/stop_executor.h"
#include "launchers/common/instance_command.h"
#include "launchers/kubernetes/api_refusal.h"
#include "launchers/kubernetes/pod_names.h"
#include "launchers/kubernetes/pod_spec.h"

namespace atl::launchers {
namespace {

constexpr int64_t kLookIntervalNs = kNsPerSecond;
constexpr size_t kToldGoneMax = 1'000;

}  // namespace

KubernetesLauncher::KubernetesLauncher(KubernetesSettings settings, ClusterCalls& calls, Clock& clock,
                                       Log& log)
    : settings_(std::move(settings)),
      namespace_path_(cat("/api/v1/namespaces/", percent_encode(settings_.access.name_space))),
      calls_(calls),
      clock_(clock),
      log_(log),
      watch_(namespace_path_ + "/pods", "labelSelector=" + keeper_selector(settings_.pods.keeper), calls,
             *this, clock),
      context_{settings_, namespace_path_, calls, watch_, clock, *this} {}

void KubernetesLauncher::start(SerialExecutorPtr executor) {
  executor_ = std::move(executor);
  run([this, to = executor_.get()] {
    watch_.start(*to);
    (void)watch_.want_list();
  });
}

void KubernetesLauncher::stop() noexcept {
  stop_executor(executor_);
  servers_.clear();
}

template <class Work>
void KubernetesLauncher::run(Work work) {
  executor_->post(make_task(std::move(work)));
}

template <class Call>
void KubernetesLauncher::notify(const std::string& id, Call call) {
  const std::scoped_lock lock(mutex_);
  if (const auto listener = listeners_.find(id); listener != listeners_.end()) call(*listener->second);
}

void KubernetesLauncher::forget(LauncherListener& listener) noexcept {
  const std::scoped_lock lock(mutex_);
  std::erase_if(listeners_, [&](const auto& one) { return one.second == &listener; });
}

// --- what is asked ---

void KubernetesLauncher::launch(const ServerSpec& server, LauncherListener& listener) noexcept {
  take(server, listener, false);
}

void KubernetesLauncher::adopt(const ServerSpec& server, LauncherListener& listener) noexcept {
  take(server, listener, true);
}

void KubernetesLauncher::take(const ServerSpec& spec, LauncherListener& listener, bool is_adopted) {
  {
    const std::scoped_lock lock(mutex_);
    listeners_.insert_or_assign(spec.id, &listener);
  }
  run([this, spec, is_adopted] {
    if (const auto known = servers_.find(spec.id); known != servers_.end()) {
      const ServerPtr server = known->second;
      return server->begin_anew();
    }
    const auto server = std::make_shared<PodServer>(context_, spec, is_adopted);
    servers_.emplace(spec.id, server);
    if (!is_server_id(spec.id))
      return server_is_over(*server, invalid_argument("'", spec.id, "' is no id of a server"), {}, {});
    server->advance();
    look_soon();
  });
}

void KubernetesLauncher::end(std::string_view id) noexcept {
  run([this, name = std::string(id)] {
    const auto found = servers_.find(name);
    if (found == servers_.end()) return;
    const ServerPtr server = found->second;
    server->end();
  });
}

// --- what the cluster says ---

KubernetesLauncher::ServerPtr KubernetesLauncher::find_pod(std::string_view name) const {
  for (const auto& [id, server] : servers_) {
    if (server->pod() == name) return server;
  }
  return nullptr;
}

template <class Call>
void KubernetesLauncher::for_each(Call call) {
  std::vector<ServerPtr> all;
  for (const auto& [id, server] : servers_) all.push_back(server);
  for (const ServerPtr& server : all) call(*server);
}

void KubernetesLauncher::pod_changed(const PodView& pod) {
  if (const ServerPtr server = find_pod(pod.name)) return server->advance();
  // The pod belongs to no server: an earlier process ended before it deleted the pod, or the call that made the pod arrived
  // after the server was over. A pod that has not ended is left: adopt() may still ask for its server.
  const bool is_told = std::ranges::find(told_gone_, pod.name) != told_gone_.end();
  if (pod.is_ending || (pod.stage != PodStage::kEnded && !is_told)) return;
  leftovers_.try_emplace(pod.name, Leftover{pod.uid, false});
  look_soon();
}

void KubernetesLauncher::pod_gone(const std::string& name) {
  if (const ServerPtr server = find_pod(name)) server->pod_gone();
}

void KubernetesLauncher::pods_listed(uint64_t number) {
  for_each([&](PodServer& server) { server.pods_listed(number); });
}

void KubernetesLauncher::cluster_answered(const Status& status) {
  if (std::exchange(is_away_, !status.ok()) == !status.ok()) return;
  if (status.ok()) {
    log_.info("the cluster answers again");
  } else {
    log_.warning("the cluster: ", status.text(), "; servers are left as they are until it answers");
  }
}

void KubernetesLauncher::server_runs(const PodServer& server, const ServerAddress& address) {
  const ServerSpec& spec = server.spec();
  log_.info("server ", spec.id, " (", spec.pool, "-i", spec.instance, ") is pod ", server.pod(), " and has ",
            address.http.text());
  notify(spec.id, [&](LauncherListener& listener) { listener.server_running(spec.id, address); });
}

/// Keeps a server's log in a file. \returns the file's path; empty: there is no log, or no file could be written
std::string KubernetesLauncher::keep_log(const ServerSpec& spec, const std::string& log) const {
  if (log.empty()) return {};
  std::string path = cat(settings_.state_directory, "/", spec.pool, "-i", spec.instance, ".failed.log");
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << log;
  return file.flush() ? path : std::string();
}

void KubernetesLauncher::server_is_over(const PodServer& server, Status reason, const std::string& log,
                                        const std::string& leftover) {
  const ServerSpec& spec = server.spec();
  const std::string id = spec.id;
  if (!reason.ok() && reason.code() != Code::kNotFound) {
    const std::string kept = keep_log(spec, log);
    log_.warning("server ", id, " (", spec.pool, "-i", spec.instance, "): ", reason.text(),
                 kept.empty() ? std::string() : cat("; what it said last is in ", kept));
  }
  if (!leftover.empty()) leftovers_.insert_or_assign(server.pod(), Leftover{leftover, false});
  told_gone_.push_back(server.pod());
  if (told_gone_.size() > kToldGoneMax) told_gone_.pop_front();
  const auto kept_alive = servers_.extract(id);
  notify(id, [&](LauncherListener& listener) { listener.server_ended(id, std::move(reason)); });
  {
    const std::scoped_lock lock(mutex_);
    listeners_.erase(id);
  }
  if (leftover.empty()) return;
  remove_leftovers();
  look_soon();
}

// --- time ---

void KubernetesLauncher::look_soon() {
  if (!std::exchange(is_looking_, true)) look_later();
}

void KubernetesLauncher::look_later() {
  executor_->post_at(clock_.now_ns() + kLookIntervalNs, make_task([this] { look(); }));
}

/// Goes on as long as there is anything to look at.
void KubernetesLauncher::look() {
  for_each([](PodServer& server) { server.advance(); });
  remove_leftovers();
  is_looking_ = !servers_.empty() || !leftovers_.empty();
  if (is_looking_) look_later();
}

void KubernetesLauncher::remove_leftovers() {
  for (auto& [pod, leftover] : leftovers_) {
    const bool is_asked = std::exchange(leftover.is_asked, true);
    if (is_asked && is_away_) return;
    if (is_asked) continue;
    calls_.call({"DELETE", cat(namespace_path_, "/pods/", pod), json_text(delete_options(leftover.uid))},
                [this, name = pod](Result<HttpAnswer> answer) { leftover_removed(name, std::move(answer)); });
    if (is_away_) return;  // this one says when it is back
  }
}

void KubernetesLauncher::leftover_removed(const std::string& pod, Result<HttpAnswer> answer) {
  if (answer.ok() && is_success(answer.value())) cluster_answered({});
  const bool is_done = answer.ok() && (is_success(answer.value()) || answer->status == kHttpConflict ||
                                       !read_refusal(answer.value()).passes);
  if (is_done) {
    leftovers_.erase(pod);
  } else {
    leftovers_[pod].is_asked = false;
  }
}

}  // namespace atl::launchers

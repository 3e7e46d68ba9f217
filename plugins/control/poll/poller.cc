#include "control/poll/poller.h"

#include <algorithm>
#include <utility>

#include "control/common/startup_load.h"

namespace atl::control {
namespace {

constexpr int32_t kNice = 10;
constexpr size_t kNamesMax = 20;
/// After a repository could not be listed at start, and there is no interval.
constexpr int64_t kRetryNs = kNsPerSecond;

/// "a, b and 3 more"
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < kNamesMax; ++i) text += cat(i == 0 ? "" : ", ", names[i]);
  if (names.size() > kNamesMax) text += cat(" and ", names.size() - kNamesMax, " more");
  return text;
}

}  // namespace

Status Poller::start(ModelCatalog& catalog, Repository& repository) {
  catalog_ = &catalog;
  repository_ = &repository;
  ThreadPlacement placement;
  placement.nice = kNice;
  auto executor = host_.executors().create("poll", placement);
  if (!executor.ok()) return std::move(executor).status();
  executor_ = std::move(executor).value();
  executor_->post(make_task([this] { poll(); }));
  return {};
}

void Poller::poll(Done done) noexcept {
  executor_->post(make_task([this, done = std::move(done)]() mutable {
    asked_.push_back(std::move(done));
    if (!is_busy_) poll();
  }));
}

void Poller::poll() {
  executor_->cancel(std::exchange(timer_, 0));
  auto pass = std::make_shared<Pass>(host_.gate());
  if (!*pass) return asked_.clear();  // the instance drains: this was the last one
  is_busy_ = true;
  answered_ = std::exchange(asked_, {});
  int64_t now_ns = host_.clock().now_ns();
  // Between polls only what is unsettled or new is looked at: others may be many.
  const bool at_once = !answered_.empty();
  bool all = at_once || now_ns >= next_poll_ns_;
  Sights sights;
  if (Status status = scan(all, &sights); !status.ok()) {
    std::string text = status.text();
    if (std::exchange(list_failure_, text) != text) {
      host_.log().error("failed to poll the model repositories: ", text, "; what is loaded keeps serving");
    }
    unsettled_.clear();
    return finish(all, status);
  }
  if (!std::exchange(list_failure_, {}).empty())
    host_.log().info("the model repositories can be listed again");
  Decision decision = watch_.decide(sights, now_ns, all, at_once);
  sights_ = std::move(sights);
  unsettled_ = std::move(decision.unsettled);
  report(decision);
  if (!decision.unload.empty()) catalog_->unload(std::move(decision.unload), [pass](const auto&) {});
  catalog_->load(std::move(decision.load), [this, pass, all](std::vector<ModelLoadResult> results) {
    auto ended = std::make_shared<std::vector<ModelLoadResult>>(std::move(results));
    executor_->post(make_task([this, pass, all, ended] {
      loaded(*ended);
      finish(all, {});
    }));
  });
}

void Poller::loaded(const std::vector<ModelLoadResult>& results) {
  for (const ModelLoadResult& result : results) watch_.loaded(result.model, result.status.ok());
  if (std::exchange(startup_complete_, true)) return;
  log_startup(host_.log(), results);
  catalog_->set_startup_complete();
}

Status Poller::scan(bool all, Sights* sights) {
  Result<std::vector<RepositoryEntry>> entries = repository_->list();
  if (!entries.ok()) return std::move(entries).status();
  for (size_t i = 0; i < entries->size(); ++i) {
    const std::string& name = entries.value()[i].name;
    if (sights->contains(name)) continue;
    bool twice = i + 1 < entries->size() && entries.value()[i + 1].name == name;
    auto before = sights_.find(name);
    bool anew = all || before == sights_.end() || unsettled_.contains(name);
    sights->emplace(name, anew ? scan_model(name, twice) : before->second);
  }
  return {};
}

Sight Poller::scan_model(const std::string& model, bool twice) {
  Sight sight;
  if (twice) {
    sight.problem = "not unique across all model repositories";
  } else if (auto stamps = repository_->stamps(model); stamps.ok()) {
    sight.stamps = std::move(stamps).value();
  } else {
    sight.problem = stamps.status().text();
  }
  return sight;
}

void Poller::report(const Decision& decision) {
  for (const std::string& model : decision.disturbed) {
    host_.log().error("failed to poll model '", model, "': ", sights_.at(model).problem,
                      "; what was loaded before keeps serving");
  }
  if (!decision.unload.empty()) {
    host_.log().info("poll: gone from the repository: ", listed(decision.unload));
  }
  if (!decision.load.empty() && startup_complete_) {
    host_.log().debug("poll: new, changed or failed before: ", listed(decision.load));
  }
}

void Poller::finish(bool all, const Status& status) {
  is_busy_ = false;
  for (const Done& done : std::exchange(answered_, {})) done(status.clone());
  if (!asked_.empty()) return poll();
  if (options_.interval_ns == 0 && startup_complete_) return;
  int64_t now_ns = host_.clock().now_ns();
  if (all) next_poll_ns_ = now_ns + (options_.interval_ns > 0 ? options_.interval_ns : kRetryNs);
  int64_t next_ns = next_poll_ns_;
  if (!unsettled_.empty()) next_ns = std::min(next_ns, now_ns + options_.settle_ns);
  timer_ = executor_->post_at(next_ns, make_task([this] {
                                timer_ = 0;
                                poll();
                              }));
}

}  // namespace atl::control

/// The plugin instance: holds the services that the poller works with.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "atoll/core/plugin.h"
#include "control/common/closed_control.h"
#include "control/common/repository_watch.h"
#include "control/poll/poller.h"

namespace atl::control {

class PollPlugin final : public Plugin {
 public:
  explicit PollPlugin(Host& host)
      : host_(host),
        poller_(host,
                {host.options().get_duration_ns("interval"), host.options().get_duration_ns("settle_time")}) {
  }

  Status start() override {
    Result<Service<ModelCatalog>> catalog = host_.registry().find<ModelCatalog>();
    if (!catalog.ok()) return std::move(catalog).status();
    Result<Service<Repository>> repository = host_.registry().find<Repository>();
    if (!repository.ok()) return std::move(repository).status();
    ATOLL_RETURN_IF_ERROR(poller_.start(**catalog, **repository));
    catalog_ = std::move(catalog).value();
    repository_ = std::move(repository).value();
    return watch_.open();
  }
  void drain(int64_t /*deadline_ns*/) override { watch_.close(); }
  void stop() override {
    watch_.close();
    poller_.stop();
    catalog_.reset();
    repository_.reset();
  }
  ModelControl& control() noexcept { return control_; }
  RepositoryPoll& repository_poll() noexcept { return poller_; }
  std::string holding() override { return host_.gate().count() > 0 ? "a poll of the repository" : ""; }

 private:
  struct PollNow {
    Poller& poller;
    void operator()() const {
      poller.poll([](Status) {});  // what goes wrong, the log tells
    }
  };

  Host& host_;
  ClosedControl control_{"poll"};
  Service<ModelCatalog> catalog_;
  Service<Repository> repository_;
  Poller poller_;
  RepositoryWatch<PollNow> watch_{host_, PollNow{poller_}};
};

}  // namespace atl::control

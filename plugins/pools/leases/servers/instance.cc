#include "pools/leases/servers/instance.h"

#include <utility>

namespace atl::pools {

void PoolInstance::launch(LauncherListener& listener) {
  begin();
  with_.launcher.launch(server_, listener);
}

/// How long it takes to be ready counts from when the launcher has found it: where the engine is away, nothing of the
/// server is known, and it may serve.
void PoolInstance::adopt(LauncherListener& listener) {
  is_adopted_ = true;
  with_.launcher.adopt(server_, listener);
}

void PoolInstance::begin() {
  give_up_ns_ = with_.now_ns() + with_.settings.start_timeout_ns;
  with_.post_after(
      with_.settings.start_timeout_ns, make_task(alive_.only_while([this] {
        if (state_ != InstanceState::kStarting) return;
        fail(make_status(Code::kDeadlineExceeded, "not ready ", with_.settings.start_timeout_ns / kNsPerMs,
                         " ms after its start: ",
                         failure_.ok() ? std::string_view("it does not run") : failure_.message()));
      })));
}

void PoolInstance::stop() {
  if (state_ == InstanceState::kDraining || state_ == InstanceState::kFailed) return;
  state_ = InstanceState::kDraining;
  with_.launcher.end(server_.id);
}

void PoolInstance::server_running(const ServerAddress& address) {
  address_ = address;
  if (state_ == InstanceState::kStarting && is_adopted_) begin();
  if (state_ == InstanceState::kStarting) look();
}

void PoolInstance::server_ended(Status reason) {
  alive_.renew();  // whatever was asked of it, nobody answers
  if (state_ != InstanceState::kDraining && state_ != InstanceState::kFailed) {
    failure_ = reason.ok() ? unavailable("it was ended by somebody else") : std::move(reason);
    state_ = InstanceState::kFailed;
    owner_.instance_failed(*this, failure_);
  }
  owner_.instance_ended(*this);
}

void PoolInstance::look() {
  with_.hosts.check_ready(address_, alive_.only_while([this](Status status) { looked(std::move(status)); }));
}

void PoolInstance::looked(Status status) {
  const PoolSettings& settings = with_.settings;
  if (state_ == InstanceState::kStarting) {
    const bool ok = status.ok();
    if (!ok) failure_ = std::move(status);
    if (!ok) return look_after(settings.ready_interval_ns);
    state_ = InstanceState::kReady;
    look_whether_closed();
    look_after(settings.health_interval_ns);
    return owner_.instance_ready(*this);
  }
  if (state_ != InstanceState::kReady) return;
  if (!status.ok()) return count(std::move(status));
  look_at_models();
}

/// One that lives may not have any more what was put on it.
void PoolInstance::look_at_models() {
  with_.hosts.find_models(server(),
                          alive_.only_while([this, asked_ns = with_.now_ns()](Result<ServedModels> models) {
                            if (state_ != InstanceState::kReady) return;
                            count(models.status().clone());
                            if (models.ok()) owner_.instance_seen(*this, *models, asked_ns);
                          }));
}

/// It serves all the same: what keeps strangers out may be a network that they do not reach.
void PoolInstance::look_whether_closed() {
  with_.hosts.check_closed(address_, alive_.only_while([this](Status status) {
    if (status.ok()) return;
    with_.log.warning("pool '", server_.pool, "': instance i", server_.instance,
                      " takes model control of anybody who reaches ", address_.http.text(),
                      server_.key.empty()
                          ? ": an earlier version of this server has started it, without a key"
                          : ": its runtime does not use its key, the place {key} of the option 'runtimes'");
  }));
}

void PoolInstance::count(Status status) {
  failures_ = status.ok() ? 0 : failures_ + 1;
  if (!status.ok()) failure_ = std::move(status);
  if (failures_ < with_.settings.health_failures) return look_after(with_.settings.health_interval_ns);
  fail(unavailable("it did not answer ", failures_, " times: ", failure_.message()));
}

void PoolInstance::look_after(int64_t delay_ns) {
  with_.post_after(delay_ns, make_task(alive_.only_while([this] { look(); })));
}

void PoolInstance::fail(Status reason) {
  alive_.renew();
  failure_ = std::move(reason);
  state_ = InstanceState::kFailed;
  with_.launcher.end(server_.id);
  owner_.instance_failed(*this, failure_);
}

}  // namespace atl::pools

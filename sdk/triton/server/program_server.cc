#include "server/program_server.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "server/startup_wait.h"

namespace atl::triton {
namespace {

constexpr std::chrono::milliseconds kPause{1};

}  // namespace

Status ProgramServer::wait_for_models(bool all) {
  const auto* startup = static_cast<const Startup*>(embedded_->service(Startup::kInterfaceId));
  auto* catalog = static_cast<ModelCatalog*>(embedded_->service(ModelCatalog::kInterfaceId));
  return wait_for_startup(*startup, *catalog, all);
}

void ProgramServer::follow_log(const LogChoices& choices) noexcept {
  const Pass pass(gate_);
  if (!pass) return;
  auto* log = static_cast<LogControl*>(embedded_->service(LogControl::kInterfaceId));
  LogSettings settings = log->settings();
  choices.apply_to(settings);
  (void)log->update(settings);
  log->send_to(choices.receiver());
}

bool ProgramServer::wait_for(const Gate& gate, std::chrono::steady_clock::time_point deadline) {
  while (gate.count() != 0) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

Status ProgramServer::stop() noexcept {
  std::lock_guard lock(stopping_);
  if (embedded_ == nullptr) return {};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(exit_timeout_s_.load());
  requests_.close();
  (void)wait_for(requests_, deadline);
  const auto left = std::chrono::nanoseconds(deadline - std::chrono::steady_clock::now());
  embedded_->end(std::max<int64_t>(0, left.count()));
  gate_.close();
  if (!wait_for(gate_, deadline)) {
    (void)embedded_.release();  // those calls are still in it
    return unavailable("Exit timeout expired: ", gate_.count(), " calls have not returned");
  }
  Status status = embedded_->release();
  embedded_.reset();
  return status;
}

}  // namespace atl::triton

#include "program_server.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "atoll/clock.h"
#include "atoll/model.h"
#include "atoll/startup.h"

namespace atl::triton {
namespace {

constexpr std::chrono::milliseconds kPause{1};
/// How often it is asked, while models load, whether the repository can be read at all.
constexpr int kPausesBetweenListings = 1000;

bool has_failed(const ModelIndexEntry& entry) { return entry.state == "UNAVAILABLE"; }

}  // namespace

Status ProgramServer::wait_for_models(bool all) {
  const auto* startup = static_cast<const Startup*>(embedded_->service(Startup::kInterfaceId));
  auto* catalog = static_cast<ModelCatalog*>(embedded_->service(ModelCatalog::kInterfaceId));
  for (int pauses = 0; !startup->complete(); ++pauses) {
    if (pauses % kPausesBetweenListings == 0) {
      if (auto index = catalog->index(false); !index.ok()) return internal_error(index.status().message());
    }
    std::this_thread::sleep_for(kPause);
  }
  if (!all) return {};
  auto index = catalog->index(false);
  if (!index.ok()) return std::move(index).status();
  std::string failed;
  for (const ModelIndexEntry& entry : *index) {
    if (has_failed(entry)) failed += cat("\n", entry.name, " ", entry.version, ": ", entry.reason);
  }
  return failed.empty() ? Status() : internal_error("failed to load all models", failed);
}

void ProgramServer::follow_log(const LogChoices& choices) noexcept {
  const Pass pass(gate_);
  if (!pass) return;
  auto* log = static_cast<LogControl*>(embedded_->service(LogControl::kInterfaceId));
  LogSettings settings = log->settings();
  choices.apply_to(settings);
  (void)log->update(settings);
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

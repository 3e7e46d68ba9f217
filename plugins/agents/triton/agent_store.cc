#include "agents/triton/agent_store.h"

namespace atl::triton {
namespace {

std::string joined(const std::vector<std::string>& directories) {
  std::string text;
  for (const std::string& directory : directories) text += cat(text.empty() ? "" : ", ", directory);
  return text;
}

}  // namespace

Result<AgentStore::Use> AgentStore::use(const std::string& name) {
  const std::string file = cat("libtritonrepoagent_", name, ".so");
  const std::string path = find_library_file(directories_, name, file);
  if (path.empty()) {
    return invalid_argument("unable to find '", file, "' for repo agent '", name,
                            "', searched: ", joined(directories_));
  }
  std::shared_ptr<Seat> seat = seat_of(path);
  std::lock_guard lock(seat->mutex);
  if (seat->agent == nullptr) {
    auto agent = ForeignAgent::create({name, path, unloads_}, log_);
    if (!agent.ok()) return std::move(agent).status();
    seat->agent = std::move(agent).value();
  }
  ++seat->users;
  return Use(std::move(seat));
}

std::shared_ptr<AgentStore::Seat> AgentStore::seat_of(const std::string& path) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<Seat>& seat = seats_[path];
  if (seat == nullptr) seat = std::make_shared<Seat>();
  return seat;
}

AgentStore::Use::~Use() {
  if (seat_ == nullptr) return;
  // Under the lock: its functions are not to be called for a new agent while they end the old one.
  std::lock_guard lock(seat_->mutex);
  if (--seat_->users == 0) seat_->agent = nullptr;
}

ForeignAgent& AgentStore::Use::operator*() const noexcept { return *seat_->agent; }

}  // namespace atl::triton

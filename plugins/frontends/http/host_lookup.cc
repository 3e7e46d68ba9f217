#include "frontends/http/host_lookup.h"

#include <netdb.h>
#include <pthread.h>

#include <string>
#include <utility>

namespace atl::frontends::http {
namespace {

Result<SocketAddress> ask_system(const HostPort& server, int flags) {
  SocketAddress address;
  const std::string reason = resolve_address(server, flags, &address);
  if (!reason.empty()) return unavailable("'", server.host, "' has no address: ", reason);
  return address;
}

}  // namespace

HostLookup::~HostLookup() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  asked_.notify_one();
  thread_.join();
}

std::optional<SocketAddress> HostLookup::read_address(const HostPort& server) {
  Result<SocketAddress> address = ask_system(server, AI_NUMERICHOST);
  return address.ok() ? std::optional(address.value()) : std::nullopt;
}

void HostLookup::find(const HostPort& server, Found found) {
  {
    const std::lock_guard lock(mutex_);
    questions_.push_back({server, std::move(found)});
  }
  if (thread_.joinable()) return asked_.notify_one();
  try {
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), "http-names");
  } catch (const std::system_error& error) {
    const std::lock_guard lock(mutex_);
    Question question = std::move(questions_.back());
    questions_.pop_back();
    question.answer = unavailable("no thread to look up '", server.host, "': ", error.what());
    answered_.push_back(std::move(question));
    if (!std::exchange(is_posted_, true)) loop_.post(*this);
  }
}

void HostLookup::run() noexcept {
  std::unique_lock lock(mutex_);
  while (true) {
    asked_.wait(lock, [this] { return is_ending_ || !questions_.empty(); });
    if (is_ending_) return;
    Question question = std::move(questions_.front());
    questions_.pop_front();
    lock.unlock();
    question.answer = ask_system(question.server, 0);
    lock.lock();
    answered_.push_back(std::move(question));
    if (!std::exchange(is_posted_, true)) loop_.post(*this);
  }
}

void HostLookup::on_posted() noexcept {
  std::vector<Question> answered;
  {
    const std::lock_guard lock(mutex_);
    is_posted_ = false;
    answered.swap(answered_);
  }
  for (const Question& question : answered) question.found(question.answer);
}

}  // namespace atl::frontends::http

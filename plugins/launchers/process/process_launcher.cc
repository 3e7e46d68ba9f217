#include "launchers/process/process_launcher.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <future>
#include <system_error>
#include <utility>

#include "atoll/core/stop_executor.h"
#include "launchers/common/server_environment.h"

namespace atl::launchers {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLookIntervalNs = 50 * kNsPerMs;
/// Of frontends that begin to listen one after the other.
constexpr int64_t kGrpcWaitNs = kNsPerSecond;

std::string join(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ",") + text;
  return all;
}

/// Sockets whose ports are free, until they are closed. Another process may be quicker then: the server fails to start,
/// and is started again with others.
class FreePorts {
 public:
  Result<uint16_t> next() {
    FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    if (!socket.valid() || ::bind(socket.get(), raw, size) != 0 ||
        ::getsockname(socket.get(), raw, &size) != 0)
      return make_status(Code::kResourceExhausted, "no port is free: ", std::strerror(errno));
    held_.push_back(std::move(socket));
    return ntohs(address.sin_port);
  }

 private:
  std::vector<FileDescriptor> held_;
};

MachineParts parts_of(const ProcessRecord& record) {
  return {record.cpu_cores, record.gpus, record.memory_bytes};
}

}  // namespace

// --- life ---

Status ProcessLauncher::start(ExecutorFactory& executors, bool is_alone) {
  ATOLL_RETURN_IF_ERROR(restore(is_alone));
  Result<SerialExecutorPtr> executor = executors.create("launcher", {});
  if (!executor.ok()) return std::move(executor).status();
  executor_ = std::move(executor).value();
  run([this] { look_soon(); });
  return {};
}

void ProcessLauncher::drain(bool server_ends) {
  run([this, ends = server_ends && settings_.end_with_server] {
    ends_ = ends;
    for (auto& [id, server] : servers_) {
      if (ends) {
        end_server(server);
      } else {
        server.pass.reset();
      }
    }
  });
}

void ProcessLauncher::stop() noexcept {
  stop_executor(executor_);
  if (ends_) {
    for (auto& [id, server] : servers_) {
      server.process.signal(SIGKILL);
      log_.warning("server ", id, " did not end in time and is killed");
    }
  }
  servers_.clear();
}

template <class Work>
void ProcessLauncher::run(Work work) {
  executor_->post(make_task(std::move(work)));
}

Pass ProcessLauncher::pass_for_server() { return settings_.end_with_server ? Pass(gate_) : Pass(); }

// --- servers of an earlier process ---

Status ProcessLauncher::restore(bool is_alone) {
  ATOLL_RETURN_IF_ERROR(settings_.make_state_directory());
  std::error_code error;
  for (fs::directory_iterator entry(settings_.state_directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string id = entry->path().filename();
    if (is_server_id(id) && entry->is_directory(error) && !restore_server(id) && is_alone) remove_rest(id);
  }
  if (error)
    return invalid_argument("option 'state_directory': ", settings_.state_directory, ": ", error.message());
  if (!servers_.empty()) log_.info("servers that run already: ", servers_.size());
  return {};
}

bool ProcessLauncher::restore_server(const std::string& id) {
  const std::string folder = cat(settings_.state_directory, "/", id);
  Result<ProcessRecord> record = ProcessRecord::read(folder + "/process");
  if (!record.ok()) {
    if (record.status().code() != Code::kNotFound)
      log_.warning("server ", id, " is not found again: ", record.status().text());
    return false;
  }
  Result<ProcessHandle> process = ProcessHandle::open(record->process.pid);
  // Asked for after it is open: it cannot become another one's number between the two.
  const Result<ProcessIdentity> found = ProcessIdentity::of(record->process.pid);
  if (!process.ok() && process.status().code() != Code::kNotFound) {
    log_.error("server ", id, " is let alone: ", process.status().text());
    return true;
  }
  if (!process.ok() || !found.ok() || found.value() != record->process) return false;
  Server& server =
      servers_.try_emplace(id, folder, std::move(record).value(), std::move(process).value()).first->second;
  if (!server.record.address.http.host.empty()) server.state = State::kRunning;
  server.pass = pass_for_server();
  book_.take(parts_of(server.record));
  return true;
}

void ProcessLauncher::remove_rest(const std::string& id) noexcept {
  groups_.remove(id);
  std::error_code ignored;
  fs::remove_all(cat(settings_.state_directory, "/", id), ignored);
}

void ProcessLauncher::adopt(const ServerSpec& server, LauncherListener& listener) noexcept {
  run([this, server, to = &listener] { adopt_server(server, *to); });
}

void ProcessLauncher::adopt_server(const ServerSpec& spec, LauncherListener& listener) {
  // The instance of this plugin that this one replaces may have started it after restore().
  if (!servers_.contains(spec.id) && is_server_id(spec.id) && !restore_server(spec.id)) remove_rest(spec.id);
  look_soon();
  const auto found = servers_.find(spec.id);
  if (found == servers_.end())
    return listener.server_ended(spec.id, not_found("there is no server ", spec.id));
  Server& server = found->second;
  server.listener = &listener;
  server.title = cat(spec.pool, "-i", spec.instance);
  if (server.state == State::kRunning) listener.server_running(spec.id, server.record.address);
}

// --- a new one ---

void ProcessLauncher::launch(const ServerSpec& server, LauncherListener& listener) noexcept {
  run([this, server, to = &listener] { start_server(server, *to); });
}

void ProcessLauncher::start_server(const ServerSpec& spec, LauncherListener& listener) {
  Status started = try_start(spec, listener);
  if (!started.ok()) listener.server_ended(spec.id, std::move(started));
}

Status ProcessLauncher::try_start(const ServerSpec& spec, LauncherListener& listener) {
  if (!is_server_id(spec.id) || servers_.contains(spec.id))
    return invalid_argument("'", spec.id, "' is no id of a new server");
  Result<MachineParts> parts = book_.take(spec);
  if (!parts.ok()) return std::move(parts).status();
  ProcessRecord record;
  record.cpu_cores = parts->cpu_cores;
  record.gpus = parts->gpus;
  record.memory_bytes = parts->memory_bytes;
  const std::string folder = cat(settings_.state_directory, "/", spec.id);
  Result<Child> child = start_child(spec, folder, record);
  Status started = child.ok() ? let_begin(spec, folder, record, std::move(child).value(), listener)
                              : std::move(child).status();
  if (started.ok()) return started;
  book_.give_back(parts.value());
  remove_rest(spec.id);
  return started;
}

Result<Child> ProcessLauncher::start_child(const ServerSpec& spec, const std::string& folder,
                                           ProcessRecord& record) {
  Result<const InstanceCommand*> runtime = settings_.runtime(spec.runtime);
  if (!runtime.ok()) return std::move(runtime).status();
  const InstanceCommand& command = **runtime;
  std::error_code error;
  fs::create_directory(folder, error);
  if (error) return unavailable("its folder cannot be made: ", error.message());
  Places places = {{"bin", programs_},  {"repository", spec.repository},  {"id", spec.id},
                   {"pool", spec.pool}, {"instance", cat(spec.instance)}, {"key", spec.key}};
  FreePorts ports;
  for (const auto& [place, address] :
       {std::pair{"http_port", &record.address.http}, std::pair{"grpc_port", &record.address.grpc}}) {
    if (!command.has_place(place)) continue;
    Result<uint16_t> port = ports.next();
    if (!port.ok()) return std::move(port).status();
    *address = {"127.0.0.1", port.value()};
    places[place] = cat(port.value());
  }
  ChildSpec child;
  child.words = command.fill(places);
  child.log = folder + "/log";
  child.cpu_cores = record.cpu_cores;
  child.environment = server_environment(spec, command, settings_.shared_memory);
  if (!record.gpus.empty()) child.environment.push_back("CUDA_VISIBLE_DEVICES=" + join(record.gpus));
  return Child::start(child);
}

/// A server begins when it is on the disk that it does, so none is ever forgotten.
Status ProcessLauncher::let_begin(const ServerSpec& spec, const std::string& folder, ProcessRecord& record,
                                  Child child, LauncherListener& listener) {
  Result<ProcessIdentity> identity = ProcessIdentity::of(child.pid());
  Status status = identity.ok() ? Status() : std::move(identity).status();
  if (status.ok()) {
    record.process = std::move(identity).value();
    status = record.write(folder + "/process");
  }
  if (status.ok() && spec.memory_bytes != 0) status = groups_.limit(spec.id, child.pid(), spec.memory_bytes);
  ATOLL_RETURN_IF_ERROR(std::move(status));
  Result<ProcessHandle> process = child.go();
  if (!process.ok()) return std::move(process).status();
  Server& server =
      servers_.try_emplace(spec.id, folder, std::move(record), std::move(process).value()).first->second;
  server.listener = &listener;
  server.title = cat(spec.pool, "-i", spec.instance);
  server.pass = pass_for_server();
  if (!server.record.address.http.host.empty()) report_running(spec.id, server);
  look_soon();
  return {};
}

void ProcessLauncher::report_running(const std::string& id, Server& server) {
  server.state = State::kRunning;
  log_.info("server ", id, " (", server.title, ") has process ", server.record.process.pid, " and ",
            server.record.address.http.text());
  if (server.listener != nullptr) server.listener->server_running(id, server.record.address);
}

// --- the end ---

void ProcessLauncher::end(std::string_view id) noexcept {
  run([this, name = std::string(id)] {
    if (const auto server = servers_.find(name); server != servers_.end()) end_server(server->second);
  });
}

void ProcessLauncher::end_server(Server& server) {
  if (std::exchange(server.state, State::kEnding) == State::kEnding) return;
  server.kill_ns = clock_.now_ns() + settings_.stop_timeout_ns;
  server.process.signal(SIGTERM);
}

void ProcessLauncher::forget(LauncherListener& listener) noexcept {
  std::promise<void> forgotten;
  run([&] {
    for (auto& [id, server] : servers_) {
      if (server.listener == &listener) server.listener = nullptr;
    }
    forgotten.set_value();
  });
  forgotten.get_future().wait();
}

void ProcessLauncher::ended(const std::string& id) {
  const auto found = servers_.find(id);
  Server& server = found->second;
  const bool is_expected = server.state == State::kEnding;
  const std::string log = server.folder + "/log", line = last_line(log),
                    how = cat("it ", server.process.reap().value_or(ProcessEnd{}).text());
  Status reason = is_expected ? Status() : unavailable(how, line.empty() ? "" : "; its log ends: ", line);
  std::error_code failed;
  if (!is_expected) {
    // For people who look for the cause; the next failure of the same instance replaces it.
    const std::string kept =
        cat(settings_.state_directory, "/", server.title.empty() ? id : server.title, ".failed.log");
    fs::rename(log, kept, failed);
    log_.warning("server ", id, " (", server.title, "): ", reason.message(),
                 failed ? std::string() : cat("; its log is ", kept));
  }
  remove_rest(id);
  book_.give_back(parts_of(server.record));
  LauncherListener* const listener = server.listener;
  servers_.erase(found);
  if (listener != nullptr) listener->server_ended(id, std::move(reason));
}

// --- what they do ---

void ProcessLauncher::look_soon() {
  if (servers_.empty() || std::exchange(looks_, true)) return;
  executor_->post_at(clock_.now_ns() + kLookIntervalNs, make_task([this] {
                       looks_ = false;
                       look();
                       look_soon();
                     }));
}

void ProcessLauncher::look() {
  std::vector<pollfd> processes;
  std::vector<std::string> ids;
  for (const auto& [id, server] : servers_) {
    processes.push_back({server.process.descriptor(), POLLIN, 0});
    ids.push_back(id);
  }
  if (::poll(processes.data(), processes.size(), 0) < 0) return;  // interrupted; the next look is soon
  for (size_t i = 0; i < ids.size(); ++i) {
    if (processes[i].revents != 0) {
      ended(ids[i]);
    } else {
      look_at(ids[i], servers_.find(ids[i])->second);
    }
  }
}

void ProcessLauncher::look_at(const std::string& id, Server& server) {
  const int64_t now_ns = clock_.now_ns();
  if (server.kill_ns <= now_ns) {
    log_.warning("server ", id, " (", server.title, ") did not end in ", settings_.stop_timeout_ns / kNsPerMs,
                 " ms and is killed");
    server.process.signal(SIGKILL);
    server.kill_ns = INT64_MAX;
  }
  limit_log(server.folder + "/log", settings_.log_bytes_max);
  if (server.state == State::kStarting) {
    const bool knows_both = server.finder.look();
    const ServerAddress& found = server.finder.address();
    if (found.http.host.empty()) return;
    server.no_grpc_ns = std::min(server.no_grpc_ns, now_ns + kGrpcWaitNs);
    if (!knows_both && now_ns < server.no_grpc_ns) return;
    server.record.address = found;
    // Not recorded, it is found in the log again, as long as that has not begun anew.
    if (Status status = server.record.write(server.folder + "/process"); !status.ok())
      log_.warning("server ", id, ": its address is not recorded: ", status.text());
    report_running(id, server);
  }
}

}  // namespace atl::launchers

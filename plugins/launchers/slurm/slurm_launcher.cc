#include "launchers/slurm/slurm_launcher.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "atoll/core/stop_executor.h"
#include "launchers/common/server_environment.h"
#include "launchers/slurm/command.h"

namespace atl::launchers {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kGrpcWaitNs = kNsPerSecond;
constexpr uint64_t kMiB = uint64_t{1} << 20;

}  // namespace

// --- life ---

Status SlurmLauncher::start(ExecutorFactory& executors) {
  ATOLL_RETURN_IF_ERROR(settings_.make_state_directory());
  Result<SerialExecutorPtr> executor = executors.create("launcher", {});
  if (!executor.ok()) return std::move(executor).status();
  executor_ = std::move(executor).value();
  return {};
}

void SlurmLauncher::stop() noexcept { stop_executor(executor_); }

template <class Work>
void SlurmLauncher::run(Work work) {
  executor_->post(make_task(std::move(work)));
}

template <class Call>
void SlurmLauncher::notify(const std::string& id, Call call) {
  const std::scoped_lock lock(mutex_);
  if (const auto listener = listeners_.find(id); listener != listeners_.end()) call(*listener->second);
}

void SlurmLauncher::forget(LauncherListener& listener) noexcept {
  const std::scoped_lock lock(mutex_);
  std::erase_if(listeners_, [&](const auto& one) { return one.second == &listener; });
}

void SlurmLauncher::note_engine(const Status& status) {
  if (std::exchange(is_away_, !status.ok()) == !status.ok()) return;
  if (status.ok()) {
    log_.info("Slurm answers again");
  } else {
    log_.warning(status.message(), "; servers are left as they are until it answers");
  }
}

// --- what is asked ---

void SlurmLauncher::launch(const ServerSpec& server, LauncherListener& listener) noexcept {
  take(server, listener, false);
}

void SlurmLauncher::adopt(const ServerSpec& server, LauncherListener& listener) noexcept {
  take(server, listener, true);
}

void SlurmLauncher::take(const ServerSpec& spec, LauncherListener& listener, bool adopted) {
  {
    const std::scoped_lock lock(mutex_);
    listeners_.insert_or_assign(spec.id, &listener);
  }
  run([this, spec, adopted] {
    const auto [server, is_new] =
        servers_.try_emplace(spec.id, spec, cat(settings_.state_directory, "/", spec.id));
    if (!is_new) {
      // Somebody else listened to it before: the next look tells the new one where it is.
      server->second.is_running = false;
      return look_again(clock_.now_ns());
    }
    server->second.is_adopted = adopted;
    server->second.waits_since_ns = clock_.now_ns();
    if (Status status =
            is_server_id(spec.id) ? Status() : invalid_argument("'", spec.id, "' is no id of a server");
        !status.ok())
      return ended(server, std::move(status));
    if (adopted) return look_again(clock_.now_ns());
    if (Status status = submit(server->second); !status.ok() && status.code() != Code::kUnavailable)
      return ended(server, std::move(status));
    look_again(clock_.now_ns());
  });
}

std::vector<std::string> SlurmLauncher::sbatch_words(const Server& server) const {
  const ServerSpec& spec = server.spec;
  std::vector<std::string> words = {"sbatch",
                                    "--parsable",
                                    "--job-name=" + job_name(spec.id),
                                    "--nodes=1",
                                    "--ntasks=1",
                                    "--no-requeue",
                                    "--export=ALL",
                                    cat("--output=", server.folder, "/log"),
                                    "--open-mode=append",
                                    "--chdir=" + settings_.state_directory};
  if (spec.cpus != 0) words.push_back(cat("--cpus-per-task=", spec.cpus));
  if (spec.gpus != 0) words.push_back(cat("--gres=gpu:", spec.gpus));
  if (spec.memory_bytes != 0) words.push_back(cat("--mem=", (spec.memory_bytes + kMiB - 1) / kMiB, "M"));
  words.insert(words.end(), settings_.sbatch_options.begin(), settings_.sbatch_options.end());
  return words;
}

/// Errors: UNAVAILABLE Slurm is away, and it is tried again.
Status SlurmLauncher::submit(Server& server) {
  const ServerSpec& spec = server.spec;
  Result<const InstanceCommand*> runtime = settings_.runtime(spec.runtime);
  if (!runtime.ok()) return std::move(runtime).status();
  const InstanceCommand& command = **runtime;
  std::error_code error;
  fs::create_directories(server.folder, error);
  if (error) return unavailable("its folder cannot be made: ", error.message());
  const std::vector<std::string> words = command.fill({{"bin", programs_},
                                                       {"repository", spec.repository},
                                                       {"host", std::string(kHostPlace)},
                                                       {"id", spec.id},
                                                       {"pool", spec.pool},
                                                       {"instance", cat(spec.instance)},
                                                       {"key", std::string(kKeyPlace)}});
  std::vector<std::string> environment = server_environment(spec, command, settings_.shared_memory);
  if (command.has_place("key")) environment.push_back(cat(kKeyVariable, "=", spec.key));
  Result<CommandOutput> output =
      run_command(sbatch_words(server), job_script(words, settings_.on_node_address), environment,
                  settings_.command_timeout_ns);
  Status status = !output.ok()          ? std::move(output).status()
                  : output->status != 0 ? refused_because(output->errors)
                                        : Status();
  if (status.ok() || status.code() == Code::kUnavailable) note_engine(status);
  // Of a call that failed on its way the job may be there: it is looked for by its name before there is another one.
  server.is_submitted = status.ok();
  return status;
}

void SlurmLauncher::end(std::string_view id) noexcept {
  run([this, name = std::string(id)] {
    const auto found = servers_.find(name);
    if (found == servers_.end()) return;
    found->second.is_ending = true;
    cancel(found->second);
    look_again(clock_.now_ns());
  });
}

/// By its name, so that one is met too whose number nobody has heard of. Not heard by Slurm, it is said again at the next look.
void SlurmLauncher::cancel(const Server& server) {
  const Result<CommandOutput> output =
      run_command({"scancel", "--name=" + job_name(server.spec.id)}, {}, {}, settings_.command_timeout_ns);
  if (!output.ok()) note_engine(output.status());
}

// --- what becomes of them ---

void SlurmLauncher::look_again(int64_t time_ns) {
  (void)executor_->cancel(look_timer_);
  look_timer_ = executor_->post_at(time_ns, make_task([this] { look(); }));
}

void SlurmLauncher::look() {
  if (servers_.empty()) return;
  Result<CommandOutput> output =
      run_command({"squeue", "--me", "--states=all", "--noheader", cat("--format=", kQueueFormat)}, {}, {},
                  settings_.command_timeout_ns);
  const Status status = !output.ok()          ? output.status().clone()
                        : output->status != 0 ? unavailable("Slurm does not answer: ", output->errors)
                                              : Status();
  note_engine(status);
  if (status.ok()) {
    const auto jobs = read_queue(output->output);
    for (auto server = servers_.begin(); server != servers_.end();) {
      const auto job = jobs.find(job_name(server->first));
      look_at(server++, job == jobs.end() ? nullptr : &job->second);
    }
  }
  look_again(clock_.now_ns() + settings_.poll_interval_ns);
}

/// \param job  null: Slurm has none, or does not know it any more
void SlurmLauncher::look_at(Servers::iterator found, const Job* job) {
  Server& server = found->second;
  if (job == nullptr) {
    if (server.is_ending) return ended(found, server.ending_because.clone());
    if (server.is_adopted) return ended(found, not_found("Slurm has no job ", job_name(found->first)));
    if (server.is_submitted || server.is_running)
      return ended(found, unavailable("Slurm does not know its job any more"));
    // It never got there.
    if (Status status = submit(server); !status.ok() && status.code() != Code::kUnavailable)
      ended(found, std::move(status));
    return;
  }
  if (job->phase == JobPhase::kEnded) {
    const bool is_old = server.is_adopted && !server.is_running;
    return ended(found, server.is_ending ? server.ending_because.clone()
                        : is_old         ? not_found("its job ", job->id, " has ended (", job->state, ")")
                                         : ended_because(*job, last_line(server.folder + "/log")));
  }
  limit_log(server.folder + "/log", settings_.log_bytes_max);
  if (server.is_ending) return cancel(server);
  if (job->phase == JobPhase::kRunning) return look_for_address(server);
  const int64_t waits_ns = clock_.now_ns() - server.waits_since_ns;
  if (job->phase != JobPhase::kWaiting || settings_.queue_timeout_ns == 0 ||
      waits_ns < settings_.queue_timeout_ns)
    return;
  server.is_ending = true;
  server.ending_because = make_status(Code::kResourceExhausted, "its job ", job->id, " has waited for ",
                                      waits_ns / kNsPerMs, " ms in Slurm's queue: ", job->why);
  cancel(server);
}

void SlurmLauncher::look_for_address(Server& server) {
  if (server.is_running) return;
  const bool knows_both = server.finder.look();
  const ServerAddress& address = server.finder.address();
  if (address.http.host.empty()) return;
  server.no_grpc_ns = std::min(server.no_grpc_ns, clock_.now_ns() + kGrpcWaitNs);
  if (!knows_both && clock_.now_ns() < server.no_grpc_ns) return;
  server.is_running = true;
  log_.info("server ", server.spec.id, " (", server.spec.pool, "-i", server.spec.instance, ") has ",
            address.http.text());
  notify(server.spec.id,
         [&](LauncherListener& listener) { listener.server_running(server.spec.id, address); });
}

void SlurmLauncher::ended(Servers::iterator found, Status reason) {
  const std::string id = found->first;
  const Server& server = found->second;
  std::error_code ignored, failed;
  if (!reason.ok() && reason.code() != Code::kNotFound) {
    const std::string kept =
        cat(settings_.state_directory, "/", server.spec.pool, "-i", server.spec.instance, ".failed.log");
    fs::rename(server.folder + "/log", kept, failed);
    log_.warning("server ", id, " (", server.spec.pool, "-i", server.spec.instance, "): ", reason.message(),
                 failed ? std::string() : cat("; its log is ", kept));
  }
  if (is_server_id(id)) fs::remove_all(server.folder, ignored);
  servers_.erase(found);
  notify(id, [&](LauncherListener& listener) { listener.server_ended(id, std::move(reason)); });
  const std::scoped_lock lock(mutex_);
  listeners_.erase(id);
}

}  // namespace atl::launchers

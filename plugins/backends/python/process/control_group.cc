#include "backends/python/process/control_group.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "atoll/core/file_descriptor.h"
#include "atoll/core/text.h"
#include "backends/python/process/worker_process.h"

namespace atl::python {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "atoll-";
/// cpu.max: this many microseconds of each so many.
constexpr uint64_t kCpuPeriodUs = 100'000;

/// Into a file that is there: the kernel makes them.
Status write_file(const std::string& path, std::string_view text) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.valid() && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()))
    return {};
  return unavailable("'", path, "': ", std::strerror(errno));
}

bool is_number(std::string_view text, uint64_t& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end;
}

/// "atoll-<server's process>-<n>"
std::string next_name() {
  static std::atomic<uint64_t> count{0};
  return cat(kPrefix, ::getpid(), "-", ++count);
}

void remove_leftovers(const std::string& folder) {
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const std::string_view rest = std::string_view(name).substr(kPrefix.size());
    uint64_t server = 0;
    if (!is_number(rest.substr(0, rest.find('-')), server)) continue;
    if (::kill(static_cast<pid_t>(server), 0) != 0 && errno == ESRCH) (void)::rmdir(entry->path().c_str());
  }
}

template <class Use>
void for_each_process(const std::string& group, Use&& use) {
  std::ifstream file(group + "/cgroup.procs");
  for (pid_t pid = 0; file >> pid;) use(pid);
}

}  // namespace

GroupFolder GroupFolder::open(const std::string& path, std::string& why) {
  GroupFolder folder;
  remove_leftovers(path);
  // Which of them are to be had is seen below.
  for (const char* controller : {"+memory", "+pids", "+cpu"})
    (void)write_file(path + "/cgroup.subtree_control", controller).ok();
  const std::string probe = cat(path, "/", next_name());
  if (::mkdir(probe.c_str(), 0755) != 0) {
    why = cat("no group can be made in '", path, "': ", std::strerror(errno));
    return folder;
  }
  const auto can_bound = [&](const char* file) {
    Status written = write_file(cat(probe, "/", file), "max");
    if (!written.ok()) why += cat(why.empty() ? "" : ", ", written.message());
    return written.ok();
  };
  folder.memory = can_bound("memory.max");
  folder.processes = can_bound("pids.max");
  folder.cpu = can_bound("cpu.max");
  if (folder.memory || folder.processes || folder.cpu) folder.path = path;
  (void)::rmdir(probe.c_str());
  return folder;
}

Result<ControlGroup> ControlGroup::create(const GroupFolder& folder, const ProcessLimits& limits) {
  const std::string path = cat(folder.path, "/", next_name());
  if (::mkdir(path.c_str(), 0755) != 0) return unavailable("no group '", path, "': ", std::strerror(errno));
  ControlGroup group(path);
  if (folder.memory && limits.memory_bytes != 0) {
    ATOLL_RETURN_IF_ERROR(write_file(path + "/memory.max", cat(limits.memory_bytes)));
    // Both are refinements: no way around by swapping, and nothing is left half alive.
    (void)write_file(path + "/memory.swap.max", "0").ok();
    (void)write_file(path + "/memory.oom.group", "1").ok();
  }
  if (folder.processes && limits.processes != 0) {
    ATOLL_RETURN_IF_ERROR(write_file(path + "/pids.max", cat(limits.processes)));
  }
  if (folder.cpu && !limits.cpu_cores.empty()) {
    ATOLL_RETURN_IF_ERROR(
        write_file(path + "/cpu.max", cat(limits.cpu_cores.size() * kCpuPeriodUs, " ", kCpuPeriodUs)));
  }
  return group;
}

ControlGroup::ControlGroup(ControlGroup&& other) noexcept : path_(std::exchange(other.path_, {})) {}

ControlGroup& ControlGroup::operator=(ControlGroup&& other) noexcept {
  if (this == &other) return *this;
  remove();
  path_ = std::exchange(other.path_, {});
  return *this;
}

Status ControlGroup::add(pid_t pid) const { return write_file(path_ + "/cgroup.procs", cat(pid)); }

void ControlGroup::kill_all() const noexcept {
  if (!is_there() || write_file(path_ + "/cgroup.kill", "1").ok()) return;
  for_each_process(path_, [](pid_t pid) { (void)::kill(pid, SIGKILL); });
}

/// What was killed takes a moment to be gone.
void ControlGroup::remove() noexcept {
  constexpr int kTries = 100;
  constexpr timespec kPause = {0, 1'000'000};
  if (!is_there()) return;
  for (int i = 0; i < kTries && ::rmdir(path_.c_str()) != 0 && errno == EBUSY; ++i) {
    kill_all();
    (void)::nanosleep(&kPause, nullptr);
  }
  path_.clear();
}

uint64_t tasks_of_group(pid_t group) noexcept {
  uint64_t tasks = 0;
  std::error_code failed;
  for (fs::directory_iterator entry("/proc", failed), end; !failed && entry != end; entry.increment(failed)) {
    uint64_t pid = 0;
    if (!is_number(entry->path().filename().native(), pid)) continue;
    std::ifstream file(entry->path() / "stat");
    std::string line;
    if (!std::getline(file, line)) continue;  // it has ended
    // After the name, which may contain anything: state, parent, group, session, .. and the number of threads is the 18th.
    const size_t name_end = line.rfind(')');
    pid_t of = 0;
    unsigned long threads = 0;
    if (name_end == std::string::npos) continue;
    const int found =
        std::sscanf(line.c_str() + name_end + 1,
                    " %*c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %lu", &of, &threads);
    if (found == 2 && of == group) tasks += threads;
  }
  return tasks;
}

}  // namespace atl::python

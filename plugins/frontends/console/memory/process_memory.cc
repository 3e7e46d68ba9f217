#include "frontends/console/memory/process_memory.h"

#include <dirent.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string_view>

#include "atoll/core/text.h"

namespace atl::frontends::console {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Of a line "RssAnon:     123 kB", in bytes.
uint64_t line_bytes(const std::string& status, std::string_view name) {
  std::istringstream lines(status);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') continue;
    uint64_t kilobytes = 0;
    std::istringstream(line.substr(name.size() + 1)) >> kilobytes;
    return kilobytes * 1024;
  }
  return 0;
}

struct CloseFolder {
  void operator()(DIR* folder) const noexcept { closedir(folder); }
};

/// Each thread has a list of the processes that it has started.
std::vector<int64_t> children_of(int64_t pid) {
  std::vector<int64_t> found;
  const std::string tasks = cat("/proc/", pid, "/task/");
  const std::unique_ptr<DIR, CloseFolder> folder(opendir(tasks.c_str()));
  if (folder == nullptr) return found;  // it has just ended
  while (const dirent* task = readdir(folder.get())) {
    std::ifstream children(cat(tasks, task->d_name, "/children"));
    for (int64_t child = 0; children >> child;) found.push_back(child);
  }
  return found;
}

ChildProcess described(int64_t pid) {
  ChildProcess child{pid, text_of(cat("/proc/", pid, "/comm")), 0};
  if (child.name.ends_with('\n')) child.name.pop_back();
  uint64_t all = 0, resident = 0;
  std::ifstream(cat("/proc/", pid, "/statm")) >> all >> resident;
  child.resident_bytes = resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return child;
}

}  // namespace

ProcessMemory process_memory_of(const std::string& status) {
  ProcessMemory memory;
  memory.anonymous = line_bytes(status, "RssAnon");
  memory.file = line_bytes(status, "RssFile");
  memory.shared = line_bytes(status, "RssShmem");
  memory.resident = memory.anonymous + memory.file + memory.shared;
  return memory;
}

ProcessMemory process_memory() { return process_memory_of(text_of("/proc/self/status")); }

std::vector<ChildProcess> child_processes(size_t most) {
  std::vector<ChildProcess> found;
  std::vector<int64_t> open = children_of(getpid());
  while (!open.empty() && found.size() < most) {
    const int64_t pid = open.back();
    open.pop_back();
    found.push_back(described(pid));
    // A process that ends meanwhile may give its number to another, so nothing is followed for ever.
    for (const int64_t child : children_of(pid)) {
      if (open.size() < most) open.push_back(child);
    }
  }
  return found;
}

}  // namespace atl::frontends::console

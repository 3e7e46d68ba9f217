#include "launchers/process/settings.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "atoll/core/file_check.h"
#include "atoll/lib/cpu_list.h"

namespace atl::launchers {
namespace {

/// Runs of Triton's program of this name too, whose ports it prints the same way.
constexpr std::string_view kAtoll =
    "{bin}/tritonserver --model-repository={repository} --model-control-mode=explicit "
    "--http-address=127.0.0.1 --http-port=0 --grpc-address=127.0.0.1 --grpc-port=0 --allow-metrics=false";

constexpr std::string_view kPlaces[] = {"bin",      "repository", "id",        "pool",
                                        "instance", "http_port",  "grpc_port", "key"};

std::vector<uint32_t> own_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<uint32_t> cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (uint32_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

Status read_machine(const Options& options, MachineParts& machine) {
  machine.cpu_cores = own_cores();
  if (const std::string& text = options.get_string("cpu_cores"); !text.empty()) {
    std::optional<std::vector<uint32_t>> cores = parse_cpu_list(text);
    if (!cores) return invalid_argument("option 'cpu_cores' is '", text, "', expected cores such as 2-15,18");
    for (uint32_t core : *cores) {
      if (!std::ranges::binary_search(machine.cpu_cores, core))
        return invalid_argument("option 'cpu_cores': core ", core, " is none that this process may use");
    }
    machine.cpu_cores = std::move(*cores);
  }
  std::set<std::string> gpus;
  for (const std::string& gpu : options.get_strings("gpus")) {
    const auto is_odd = [](unsigned char c) { return c <= ' ' || c == ',' || c >= 0x7f; };
    if (gpu.empty() || std::ranges::any_of(gpu, is_odd) || !gpus.insert(gpu).second)
      return invalid_argument("option 'gpus': '", gpu, "': expected numbers or UUIDs of GPUs, each once");
  }
  machine.gpus.assign(gpus.begin(), gpus.end());
  machine.memory_bytes = options.get_bytes("memory");
  if (machine.memory_bytes == 0)
    machine.memory_bytes =
        static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return {};
}

}  // namespace

void ProcessSettings::check(OptionCheck& check) {
  const Options& options = check.options();
  check_common(check, kPlaces);
  MachineParts machine;
  check.passes({}, read_machine(options, machine));
  check.whole(read(options));
}

Result<ProcessSettings> ProcessSettings::read(const Options& options) {
  ProcessSettings settings;
  ATOLL_RETURN_IF_ERROR(settings.read_common(options, kAtoll, kPlaces));
  ATOLL_RETURN_IF_ERROR(read_machine(options, settings.machine));
  settings.cgroup = options.get_string("cgroup");
  if (std::error_code error;
      !settings.cgroup.empty() && !std::filesystem::is_directory(settings.cgroup, error))
    return invalid_argument("option 'cgroup' is '", settings.cgroup,
                            "', expected the folder of a control group");
  settings.stop_timeout_ns = options.get_duration_ns("stop_timeout");
  settings.end_with_server = options.get_bool("end_with_server");
  return settings;
}

}  // namespace atl::launchers

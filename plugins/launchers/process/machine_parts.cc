#include "launchers/process/machine_parts.h"

#include <string_view>

namespace atl::launchers {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

Status check_room(std::string_view what, uint64_t asked, uint64_t free, uint64_t all) {
  if (asked <= free) return {};
  if (asked > all)
    return invalid_argument("it asks for ", asked, " ", what, ", and all servers together may have ", all);
  return make_status(Code::kResourceExhausted, "it asks for ", asked, " ", what, ", and ", free, " of ", all,
                     " are free");
}

template <class Users>
uint64_t count_free(const Users& users) {
  uint64_t free = 0;
  for (const auto& [part, count] : users) free += count == 0 ? 1u : 0u;
  return free;
}

/// \tparam by  1 or -1
template <int by, class Users, class Parts>
void count_users(Users& users, const Parts& parts) {
  for (const auto& part : parts) {
    // Of a server that was started when others were allowed; they are not handed out.
    const auto found = users.find(part);
    if (found != users.end()) found->second += static_cast<uint32_t>(by);
  }
}

template <class Users, class Parts>
void choose(const Users& users, uint32_t count, Parts& parts) {
  for (const auto& [part, used] : users) {
    if (parts.size() == count) return;
    if (used == 0) parts.push_back(part);
  }
}

}  // namespace

MachineBook::MachineBook(const MachineParts& all) : memory_bytes_(all.memory_bytes) {
  for (uint32_t core : all.cpu_cores) cores_[core] = 0;
  for (const std::string& gpu : all.gpus) gpus_[gpu] = 0;
}

Result<MachineParts> MachineBook::take(const ServerSpec& server) {
  const uint64_t free_bytes = taken_bytes_ < memory_bytes_ ? memory_bytes_ - taken_bytes_ : 0;
  ATOLL_RETURN_IF_ERROR(check_room("CPU cores", server.cpus, count_free(cores_), cores_.size()));
  ATOLL_RETURN_IF_ERROR(check_room("GPUs", server.gpus, count_free(gpus_), gpus_.size()));
  // Rounded against the server, so that the text is not "4 MiB, and 4 are free".
  ATOLL_RETURN_IF_ERROR(check_room("MiB of memory", (server.memory_bytes + kMiB - 1) / kMiB,
                                   free_bytes / kMiB, memory_bytes_ / kMiB));
  MachineParts parts;
  choose(cores_, server.cpus, parts.cpu_cores);
  choose(gpus_, server.gpus, parts.gpus);
  parts.memory_bytes = server.memory_bytes;
  take(parts);
  return parts;
}

void MachineBook::take(const MachineParts& parts) {
  count_users<1>(cores_, parts.cpu_cores);
  count_users<1>(gpus_, parts.gpus);
  taken_bytes_ += parts.memory_bytes;
}

void MachineBook::give_back(const MachineParts& parts) {
  count_users<-1>(cores_, parts.cpu_cores);
  count_users<-1>(gpus_, parts.gpus);
  taken_bytes_ -= parts.memory_bytes;
}

}  // namespace atl::launchers

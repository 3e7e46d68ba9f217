/// Jobs as Slurm's programs speak of them. Pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/core/status.h"
#include "atoll/pools/launcher.h"

namespace atl::launchers {

enum class JobPhase : uint8_t {
  kWaiting,  ///< for nodes
  kRunning,
  kEnding,  ///< it may still run
  kEnded
};

struct Job {
  std::string id;  ///< Slurm's number of it
  JobPhase phase = JobPhase::kWaiting;
  std::string state;  ///< "RUNNING"
  std::string why;    ///< it waits, or has ended: "Resources"
  std::string nodes;  ///< "n0"
};

/// What squeue prints for kQueueFormat. \returns by name; of several jobs of a name the one that has not ended, else the newest.
/// Lines that are none are left out.
std::map<std::string, Job, std::less<>> read_queue(std::string_view text);
inline constexpr const char* kQueueFormat = "%i|%j|%T|%r|%N";

/// Name of the job of a server: "atoll-<id>".
std::string job_name(std::string_view id);

/// Why a server has ended with its job: a lost node and a preempted job are told apart from one that ended by itself.
/// \param line  the last one of its log
Status ended_because(const Job& job, std::string_view line);
/// What sbatch said: INVALID_ARGUMENT it can never run, UNAVAILABLE Slurm is not there, RESOURCE_EXHAUSTED it may not now.
Status refused_because(std::string_view text);

/// A script for sbatch that becomes the server. \param words  in which {host} has been replaced by kHostPlace, and {key} by kKeyPlace:
/// the key is in the job's environment, and not in its script
/// \param on_node_address  the server listens on its node's address, else on the loopback
std::string job_script(const std::vector<std::string>& words, bool on_node_address);
inline constexpr std::string_view kHostPlace = "\x01", kKeyPlace = "\x02";
inline constexpr std::string_view kKeyVariable = "ATOLL_SERVER_KEY";

}  // namespace atl::launchers

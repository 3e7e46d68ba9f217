#include "launchers/slurm/slurm_jobs.h"

#include <array>
#include <set>

namespace atl::launchers {
namespace {

JobPhase phase_of(std::string_view state) {
  static const std::set<std::string_view> kWaitingStates = {
      "PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT"};
  static const std::set<std::string_view> kRunningStates = {"RUNNING", "SUSPENDED", "STOPPED", "RESIZING"};
  static const std::set<std::string_view> kEndingStates = {"COMPLETING", "SIGNALING", "STAGE_OUT"};
  if (kWaitingStates.contains(state)) return JobPhase::kWaiting;
  if (kRunningStates.contains(state)) return JobPhase::kRunning;
  return kEndingStates.contains(state) ? JobPhase::kEnding : JobPhase::kEnded;
}

/// Names of jobs have no '|': they are ours.
std::optional<std::array<std::string_view, 5>> split(std::string_view line) {
  std::array<std::string_view, 5> fields;
  for (size_t i = 0; i < fields.size(); ++i) {
    const size_t end = i + 1 == fields.size() ? line.size() : line.find('|');
    if (end == std::string_view::npos) return std::nullopt;
    fields[i] = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return fields;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// For a shell.
std::string shell_word(std::string_view word) {
  std::string text = "'";
  for (char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else if (c == kHostPlace[0]) {
      text += "'\"$host\"'";
    } else if (c == kKeyPlace[0]) {
      text += cat("'\"$", kKeyVariable, "\"'");
    } else {
      text += c;
    }
  }
  return text + "'";
}

}  // namespace

std::map<std::string, Job, std::less<>> read_queue(std::string_view text) {
  std::map<std::string, Job, std::less<>> jobs;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const auto fields = split(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!fields || !is_number((*fields)[0])) continue;
    Job job{std::string((*fields)[0]), phase_of((*fields)[2]), std::string((*fields)[2]),
            std::string((*fields)[3]), std::string((*fields)[4])};
    const auto [found, is_new] = jobs.try_emplace(std::string((*fields)[1]), job);
    const auto newer = [](const Job& a, const Job& b) {
      return a.id.size() != b.id.size() ? a.id.size() > b.id.size() : a.id > b.id;
    };
    const Job& other = found->second;
    const bool lives = job.phase != JobPhase::kEnded, other_lives = other.phase != JobPhase::kEnded;
    if (!is_new && (lives != other_lives ? lives : newer(job, other))) found->second = std::move(job);
  }
  return jobs;
}

std::string job_name(std::string_view id) { return cat("atoll-", id); }

Status ended_because(const Job& job, std::string_view line) {
  const std::string log = line.empty() ? std::string() : cat(": ", line);
  const std::string nodes = job.nodes.empty() ? "its node" : cat("node ", job.nodes);
  if (job.state == "NODE_FAIL" || job.state == "BOOT_FAIL")
    return unavailable("Slurm has lost ", nodes, " (job ", job.id, ": ", job.state, ")");
  if (job.state == "PREEMPTED")
    return unavailable("its job ", job.id, " was preempted by another one on ", nodes);
  if (job.state == "OUT_OF_MEMORY")
    return unavailable("its job ", job.id, " took more memory than it has on ", nodes, log);
  if (job.state == "TIMEOUT" || job.state == "DEADLINE")
    return unavailable("its job ", job.id, " has reached its time limit (", job.state, ")");
  if (job.state == "CANCELLED") return unavailable("its job ", job.id, " was cancelled by somebody else");
  return unavailable("its job ", job.id, " has ended on ", nodes, " (", job.state, ")", log);
}

Status refused_because(std::string_view text) {
  const auto says = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (says("Unable to contact slurm controller") || says("Connection refused") || says("timed out") ||
      says("Could not establish a configuration source") || says("Socket timed out"))
    return unavailable("Slurm does not answer: ", text);
  if (says("Requested node configuration is not available") ||
      says("CPU count per node cannot be satisfied") || says("Memory specification cannot be satisfied") ||
      says("Invalid generic resource") || says("invalid partition") || says("Invalid account") ||
      says("unrecognized option") || says("Invalid"))
    return invalid_argument("Slurm refuses its job: ", text);
  return make_status(Code::kResourceExhausted, "Slurm refuses its job: ", text);
}

std::string job_script(const std::vector<std::string>& words, bool on_node_address) {
  // Interfaces' addresses, of which the first is the one that has the node's routes.
  std::string script =
      cat("#!/bin/sh\nhost=", on_node_address ? "$(hostname -I)\nhost=${host%% *}" : "127.0.0.1", "\nexec");
  for (const std::string& word : words) script += " " + shell_word(word);
  return script + "\n";
}

}  // namespace atl::launchers

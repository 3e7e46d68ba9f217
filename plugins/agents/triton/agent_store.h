/// The agents that models use.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "agents/triton/foreign_agent.h"
#include "atoll/core/log.h"

namespace atl::triton {

/// One agent for each library, made for the first model that asks for it and gone with the last one. Begins and ends of
/// one library follow each other; other libraries' go on meanwhile. Outlives all uses. [worker]
class AgentStore {
  struct Seat;

 public:
  /// \param directories  each with a folder for every agent \param unloads  as ForeignAgent::Identity has it
  AgentStore(std::vector<std::string> directories, bool unloads, Log& log)
      : directories_(std::move(directories)), unloads_(unloads), log_(log) {}
  AgentStore(const AgentStore&) = delete;
  AgentStore& operator=(const AgentStore&) = delete;

  /// One model's use of an agent. Move-only.
  class Use {
   public:
    explicit Use(std::shared_ptr<Seat> seat) noexcept : seat_(std::move(seat)) {}
    Use(Use&&) noexcept = default;
    Use& operator=(Use&&) = delete;
    ~Use();
    ForeignAgent& operator*() const noexcept;
    ForeignAgent* operator->() const noexcept { return &**this; }

   private:
    std::shared_ptr<Seat> seat_;
  };

  /// Errors: INVALID_ARGUMENT "unable to find '<lib>' for repo agent '<name>', searched: <directories>"; those of
  /// ForeignAgent::create().
  Result<Use> use(const std::string& name);

 private:
  struct Seat {
    std::mutex mutex;
    uint64_t users = 0;
    std::unique_ptr<ForeignAgent> agent;  ///< null: nobody uses it
  };
  std::shared_ptr<Seat> seat_of(const std::string& path);

  const std::vector<std::string> directories_;
  const bool unloads_;
  Log& log_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Seat>> seats_;  ///< by path
};

}  // namespace atl::triton

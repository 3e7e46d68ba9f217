/// Who executes on one device: requests are taken or refused, executions are admitted.
#pragma once

#include <cstdint>
#include <vector>

#include "admission/deadlines/backlog.h"
#include "admission/deadlines/front_index.h"
#include "admission/deadlines/line.h"
#include "admission/deadlines/plan.h"
#include "atoll/core/intrusive_list.h"
#include "atoll/request/execution_admission.h"

namespace atl::deadlines {

/// One instance that executes.
struct Runner {
  enum class State : uint8_t { kIdle, kWaiting, kAdmitted };

  explicit Runner(Line& its_line) : line(&its_line) {}
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  Line* const line;
  State state = State::kIdle;
  bool is_forming = false;  ///< it is admitted, and its batch is made next
  bool was_alone = true;    ///< since its execution began
  uint32_t size = 0;        ///< of the batch that is executed; 0: it has not begun, or nobody says
  int64_t asked_ns = 0;     ///< since when it waits
  double work_ns = 0;       ///< that the execution is expected to take, were it alone
  double done_ns = 0;       ///< of it, as far as is known
  int64_t deadline_ns = kNever;
  Runner* next_admitted = nullptr;  ///< in an AdmittedList
};

using AdmittedList = IntrusiveList<Runner, &Runner::next_admitted>;

/// What becomes of a request.
struct OfferOutcome {
  bool is_taken = true;
  /// If not: how long until the device has done what it has.
  int64_t busy_ns = 0;
};

/// Without lock, thread or clock: its owner guards it and says what time it is, which never goes backwards. What
/// it admits it appends to `admitted`.
class Device {
 public:
  explicit Device(PlanRules rules) : rules_(rules), plan_(rules, fronts_), backlog_(rules.parallel) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  void add(Runner& runner) noexcept { ++runner.line->instances; }
  /// It neither waits nor executes afterwards.
  void remove(Runner& runner, int64_t now_ns, AdmittedList& admitted) noexcept;

  /// A request that is not in its line yet. It is taken if it, and whoever was taken before, will be in time.
  OfferOutcome offer(Line& line, const QueuedRequest& newcomer, int64_t now_ns);
  /// It is in the line now, and others may have to hurry.
  void arrived(Line& line, const QueuedRequest& waiting, int64_t now_ns, AdmittedList& admitted);
  /// Requests left without being executed. \param weight  that still waits
  void left(Line& line, uint64_t weight) noexcept;

  // --- as AdmittedInstance has them ---
  void ask(Runner& runner, bool insists, int64_t now_ns, AdmittedList& admitted);
  void ask_again(Runner& runner, bool insists, int64_t now_ns, AdmittedList& admitted);
  void end(Runner& runner, bool executed, int64_t now_ns, AdmittedList& admitted);
  void withdraw(Runner& runner) noexcept;
  void insist(Runner& runner, int64_t now_ns, AdmittedList& admitted);
  ExecutionGrant grant(Runner& runner, int64_t now_ns);
  void begins(Runner& runner, uint32_t size, uint64_t weight, int64_t now_ns, AdmittedList& admitted);

  uint32_t running() const noexcept { return static_cast<uint32_t>(running_.size()); }

 private:
  void progress(int64_t now_ns) noexcept;
  void begin_plan(int64_t now_ns, PlanScope scope, const Runner* except);
  uint32_t count_late(Line& line, const QueuedRequest* newcomer, int64_t now_ns, uint32_t most);
  bool harms_the_rest(const Line& line, const QueuedRequest& newcomer, int64_t now_ns) const noexcept;
  int64_t end_ns() const noexcept;
  int64_t pop(Line& line, uint64_t weight) noexcept;
  void settle(int64_t now_ns, AdmittedList& admitted);
  void admit(Runner& runner, const PlannedStart& start, AdmittedList& admitted);
  void give_back(Runner& runner, bool executed, int64_t now_ns) noexcept;
  void begin_waiting(Runner& runner, int64_t now_ns);
  void end_waiting(Runner& runner) noexcept;
  void place(Line& line);

  const PlanRules rules_;
  FrontIndex fronts_;  ///< of the lines that something waits in
  DevicePlan plan_;
  Backlog backlog_;
  uint64_t activations_ = 0;
  size_t asking_ = 0;             ///< runners that wait
  std::vector<Runner*> running_;  ///< admitted
  int64_t last_ns_ = 0;
};

}  // namespace atl::deadlines

/// Whose execution is admitted next.
///
/// Each instance takes turns in each pool that it needs copies of, numbered so that one of priority p takes
/// every p-th number. Of those that wait and find all they need, the one that is furthest behind is admitted.
/// Somebody who does not find it is passed by, so nobody waits for what another one needs. But one that
/// others have passed by for kPatience turns is over-due: from then on, what it finds lacking is kept for it
/// as it comes back, and is not given to those behind it. So the first of the over-due waits only for
/// executions that run, and each of the others for a finite number of executions.
///
/// One that was idle begins at the turn that its pools are at, so nobody can save up turns; one that always
/// has work keeps its own, and is at most kCredit and the largest priority behind. So of those that always
/// have work and exclude each other each gets what its priority says, to within a constant number of turns
/// however long it goes on.
#pragma once

#include <cstdint>
#include <vector>

#include "admission/rate_limiter/resource_pools.h"
#include "atoll/core/intrusive_list.h"

namespace atl::admission {

/// One instance in the order of turns.
struct Contender {
  enum class State : uint8_t { kIdle, kWaiting, kAdmitted };

  std::vector<Claim> claims;
  State state = State::kIdle;
  bool over_due = false;
  Contender* next = nullptr;           ///< in the list it waits in
  Contender* next_admitted = nullptr;  ///< in an AdmittedList
};

/// Those that a call has admitted, in the order of their admission. One that was taken out may be admitted
/// again by whoever gets hold of it.
using AdmittedList = IntrusiveList<Contender, &Contender::next_admitted>;

/// Not thread safe: the limiter's lock guards it. What it admits it appends to `admitted`.
class Turns {
 public:
  static constexpr uint64_t kPatience = 8;
  static constexpr uint64_t kCredit = 16;

  /// Begins with what is next in its pools. Pools may have grown by it.
  void add(Contender& contender, AdmittedList& admitted) noexcept;
  /// It neither waits nor holds anything afterwards. Its claims are the caller's to remove, and then to
  /// settle().
  void remove(Contender& contender) noexcept;

  /// Of one that is idle. Admits it, or lets it wait. \param insists  it is admitted whatever there is
  void ask(Contender& contender, bool insists, AdmittedList& admitted) noexcept;
  /// end() and ask() in one.
  void ask_again(Contender& contender, bool insists, AdmittedList& admitted) noexcept;
  /// Of one that is admitted. \param executed  false: it keeps its turn
  void end(Contender& contender, bool executed, AdmittedList& admitted) noexcept;
  /// Of one that waits: it is idle again.
  void withdraw(Contender& contender, AdmittedList& admitted) noexcept;
  /// Of one that waits.
  void insist(Contender& contender, AdmittedList& admitted) noexcept;
  /// Admits who can be. For whoever has changed a pool.
  void settle(AdmittedList& admitted) noexcept;

  uint64_t waiting() const noexcept { return waiting_; }

 private:
  void take_turns(Contender& contender, bool is_idle) noexcept;
  void admit_or_wait(Contender& contender, bool insists, AdmittedList& admitted) noexcept;
  void give_back(Contender& contender, bool executed) noexcept;
  void admit(Contender& contender, AdmittedList& admitted) noexcept;
  void begin_waiting(Contender& contender) noexcept;
  void end_waiting(Contender& contender) noexcept;
  void find_over_due() noexcept;
  static void keep_what_it_lacks(Contender& contender) noexcept;
  void serve_over_due(AdmittedList& admitted) noexcept;
  Contender* best_of_the_others() const noexcept;

  /// Those that wait, in the order in which they began to or became over-due.
  IntrusiveList<Contender> others_, over_due_;
  uint64_t waiting_ = 0;
};

}  // namespace atl::admission

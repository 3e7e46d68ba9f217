#include "admission/rate_limiter/turns.h"

#include <algorithm>
#include <limits>

namespace atl::admission {
namespace {

/// How far `turn` is ahead of `other`. Turns grow round and are never further apart than half the circle.
int64_t ahead(uint64_t turn, uint64_t other) noexcept { return static_cast<int64_t>(turn - other); }

bool finds_all(const Contender& contender) noexcept {
  return std::all_of(contender.claims.begin(), contender.claims.end(),
                     [](const Claim& claim) { return claim.pool->has(claim.count); });
}

bool is_contended(const Contender& contender) noexcept {
  return std::any_of(contender.claims.begin(), contender.claims.end(),
                     [](const Claim& claim) { return claim.pool->waiting != 0; });
}

/// How far it is ahead of its pools, in the one where it is furthest ahead: there it must not pass others by.
int64_t place_of(const Contender& contender) noexcept {
  int64_t place = std::numeric_limits<int64_t>::min();
  for (const Claim& claim : contender.claims) place = std::max(place, ahead(claim.turn, claim.pool->turn));
  return place;
}

bool is_over_due(const Contender& contender) noexcept {
  return std::any_of(contender.claims.begin(), contender.claims.end(), [](const Claim& claim) {
    return ahead(claim.pool->turn, claim.turn) > static_cast<int64_t>(Turns::kPatience);
  });
}

}  // namespace

void Turns::add(Contender& contender, AdmittedList& admitted) noexcept {
  // A whole turn later, so that any number of new instances do not pass by one that waits.
  for (Claim& claim : contender.claims) claim.next_turn = claim.pool->turn + claim.priority;
  settle(admitted);
}

void Turns::remove(Contender& contender) noexcept {
  if (contender.state == Contender::State::kAdmitted) give_back(contender, true);
  if (contender.state == Contender::State::kWaiting) end_waiting(contender);
  contender.state = Contender::State::kIdle;
}

/// Its turns for the execution that it asks for.
void Turns::take_turns(Contender& contender, bool is_idle) noexcept {
  for (Claim& claim : contender.claims) {
    ResourcePool& pool = *claim.pool;
    uint64_t earliest = is_idle ? pool.turn : pool.turn - kCredit - *pool.priorities.rbegin();
    claim.turn = ahead(claim.next_turn, earliest) > 0 ? claim.next_turn : earliest;
  }
}

void Turns::give_back(Contender& contender, bool executed) noexcept {
  for (Claim& claim : contender.claims) {
    claim.pool->in_use -= claim.count;
    if (!executed) claim.next_turn = claim.turn;
  }
  contender.state = Contender::State::kIdle;
}

void Turns::admit(Contender& contender, AdmittedList& admitted) noexcept {
  if (contender.state == Contender::State::kWaiting) end_waiting(contender);
  for (Claim& claim : contender.claims) {
    ResourcePool& pool = *claim.pool;
    pool.in_use += claim.count;
    if (ahead(claim.turn, pool.turn) > 0) pool.turn = claim.turn;
    claim.next_turn = claim.turn + claim.priority;
  }
  contender.state = Contender::State::kAdmitted;
  admitted.push_back(contender);
}

void Turns::begin_waiting(Contender& contender) noexcept {
  contender.state = Contender::State::kWaiting;
  contender.over_due = false;
  for (const Claim& claim : contender.claims) ++claim.pool->waiting;
  others_.push_back(contender);
  ++waiting_;
}

void Turns::end_waiting(Contender& contender) noexcept {
  for (Claim& claim : contender.claims) {
    --claim.pool->waiting;
    if (claim.kept) claim.pool->kept -= claim.count;
    claim.kept = claim.was_kept = false;
  }
  (contender.over_due ? over_due_ : others_).remove(contender);
  --waiting_;
}

void Turns::ask(Contender& contender, bool insists, AdmittedList& admitted) noexcept {
  take_turns(contender, true);
  admit_or_wait(contender, insists, admitted);
}

void Turns::admit_or_wait(Contender& contender, bool insists, AdmittedList& admitted) noexcept {
  bool at_once = insists || (!is_contended(contender) && finds_all(contender));
  if (at_once) {
    admit(contender, admitted);
    if (is_contended(contender)) settle(admitted);
    return;
  }
  begin_waiting(contender);
  settle(admitted);
}

void Turns::ask_again(Contender& contender, bool insists, AdmittedList& admitted) noexcept {
  give_back(contender, true);
  take_turns(contender, false);
  admit_or_wait(contender, insists, admitted);
}

void Turns::end(Contender& contender, bool executed, AdmittedList& admitted) noexcept {
  give_back(contender, executed);
  if (is_contended(contender)) settle(admitted);
}

void Turns::withdraw(Contender& contender, AdmittedList& admitted) noexcept {
  end_waiting(contender);
  contender.state = Contender::State::kIdle;
  settle(admitted);
}

void Turns::insist(Contender& contender, AdmittedList& admitted) noexcept {
  admit(contender, admitted);
  settle(admitted);
}

void Turns::settle(AdmittedList& admitted) noexcept {
  while (waiting_ != 0) {
    find_over_due();
    serve_over_due(admitted);
    Contender* best = best_of_the_others();
    if (best == nullptr) return;
    admit(*best, admitted);
  }
}

void Turns::find_over_due() noexcept {
  for (Contender* contender = others_.front(); contender != nullptr;) {
    Contender* next = contender->next;
    if (is_over_due(*contender)) {
      others_.remove(*contender);
      contender->over_due = true;
      over_due_.push_back(*contender);
    }
    contender = next;
  }
}

/// What it finds is left to others while it lacks something else, so that copies are not idle for the length
/// of an execution that has nothing to do with them. What has not been kept yet is therefore kept alone at
/// first; with each step more has been, so that in the end it has all.
void Turns::keep_what_it_lacks(Contender& contender) noexcept {
  Claim* lacking = nullptr;
  for (Claim& claim : contender.claims) {
    if (claim.pool->has(claim.count)) continue;
    if (claim.kept) return;  // that comes first
    if (lacking == nullptr || !claim.was_kept) lacking = &claim;
  }
  if (!lacking->was_kept) {
    for (Claim& claim : contender.claims) claim.kept = false;
  }
  lacking->kept = lacking->was_kept = true;
}

/// In their order; each sees only what is kept for those before it.
void Turns::serve_over_due(AdmittedList& admitted) noexcept {
  for (Contender* contender = over_due_.front(); contender != nullptr; contender = contender->next) {
    for (Claim& claim : contender->claims) {
      if (claim.kept) claim.pool->kept -= claim.count;
    }
  }
  for (Contender* contender = over_due_.front(); contender != nullptr;) {
    Contender* next = contender->next;
    bool found = finds_all(*contender);
    if (found) {
      for (Claim& claim : contender->claims) claim.kept = false;
    } else {
      keep_what_it_lacks(*contender);
    }
    for (Claim& claim : contender->claims) {
      if (claim.kept) claim.pool->kept += claim.count;
    }
    if (found) admit(*contender, admitted);
    contender = next;
  }
}

Contender* Turns::best_of_the_others() const noexcept {
  Contender* best = nullptr;
  int64_t best_place = 0;
  for (Contender* contender = others_.front(); contender != nullptr; contender = contender->next) {
    if (!finds_all(*contender)) continue;
    int64_t place = place_of(*contender);
    if (best != nullptr && place >= best_place) continue;
    best = contender;
    best_place = place;
  }
  return best;
}

}  // namespace atl::admission

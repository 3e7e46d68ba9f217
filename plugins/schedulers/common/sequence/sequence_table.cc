#include "schedulers/common/sequence/sequence_table.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <string_view>
#include <utility>

#include "atoll/core/clock.h"
#include "atoll/core/text.h"
#include "atoll/request/owner.h"

namespace atl::schedulers {
namespace {

/// Ended sequences whose memory is kept for the next ones.
constexpr size_t kUnusedMax = 1024;
constexpr size_t kBucketsMin = 16;

/// Each bit of the result depends on all of them (the finaliser of SplitMix64).
constexpr uint64_t mix(uint64_t bits) noexcept {
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ull;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBull;
  return bits ^ (bits >> 31);
}

uint64_t mix_text(uint64_t mixed, std::string_view text) noexcept {
  for (std::string_view rest = text; !rest.empty();) {
    const size_t bytes = std::min(rest.size(), sizeof(uint64_t));
    uint64_t word = 0;
    std::memcpy(&word, rest.data(), bytes);
    mixed = mix(mixed ^ word) + rest.size();
    rest.remove_prefix(bytes);
  }
  return mixed;
}

/// The number 7 and the text "7" are different sequences.
std::string id_key(const SequenceId& id) { return id.text.empty() ? cat("n", id.number) : cat("t", id.text); }

/// The sum, or never.
int64_t after(int64_t from_ns, int64_t duration_ns) noexcept {
  return duration_ns > DeadlineHeap::kNever - 1 - from_ns ? DeadlineHeap::kNever : from_ns + duration_ns;
}

}  // namespace

// --- SequenceList ---

void SequenceList::push_back(Sequence& sequence) noexcept {
  sequence.previous_ = last_;
  sequence.next_ = nullptr;
  if (last_ == nullptr) {
    first_ = &sequence;
  } else {
    last_->next_ = &sequence;
  }
  last_ = &sequence;
  ++size_;
}

void SequenceList::remove(Sequence& sequence) noexcept {
  if (sequence.previous_ == nullptr) {
    first_ = sequence.next_;
  } else {
    sequence.previous_->next_ = sequence.next_;
  }
  if (sequence.next_ == nullptr) {
    last_ = sequence.previous_;
  } else {
    sequence.next_->previous_ = sequence.previous_;
  }
  sequence.previous_ = sequence.next_ = nullptr;
  --size_;
}

// --- SequenceTable ---

size_t SequenceTable::IdHash::operator()(const OwnedSequence& id) const noexcept {
  const uint64_t begin = id.owner.empty() ? seed : mix_text(seed, id.owner);
  return id.id.text.empty() ? mix(id.id.number ^ begin) : mix_text(begin, id.id.text);
}

SequenceTable::Ids::Ids()
    : buckets(kBucketsMin),
      open(ById::bucket_traits(buckets.data(), buckets.size()),
           IdHash{std::random_device()() * 0x100000001ull + std::random_device()()}) {}

SequenceTable::SequenceTable(const SequenceLimits& limits)
    : limits_(limits), ready_(limits.instances), rows_(limits.instances) {
  unused_.reserve(kUnusedMax);
}

SequenceTable::~SequenceTable() {
  ids_.open.clear();
  for (const auto& rows : rows_) {
    for (Sequence* sequence : rows) delete sequence;
  }
  while (Sequence* sequence = backlog_.front()) {
    backlog_.remove(*sequence);
    delete sequence;
  }
}

Sequence* SequenceTable::find(const OwnedSequence& id) const noexcept {
  const auto found = ids_.open.find(id);
  return found == ids_.open.end() ? nullptr : const_cast<Sequence*>(&*found);
}

bool SequenceTable::is_anybodys(const SequenceId& id) const noexcept {
  return find({id, {}}) != nullptr || (!ids_.owned.empty() && ids_.owned.contains(id_key(id)));
}

/// A bucket has one sequence at most, mostly: each further one is a cache miss.
void SequenceTable::add_id(Sequence& sequence) {
  if (ids_.open.size() * 2 >= ids_.buckets.size()) {
    std::vector<ById::bucket_type> more(ids_.buckets.size() * 2);
    ids_.open.rehash(ById::bucket_traits(more.data(), more.size()));
    ids_.buckets.swap(more);  // the buckets stay where they are
  }
  ids_.open.insert(sequence);
  if (!sequence.owner_.empty()) ++ids_.owned[id_key(sequence.id())];
}

Sequence* SequenceTable::at(const SequenceSlot& slot) const noexcept {
  const auto& rows = rows_[slot.instance];
  return slot.row < rows.size() ? rows[slot.row] : nullptr;
}

Sequence& SequenceTable::begin(const Request& request, int64_t now_ns) {
  std::unique_ptr<Sequence> made(unused_.empty() ? new Sequence : unused_.back().release());
  if (!unused_.empty()) unused_.pop_back();
  made->number_ = request.sequence.number;
  made->text_ = request.sequence.text;
  made->owner_ = owner_of(request);
  made->start_ns_ = now_ns;
  add_id(*made);
  Sequence& sequence = *made.release();
  ++open_;
  if (SequenceSlot slot; take_free_slot(slot)) {
    give_slot(sequence, slot);
    became_idle(sequence, now_ns);
  } else {
    sequence.state_ = Sequence::State::kInBacklog;
    backlog_.push_back(sequence);
  }
  return sequence;
}

bool SequenceTable::take_free_slot(SequenceSlot& slot) noexcept {
  if (!free_slots_.empty()) {
    slot = slot_of(free_slots_.top());
    free_slots_.pop();
    return true;
  }
  if (next_slot_ == uint64_t{limits_.instances} * limits_.slots_each) return false;
  slot = slot_of(next_slot_++);
  rows_[slot.instance].push_back(nullptr);  // in the order of their numbers, so this is its row
  return true;
}

void SequenceTable::give_slot(Sequence& sequence, const SequenceSlot& slot) noexcept {
  sequence.slot_ = slot;
  rows_[slot.instance][slot.row] = &sequence;
}

void SequenceTable::became_ready(Sequence& sequence, int64_t now_ns) noexcept {
  sequence.state_ = Sequence::State::kReady;
  sequence.since_ns_ = now_ns;
  ready_[sequence.slot_.instance].push_back(sequence);
}

void SequenceTable::became_idle(Sequence& sequence, int64_t now_ns) noexcept {
  sequence.state_ = Sequence::State::kIdle;
  sequence.since_ns_ = now_ns;
  idle_.push_back(sequence);
}

Sequence* SequenceTable::add(Request& request, int64_t now_ns) {
  Sequence* sequence = find({request.sequence, owner_of(request)});
  if (sequence == nullptr) {
    if ((request.sequence_flags & kSequenceStart) == 0) return nullptr;
    sequence = &begin(request, now_ns);
  }
  request.links.sequence = sequence;
  sequence->waiting_.push_back(request);
  ++waiting_;
  if ((request.sequence_flags & kSequenceEnd) != 0) close(*sequence);
  if (sequence->state_ == Sequence::State::kIdle) {
    idle_.remove(*sequence);
    became_ready(*sequence, now_ns);
  } else if (sequence->state_ == Sequence::State::kInBacklog && request.timeout_us != 0) {
    const uint64_t most_us = static_cast<uint64_t>(DeadlineHeap::kNever / kNsPerUs);
    const int64_t timeout_ns = static_cast<int64_t>(std::min(request.timeout_us, most_us)) * kNsPerUs;
    timeouts_.add(request, after(now_ns, timeout_ns));
  }
  return sequence;
}

Request& SequenceTable::take(Sequence& sequence) noexcept {
  ready_[sequence.slot_.instance].remove(sequence);
  sequence.state_ = Sequence::State::kRunning;
  --waiting_;
  return *sequence.waiting_.pop_front();
}

void SequenceTable::finished(Sequence& sequence, int64_t now_ns) noexcept {
  if (!sequence.waiting_.empty()) {
    became_ready(sequence, now_ns);
  } else if (sequence.closed_) {
    gone(sequence, now_ns);
  } else {
    became_idle(sequence, now_ns);
  }
}

void SequenceTable::give_back(Sequence& sequence, Request& request, int64_t now_ns) noexcept {
  sequence.waiting_.push_front(request);
  ++waiting_;
  became_ready(sequence, now_ns);
}

void SequenceTable::close(Sequence& sequence) noexcept {
  if (std::exchange(sequence.closed_, true)) return;
  ids_.open.erase(ids_.open.iterator_to(sequence));
  if (sequence.owner_.empty()) return;
  const auto counted = ids_.owned.find(id_key(sequence.id()));
  if (--counted->second == 0) ids_.owned.erase(counted);
}

void SequenceTable::take_waiting(Sequence& sequence, RequestQueue& waiting) noexcept {
  while (Request* request = sequence.waiting_.pop_front()) {
    timeouts_.remove(*request);
    request->links.sequence = nullptr;
    waiting.push_back(*request);
    --waiting_;
  }
}

void SequenceTable::end(Sequence& sequence, int64_t now_ns, RequestQueue& waiting) noexcept {
  close(sequence);
  take_waiting(sequence, waiting);
  switch (sequence.state_) {
    case Sequence::State::kInBacklog:
      backlog_.remove(sequence);
      break;
    case Sequence::State::kReady:
      ready_[sequence.slot_.instance].remove(sequence);
      break;
    case Sequence::State::kIdle:
      idle_.remove(sequence);
      break;
    case Sequence::State::kRunning:
      return;  // finished() gives the slot back
  }
  gone(sequence, now_ns);
}

void SequenceTable::end_all(int64_t now_ns, RequestQueue& waiting) noexcept {
  while (Sequence* first = backlog_.front()) end(*first, now_ns, waiting);
  for (const auto& rows : rows_) {
    for (Sequence* sequence : rows) {
      if (sequence != nullptr) end(*sequence, now_ns, waiting);
    }
  }
}

void SequenceTable::gone(Sequence& sequence, int64_t now_ns) noexcept {
  std::unique_ptr<Sequence> owned(&sequence);
  --open_;
  if (sequence.state_ != Sequence::State::kInBacklog) {
    const SequenceSlot slot = sequence.slot_;
    rows_[slot.instance][slot.row] = nullptr;
    if (Sequence* next = backlog_.front()) {
      backlog_.remove(*next);
      for (Request* one = next->front(); one != nullptr; one = one->next) timeouts_.remove(*one);
      give_slot(*next, slot);
      became_ready(*next, now_ns);  // nobody waits in the backlog without a request
    } else {
      free_slots_.push(uint64_t{slot.row} * limits_.instances + slot.instance);
    }
  }
  // A small one is worth more to the next sequence than to the heap.
  if (sequence.state != nullptr && !sequence.state->is_self_contained()) sequence.state.reset();
  if (unused_.size() == kUnusedMax) return;
  sequence.closed_ = false;
  sequence.text_.clear();
  sequence.owner_.clear();
  unused_.push_back(std::move(owned));
}

// --- what time brings ---

uint64_t SequenceTable::end_idle(int64_t now_ns) noexcept {
  uint64_t ended = 0;
  RequestQueue none;
  while (Sequence* first = idle_.front()) {
    if (now_ns - first->since_ns_ <= limits_.idle_ns) break;
    end(*first, now_ns, none);
    ++ended;
  }
  return ended;
}

uint64_t SequenceTable::expire(int64_t now_ns, RequestQueue& expired) noexcept {
  uint64_t ended = 0;
  while (timeouts_.first_ns() < now_ns) {
    end(*static_cast<Sequence*>(timeouts_.first().links.sequence), now_ns, expired);
    ++ended;
  }
  return ended;
}

uint64_t SequenceTable::waiting_in_backlog() const noexcept {
  uint64_t count = 0;
  for (const Sequence* one = backlog_.front(); one != nullptr; one = SequenceList::after(*one))
    count += one->waiting_.size();
  return count;
}

int64_t SequenceTable::next_due_ns() const noexcept {
  int64_t due_ns = timeouts_.first_ns();
  if (const Sequence* first = idle_.front())
    due_ns = std::min(due_ns, after(first->since_ns_, limits_.idle_ns));
  return due_ns == DeadlineHeap::kNever ? due_ns : due_ns + 1;  // it has run out when the clock is past it
}

}  // namespace atl::schedulers

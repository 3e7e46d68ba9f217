/// The open sequences of one model version: which slot each of them has, who waits for one, and which requests
/// of each are still to be executed.
#pragma once

#include <boost/intrusive/unordered_set.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/request/owned_sequence.h"
#include "schedulers/common/batch/deadline_heap.h"
#include "schedulers/common/batch/request_queue.h"
#include "schedulers/common/state/implicit_state.h"

namespace atl::schedulers {

/// One row of one instance: requests of the sequence that has it are executed there and nowhere else.
struct SequenceSlot {
  uint32_t instance = 0;
  uint32_t row = 0;
  bool operator==(const SequenceSlot&) const = default;
};

/// From its first request until the last one has ended, or nobody can send it another one. Of its requests at
/// most one is with the instance. Made and freed by the table.
class Sequence {
  using Hook =
      boost::intrusive::unordered_set_member_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>>;

 public:
  Sequence(const Sequence&) = delete;
  Sequence& operator=(const Sequence&) = delete;

  /// The text is valid as long as the sequence.
  SequenceId id() const noexcept { return {number_, text_}; }
  /// owner_of() its requests; empty: nobody.
  const std::string& owner() const noexcept { return owner_; }
  bool has_slot() const noexcept { return state_ != State::kInBacklog; }
  /// Only with a slot.
  const SequenceSlot& slot() const noexcept { return slot_; }
  /// One of its requests is with the instance.
  bool is_running() const noexcept { return state_ == State::kRunning; }
  /// No further request joins it: its end has come, or was decided.
  bool is_closed() const noexcept { return closed_; }
  /// The next request to be executed; null if none has come.
  Request* front() const noexcept { return waiting_.front(); }
  /// Of one whose front may be executed: since when it may.
  int64_t ready_since_ns() const noexcept { return since_ns_; }

  /// Of a model that has such. In a new sequence null, or one that was another sequence's: to be begun anew.
  ImplicitStatePtr state;

 private:
  friend class SequenceTable;
  friend class SequenceList;
  enum class State : uint8_t {
    kInBacklog,  ///< has requests and no slot
    kReady,      ///< its front may be executed
    kRunning,
    kIdle  ///< has no request
  };
  Sequence() noexcept = default;

  Hook by_id_;  // as long as it is not closed
  State state_ = State::kIdle;
  bool closed_ = false;
  SequenceSlot slot_;
  uint64_t number_ = 0;
  std::string text_;
  std::string owner_;
  RequestQueue waiting_;
  int64_t since_ns_ = 0;  // when it became ready, or idle
  int64_t start_ns_ = 0;
  Sequence* previous_ = nullptr;  // in the list of its state
  Sequence* next_ = nullptr;
};

/// Sequences in the order in which they were added; one in the middle is removed in constant time.
class SequenceList {
 public:
  Sequence* front() const noexcept { return first_; }
  static Sequence* after(const Sequence& sequence) noexcept { return sequence.next_; }
  uint64_t size() const noexcept { return size_; }
  void push_back(Sequence& sequence) noexcept;
  void remove(Sequence& sequence) noexcept;

 private:
  Sequence* first_ = nullptr;
  Sequence* last_ = nullptr;
  uint64_t size_ = 0;
};

struct SequenceLimits {
  uint32_t instances = 1;
  uint32_t slots_each = 1;          ///< of an instance
  int64_t idle_ns = 1'000'000'000;  ///< how long a sequence with a slot may have nothing to do
};

/// The rules of the sequence batcher, without time and threads of their own. Uses the link `sequence`, and those
/// of RequestQueue and DeadlineHeap. Not thread safe: the scheduler's lock guards it.
///
/// A sequence gets the free slot of the lowest row, of these that of the lowest instance, so that instances fill
/// evenly; if there is none it waits in the backlog, with all requests that it gets meanwhile, and the first one
/// of the backlog takes the next slot that is given back. A slot is given back when its sequence is closed and
/// nothing of it is left, neither waiting nor with the instance.
class SequenceTable {
 public:
  explicit SequenceTable(const SequenceLimits& limits);
  SequenceTable(const SequenceTable&) = delete;
  SequenceTable& operator=(const SequenceTable&) = delete;
  ~SequenceTable();

  /// Adds a request to its owner's sequence, or begins one if it has the START flag; the END flag closes it. One with
  /// the START flag for an open sequence goes on with that: its state begins anew when it is executed.
  /// \returns the sequence; null, and nothing is done, if the id is not that of an open one and START is missing
  Sequence* add(Request& request, int64_t now_ns);
  /// Takes the front of a ready sequence, which goes to its instance: finished() follows.
  Request& take(Sequence& sequence) noexcept;
  /// The request that was taken has ended, or was answered without the instance. The sequence may be gone
  /// afterwards.
  void finished(Sequence& sequence, int64_t now_ns) noexcept;
  /// The request that was taken is not done: it is the front of its sequence again, and the sequence is ready.
  void give_back(Sequence& sequence, Request& request, int64_t now_ns) noexcept;
  /// Closes the sequence and takes what waits of it. It may be gone afterwards.
  void end(Sequence& sequence, int64_t now_ns, RequestQueue& waiting) noexcept;
  /// The same with all that are open or have requests.
  void end_all(int64_t now_ns, RequestQueue& waiting) noexcept;

  /// Ends the sequences with a slot that have had nothing to do for too long. \returns how many
  uint64_t end_idle(int64_t now_ns) noexcept;
  /// Ends the sequences of the backlog that have a request whose timeout has run out, and takes their requests.
  /// \returns how many
  uint64_t expire(int64_t now_ns, RequestQueue& expired) noexcept;
  /// When end_idle() or expire() has something to do; DeadlineHeap::kNever: not before something changes.
  int64_t next_due_ns() const noexcept;

  /// Sequences of the instance whose front may go, the longest ready one first; SequenceList::after() gives the
  /// next one.
  const SequenceList& ready(uint32_t instance) const noexcept { return ready_[instance]; }
  /// Who has the slot; null: nobody.
  Sequence* at(const SequenceSlot& slot) const noexcept;

  /// Whether requests of this owner without the START flag are taken for it.
  bool is_open(const OwnedSequence& id) const noexcept { return find(id) != nullptr; }
  /// Whether a sequence of this id is open, whoever owns it, or if nobody does.
  bool is_anybodys(const SequenceId& id) const noexcept;
  uint64_t open() const noexcept { return open_; }  ///< in slots and in the backlog
  uint64_t slots_in_use() const noexcept { return open_ - backlog_.size(); }
  const SequenceList& backlog() const noexcept { return backlog_; }
  /// When the first sequence of the backlog began; kNever if there is none.
  int64_t oldest_backlog_ns() const noexcept {
    return backlog_.front() == nullptr ? DeadlineHeap::kNever : backlog_.front()->start_ns_;
  }
  uint64_t waiting() const noexcept { return waiting_; }  ///< requests that were not taken
  /// Those of the backlog among them, in time linear in its length.
  uint64_t waiting_in_backlog() const noexcept;

 private:
  struct IdOf {
    using type = OwnedSequence;
    OwnedSequence operator()(const Sequence& sequence) const noexcept {
      return {sequence.id(), sequence.owner()};
    }
  };
  /// Ids come from clients: they are mixed with a number that these do not know, so that none can fill one bucket.
  struct IdHash {
    uint64_t seed;
    size_t operator()(const OwnedSequence& id) const noexcept;
  };
  struct SameId {
    bool operator()(const OwnedSequence& a, const OwnedSequence& b) const noexcept {
      return a.id.text == b.id.text && (!a.id.text.empty() || a.id.number == b.id.number) &&
             a.owner == b.owner;
    }
  };
  /// Its nodes are the sequences: to find one meets two cache misses.
  using ById = boost::intrusive::unordered_set<
      Sequence, boost::intrusive::member_hook<Sequence, Sequence::Hook, &Sequence::by_id_>,
      boost::intrusive::key_of_value<IdOf>, boost::intrusive::hash<IdHash>, boost::intrusive::equal<SameId>,
      boost::intrusive::power_2_buckets<true>>;

  /// Of those that are not closed.
  struct Ids {
    Ids();
    std::vector<ById::bucket_type> buckets;
    ById open;
    std::map<std::string, uint64_t> owned;  ///< how many of them have an owner, by what id_key() says
  };

  Sequence* find(const OwnedSequence& id) const noexcept;
  Sequence& begin(const Request& request, int64_t now_ns);
  void add_id(Sequence& sequence);
  void close(Sequence& sequence) noexcept;
  bool take_free_slot(SequenceSlot& slot) noexcept;
  void give_slot(Sequence& sequence, const SequenceSlot& slot) noexcept;
  void became_ready(Sequence& sequence, int64_t now_ns) noexcept;
  void became_idle(Sequence& sequence, int64_t now_ns) noexcept;
  void take_waiting(Sequence& sequence, RequestQueue& waiting) noexcept;
  /// Nothing of a closed sequence is left.
  void gone(Sequence& sequence, int64_t now_ns) noexcept;
  SequenceSlot slot_of(uint64_t key) const noexcept {
    return {static_cast<uint32_t>(key % limits_.instances), static_cast<uint32_t>(key / limits_.instances)};
  }

  const SequenceLimits limits_;
  Ids ids_;
  std::vector<std::unique_ptr<Sequence>> unused_;  // kept for the next ones
  std::vector<SequenceList> ready_;                // by instance
  std::vector<std::vector<Sequence*>> rows_;       // by instance and row
  SequenceList backlog_, idle_;
  DeadlineHeap timeouts_;  // of requests in the backlog
  // Free slots are numbered by row, then instance: those given back, and all from next_slot_ on.
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> free_slots_;
  uint64_t next_slot_ = 0;
  uint64_t open_ = 0, waiting_ = 0;
};

}  // namespace atl::schedulers

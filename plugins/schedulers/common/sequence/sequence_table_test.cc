#include "schedulers/common/sequence/sequence_table.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "atoll/request/owner.h"

namespace atl::schedulers {
namespace {

constexpr int64_t kIdleLimitNs = 1'000;

class SequenceTableTest : public ::testing::Test {
 protected:
  void make(uint32_t instances, uint32_t slots_each) {
    table_.emplace(SequenceLimits{instances, slots_each, kIdleLimitNs});
  }
  /// Null if it was refused.
  Sequence* add(uint64_t id, uint32_t flags, uint64_t timeout_us = 0) {
    Request& request = requests_.emplace_back();
    request.sequence.number = id;
    request.sequence_flags = flags;
    request.timeout_us = timeout_us;
    return table_->add(request, now_ns_);
  }
  /// Adds a request and executes it at once.
  void run(uint64_t id, uint32_t flags) {
    Sequence* sequence = add(id, flags);
    ASSERT_NE(sequence, nullptr);
    table_->take(*sequence);
    table_->finished(*sequence, now_ns_);
  }
  std::vector<uint64_t> ready(uint32_t instance) {
    std::vector<uint64_t> ids;
    for (Sequence* one = table_->ready(instance).front(); one != nullptr; one = SequenceList::after(*one))
      ids.push_back(one->id().number);
    return ids;
  }

  std::deque<Request> requests_;
  std::optional<SequenceTable> table_;
  int64_t now_ns_ = 0;
};

using Ids = std::vector<uint64_t>;

TEST_F(SequenceTableTest, SlotsFillInstancesEvenly) {
  make(2, 2);
  EXPECT_EQ(add(1, kSequenceStart)->slot(), (SequenceSlot{0, 0}));
  EXPECT_EQ(add(2, kSequenceStart)->slot(), (SequenceSlot{1, 0}));
  EXPECT_EQ(add(3, kSequenceStart)->slot(), (SequenceSlot{0, 1}));
  EXPECT_EQ(add(4, kSequenceStart)->slot(), (SequenceSlot{1, 1}));
  EXPECT_FALSE(add(5, kSequenceStart)->has_slot());
  EXPECT_EQ(ready(0), (Ids{1, 3}));
  EXPECT_EQ(ready(1), (Ids{2, 4}));
}

TEST_F(SequenceTableTest, TheLowestFreeSlotIsGivenAgain) {
  make(2, 2);
  for (uint64_t id = 1; id <= 4; ++id) run(id, kSequenceStart);
  run(4, kSequenceEnd);
  run(2, kSequenceEnd);
  EXPECT_EQ(add(5, kSequenceStart)->slot(), (SequenceSlot{1, 0}));
  EXPECT_EQ(add(6, kSequenceStart)->slot(), (SequenceSlot{1, 1}));
}

TEST_F(SequenceTableTest, AnIdIsItsOwners) {
  make(1, 4);
  const auto add_of = [&](std::string_view tenant, std::string_view caller, uint32_t flags,
                          uint32_t call_flags) {
    Request& request = requests_.emplace_back();
    request.sequence.number = 7;
    request.sequence_flags = flags;
    request.tenant = tenant;
    request.caller = caller;
    request.call_flags = call_flags;
    return table_->add(request, now_ns_);
  };
  Sequence* const blue = add_of("blue", "a", kSequenceStart, kCallerIsKnown);
  ASSERT_NE(blue, nullptr);
  EXPECT_EQ(add_of("red", "b", 0, kCallerIsKnown), nullptr) << "another's sequence is unknown";
  EXPECT_EQ(add_of("", "b", 0, kCallerIsKnown), nullptr);
  EXPECT_EQ(add_of("blue", "a", 0, 0), nullptr) << "a tenant that a client has written itself";
  EXPECT_EQ(add_of("blue", "c", 0, kCallerIsKnown), blue) << "of the same tenant";
  Sequence* const red = add_of("red", "b", kSequenceStart, kCallerIsKnown);
  Sequence* const alone = add_of("", "blue2", kSequenceStart, kCallerIsKnown);
  Sequence* const nobody = add_of("blue", "a", kSequenceStart, 0);
  EXPECT_EQ(table_->open(), 4u);
  EXPECT_EQ((std::set<Sequence*>{blue, red, alone, nobody}).size(), 4u);
  EXPECT_EQ(add_of("red", "b", kSequenceEnd, kCallerIsKnown), red);
  EXPECT_EQ(add_of("red", "b", 0, kCallerIsKnown), nullptr) << "its end is not that of the others";
  EXPECT_EQ(add_of("blue", "a", 0, kCallerIsKnown), blue);
  EXPECT_EQ(add_of("other", "a", 0, 0), nobody);
}

TEST_F(SequenceTableTest, AnIdIsOpenToItsOwnerOnly) {
  make(1, 4);
  Request& request = requests_.emplace_back();
  request.sequence.text = "s";
  request.sequence_flags = kSequenceStart;
  request.caller = "a";
  request.call_flags = kCallerIsKnown;
  Sequence* const sequence = table_->add(request, now_ns_);
  ASSERT_NE(sequence, nullptr);
  EXPECT_TRUE(table_->is_open({{0, "s"}, "a"}));
  EXPECT_FALSE(table_->is_open({{0, "t"}, "a"}));
  EXPECT_FALSE(table_->is_open({{0, "s"}, "b"}));
  EXPECT_FALSE(table_->is_open({{0, "s"}, {}}));
  EXPECT_TRUE(table_->is_anybodys({0, "s"}));
  EXPECT_FALSE(table_->is_anybodys({0, "t"}));
  RequestQueue waiting;
  table_->end(*sequence, now_ns_, waiting);
  EXPECT_FALSE(table_->is_open({{0, "s"}, "a"}));
  EXPECT_FALSE(table_->is_anybodys({0, "s"}));
  EXPECT_EQ(table_->open(), 0u);
}

TEST(OwnedSequence, IsTakenApartAsItWasPutTogether) {
  for (const SequenceId& id :
       {SequenceId{7, {}}, SequenceId{~uint64_t{0}, {}}, SequenceId{0, "7"}, SequenceId{0, "bluered"}}) {
    for (const std::string_view owner : {"", "blue", "bluered"}) {
      std::string memory;
      const OwnedSequence again = owned_sequence(qualified_id(id, owner, memory));
      EXPECT_EQ(again.owner, owner);
      EXPECT_EQ(again.id.number, id.number);
      EXPECT_EQ(again.id.text, id.text);
    }
  }
  std::string memory;
  EXPECT_TRUE(qualified_id({}, "blue", memory).empty());
  // What nobody has put together is the id of nobody that it is.
  for (const SequenceId& odd : {SequenceId{200, "short"}, SequenceId{8, "blue"}, SequenceId{8, "blue123"}}) {
    EXPECT_EQ(owned_sequence(odd).owner, "");
    EXPECT_EQ(owned_sequence(odd).id.text, odd.text);
  }
}

TEST_F(SequenceTableTest, WhoIsNotOpenMustStart) {
  make(1, 1);
  EXPECT_EQ(add(1, 0), nullptr);
  EXPECT_EQ(add(1, kSequenceEnd), nullptr);
  run(1, kSequenceStart | kSequenceEnd);
  EXPECT_EQ(add(1, 0), nullptr);
  EXPECT_EQ(table_->open(), 0u);
}

TEST_F(SequenceTableTest, NumbersAndTextsAreDifferentSequences) {
  make(1, 4);
  Sequence* number = add(7, kSequenceStart);
  Request& request = requests_.emplace_back();
  request.sequence.text = "7";
  request.sequence_flags = kSequenceStart;
  Sequence* text = table_->add(request, 0);
  ASSERT_NE(text, nullptr);
  EXPECT_NE(text, number);
  EXPECT_EQ(text->id().text, "7");
}

TEST_F(SequenceTableTest, OneRequestAtATimeInTheOrderOfArrival) {
  make(1, 1);
  Sequence* sequence = add(1, kSequenceStart);
  add(1, 0);
  EXPECT_EQ(&table_->take(*sequence), &requests_[0]);
  EXPECT_TRUE(ready(0).empty());
  table_->finished(*sequence, now_ns_);
  EXPECT_EQ(ready(0), Ids{1});
  EXPECT_EQ(&table_->take(*sequence), &requests_[1]);
}

TEST_F(SequenceTableTest, TheBacklogMovesIntoTheSlotThatIsGivenBack) {
  make(1, 1);
  run(1, kSequenceStart);
  Sequence* second = add(2, kSequenceStart);
  add(3, kSequenceStart);
  add(2, 0);
  EXPECT_FALSE(second->has_slot());
  EXPECT_EQ(table_->backlog().size(), 2u);
  run(1, kSequenceEnd);
  EXPECT_TRUE(second->has_slot());
  EXPECT_EQ(ready(0), Ids{2});
  EXPECT_EQ(table_->backlog().size(), 1u);
}

TEST_F(SequenceTableTest, AnIdThatHasEndedMayBeginAgainWhileItsEndWaits) {
  make(1, 1);
  Sequence* former = add(1, kSequenceStart);
  add(1, kSequenceEnd);
  Sequence* next = add(1, kSequenceStart);
  EXPECT_NE(former, next);
  EXPECT_FALSE(next->has_slot());
  table_->take(*former);
  table_->finished(*former, now_ns_);
  EXPECT_FALSE(next->has_slot()) << "the end has not been executed";
  table_->take(*former);
  table_->finished(*former, now_ns_);
  EXPECT_TRUE(next->has_slot());
}

TEST_F(SequenceTableTest, OnlyWhoHasNothingToDoIsIdle) {
  make(1, 2);
  run(1, kSequenceStart);
  Sequence* busy = add(2, kSequenceStart);
  table_->take(*busy);
  EXPECT_EQ(table_->next_due_ns(), kIdleLimitNs + 1);
  EXPECT_EQ(table_->end_idle(kIdleLimitNs), 0u);
  EXPECT_EQ(table_->end_idle(kIdleLimitNs + 1), 1u);
  EXPECT_EQ(add(1, 0), nullptr);
  EXPECT_EQ(table_->next_due_ns(), DeadlineHeap::kNever);
  table_->finished(*busy, 5'000);
  EXPECT_EQ(table_->next_due_ns(), 5'000 + kIdleLimitNs + 1);
}

TEST_F(SequenceTableTest, ATimeoutInTheBacklogEndsTheWholeSequence) {
  make(1, 1);
  run(1, kSequenceStart);
  add(2, kSequenceStart);
  add(2, 0, 3);
  add(3, kSequenceStart, UINT64_MAX);
  EXPECT_EQ(table_->next_due_ns(), kIdleLimitNs + 1);
  RequestQueue expired;
  EXPECT_EQ(table_->expire(3'000, expired), 0u);
  EXPECT_EQ(table_->expire(3'001, expired), 1u);
  EXPECT_EQ(expired.pop_front(), &requests_[1]);
  EXPECT_EQ(expired.pop_front(), &requests_[2]);
  EXPECT_TRUE(expired.empty());
  EXPECT_EQ(add(2, 0), nullptr);
  EXPECT_EQ(table_->backlog().size(), 1u);
}

TEST_F(SequenceTableTest, WhoGotASlotHasNoTimeout) {
  make(1, 1);
  run(1, kSequenceStart);
  add(2, kSequenceStart, 3);
  run(1, kSequenceEnd);
  RequestQueue expired;
  EXPECT_EQ(table_->expire(1'000'000, expired), 0u);
}

TEST_F(SequenceTableTest, WhoIsEndedGivesTheSlotBackWhenItsRequestHasEnded) {
  make(1, 1);
  Sequence* sequence = add(1, kSequenceStart);
  add(1, 0);
  table_->take(*sequence);
  Sequence* next = add(2, kSequenceStart);
  RequestQueue waiting;
  table_->end(*sequence, now_ns_, waiting);
  EXPECT_EQ(waiting.pop_front(), &requests_[1]);
  EXPECT_TRUE(sequence->is_closed());
  EXPECT_FALSE(next->has_slot());
  table_->finished(*sequence, now_ns_);
  EXPECT_TRUE(next->has_slot());
  table_->end(*next, now_ns_, waiting);
  EXPECT_EQ(table_->open(), 0u);
}

}  // namespace
}  // namespace atl::schedulers

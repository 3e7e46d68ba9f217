#include "frontends/common/stream/stream_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace atl::frontends {
namespace {

struct Text {
  void Swap(Text* other) { text.swap(other->text); }
  void Clear() { text.clear(); }
  std::string text;
};

struct Asked;
using Rules = StreamRules<Asked, Text>;

struct Asked {
  explicit Asked(uint64_t received_bytes = 10) { place.received_bytes = received_bytes; }
  Rules::Place place;
};

using Names = std::vector<std::string>;

class StreamRulesTest : public ::testing::Test {
 protected:
  static constexpr StreamLimits kLimits{.requests = 3, .backlog_bytes = 100, .answers = 2};

  /// Reads a request, as a transport does.
  void read(Asked& request, bool runs = true) {
    ASSERT_TRUE(rules_.begin_read());
    ASSERT_TRUE(rules_.end_read(true));
    EXPECT_EQ(rules_.add(request), runs);
  }
  void read_ordered(Asked& request) {
    read(request);
    rules_.keep_order(request);
  }
  Rules::Push push(Asked& request, const std::string& text, bool last = true, bool bounded = false) {
    Text message{text};
    return rules_.push(request, &message, text.size(), last, bounded);
  }
  /// Writes what there is, in its order. \param last  gets those whose last answer it was
  Names write_all(std::vector<Asked*>* last = nullptr) {
    Names written;
    while (Rules::Answer* answer = rules_.begin_write()) {
      EXPECT_EQ(rules_.begin_write(), nullptr) << "one at a time";
      EXPECT_FALSE(rules_.begin_finish()) << "not while one is written";
      written.push_back(answer->message.text);
      Asked* done = rules_.end_write(true);
      if (done != nullptr && last != nullptr) last->push_back(done);
    }
    return written;
  }
  void remove(Asked& request) { rules_.remove(request.place.received_bytes); }

  Rules rules_{kLimits};
  Asked a_, b_, c_;
};

TEST_F(StreamRulesTest, AnswersLeaveInTheOrderOfTheirRequests) {
  read_ordered(a_);
  read_ordered(b_);
  read_ordered(c_);
  EXPECT_EQ(push(c_, "c"), Rules::Push::kQueued);
  EXPECT_EQ(push(b_, "b"), Rules::Push::kQueued);
  EXPECT_EQ(write_all(), Names{});
  EXPECT_EQ(push(a_, "a"), Rules::Push::kQueued);
  std::vector<Asked*> last;
  EXPECT_EQ(write_all(&last), (Names{"a", "b", "c"}));
  EXPECT_EQ(last, (std::vector<Asked*>{&a_, &b_, &c_}));
}

TEST_F(StreamRulesTest, AnswersOfDecoupledModelsLeaveAsTheyCome) {
  read_ordered(a_);
  read(b_);
  push(b_, "b1", false);
  push(b_, "b2", false);
  std::vector<Asked*> last;
  EXPECT_EQ(write_all(&last), (Names{"b1", "b2"}));
  push(b_, "b3", false);
  EXPECT_FALSE(rules_.answered(b_)) << "one is not written";
  EXPECT_EQ(write_all(&last), Names{"b3"});
  EXPECT_EQ(last, std::vector<Asked*>{&b_});
  push(a_, "a");
  EXPECT_EQ(write_all(), Names{"a"});
}

TEST_F(StreamRulesTest, ARequestWithoutAnswersIsDoneAtOnce) {
  read(a_);
  EXPECT_TRUE(rules_.answered(a_));
  remove(a_);
  EXPECT_TRUE(rules_.begin_read());
}

TEST_F(StreamRulesTest, SoManyRequestsAreInFlight) {
  read(a_);
  read(b_);
  EXPECT_TRUE(rules_.begin_read());
  EXPECT_FALSE(rules_.begin_read()) << "one at a time";
  EXPECT_TRUE(rules_.end_read(true));
  rules_.add(c_);
  EXPECT_FALSE(rules_.begin_read());
  EXPECT_TRUE(rules_.answered(b_));
  remove(b_);
  EXPECT_TRUE(rules_.begin_read());
}

TEST_F(StreamRulesTest, ABacklogStopsReading) {
  Asked large(60);
  read_ordered(large);
  read_ordered(a_);
  push(a_, std::string(30, 'a'));
  EXPECT_FALSE(rules_.begin_read()) << "60 and 10 were received, 30 wait for their turn";
  push(large, "large");
  EXPECT_FALSE(rules_.begin_read()) << "they wait to be written";
  EXPECT_EQ(write_all().size(), 2u);
  EXPECT_TRUE(rules_.begin_read());
}

TEST_F(StreamRulesTest, WhatAnswersWithoutBeingAskedIsBounded) {
  read(a_);
  EXPECT_EQ(push(a_, "1", false, true), Rules::Push::kQueued);
  EXPECT_EQ(push(a_, "2", false, true), Rules::Push::kQueued);
  EXPECT_EQ(push(a_, "3", false, true), Rules::Push::kTooMuch) << "two answers wait";
  EXPECT_EQ(push(a_, "last word", true, false), Rules::Push::kQueued);
  EXPECT_EQ(write_all(), (Names{"1", "2", "last word"}));
  read(b_);
  EXPECT_EQ(push(b_, std::string(100, 'b'), false, true), Rules::Push::kQueued);
  EXPECT_EQ(push(b_, "1", false, true), Rules::Push::kTooMuch) << "100 bytes wait";
  EXPECT_EQ(write_all().size(), 1u);
  EXPECT_EQ(push(b_, "1", false, true), Rules::Push::kQueued);
}

TEST_F(StreamRulesTest, ARequestThatWaitsHoldsTheOneBehindIt) {
  ASSERT_TRUE(rules_.begin_read());
  ASSERT_TRUE(rules_.end_read(true));
  EXPECT_TRUE(rules_.add(a_));
  ASSERT_TRUE(rules_.begin_read());  // on its way when the first one begins to wait
  rules_.hold();
  ASSERT_TRUE(rules_.end_read(true));
  EXPECT_FALSE(rules_.add(b_));
  EXPECT_FALSE(rules_.begin_read()) << "one is enough";
  EXPECT_EQ(rules_.resume(), &b_);
  EXPECT_EQ(rules_.resume(), nullptr);
  EXPECT_TRUE(rules_.begin_read());
}

TEST_F(StreamRulesTest, WhatSeveralHoldGoesOnWhenAllOfThemResume) {
  ASSERT_TRUE(rules_.begin_read());
  ASSERT_TRUE(rules_.end_read(true));
  EXPECT_TRUE(rules_.add(a_));
  ASSERT_TRUE(rules_.begin_read());
  rules_.hold();
  rules_.hold();
  ASSERT_TRUE(rules_.end_read(true));
  EXPECT_FALSE(rules_.add(b_));
  EXPECT_EQ(rules_.resume(), nullptr);
  EXPECT_FALSE(rules_.begin_read());
  EXPECT_EQ(rules_.resume(), &b_);
  ASSERT_TRUE(rules_.begin_read());
  rules_.hold();
  EXPECT_FALSE(rules_.end_read(false));
  EXPECT_FALSE(rules_.has_run_all());
  EXPECT_EQ(rules_.resume(), nullptr);
  EXPECT_TRUE(rules_.has_run_all());
}

TEST_F(StreamRulesTest, FinishesWhenAllIsReadAndAnswered) {
  read_ordered(a_);
  ASSERT_TRUE(rules_.begin_read());
  EXPECT_FALSE(rules_.end_read(false));
  EXPECT_FALSE(rules_.begin_read());
  EXPECT_FALSE(rules_.begin_finish());
  push(a_, "a");
  EXPECT_FALSE(rules_.begin_finish()) << "it is not written";
  EXPECT_EQ(write_all(), Names{"a"});
  EXPECT_FALSE(rules_.is_quiet());
  remove(a_);
  EXPECT_TRUE(rules_.is_quiet());
  EXPECT_TRUE(rules_.begin_finish());
  EXPECT_FALSE(rules_.begin_finish()) << "once";
  EXPECT_FALSE(rules_.has_ended());
}

TEST_F(StreamRulesTest, AnEndBeforeItsTimeCancelsWhatIsNotAnswered) {
  read_ordered(a_);
  read_ordered(b_);
  read(c_);
  push(b_, "b");
  push(c_, "c");
  Rules::Answer* writing = rules_.begin_write();
  ASSERT_NE(writing, nullptr);
  EXPECT_EQ(rules_.writing(), &c_);
  EXPECT_EQ(rules_.end(), (std::vector<Asked*>{&c_, &b_, &a_}));
  EXPECT_TRUE(rules_.has_ended());
  EXPECT_EQ(rules_.writing(), nullptr);
  EXPECT_EQ(push(a_, "a"), Rules::Push::kQueued) << "that is, dropped";
  EXPECT_FALSE(rules_.answered(a_));
  rules_.keep_order(a_);
  EXPECT_FALSE(rules_.begin_finish());
  EXPECT_EQ(rules_.end_write(true), nullptr) << "it was cancelled";
  EXPECT_EQ(rules_.begin_write(), nullptr);
  EXPECT_FALSE(rules_.begin_read());
  EXPECT_TRUE(rules_.begin_finish());
  for (Asked* request : {&a_, &b_, &c_}) remove(*request);
  EXPECT_TRUE(rules_.is_quiet());
}

TEST_F(StreamRulesTest, WhatIsReadyIsWrittenBeforeTheEndUnlessItIsDropped) {
  for (bool drop : {false, true}) {
    Rules rules{kLimits};
    Asked request;
    ASSERT_TRUE(rules.begin_read() && rules.end_read(true) && rules.add(request));
    Text message{"a"};
    rules.push(request, &message, 1, true, false);
    if (drop) rules.drop_answers();
    EXPECT_EQ(rules.end(), std::vector<Asked*>{&request});
    EXPECT_EQ(rules.begin_finish(), drop);
    Rules::Answer* answer = rules.begin_write();
    ASSERT_EQ(answer != nullptr, !drop);
    if (drop) continue;
    EXPECT_EQ(rules.end_write(true), nullptr);
    EXPECT_TRUE(rules.begin_finish());
  }
}

TEST_F(StreamRulesTest, AnAnswerThatDoesNotGetThereLeavesItsRequestForTheEnd) {
  read(a_);
  push(a_, "a");
  ASSERT_NE(rules_.begin_write(), nullptr);
  EXPECT_EQ(rules_.end_write(false), nullptr);
  EXPECT_EQ(rules_.end(), std::vector<Asked*>{&a_});
}

}  // namespace
}  // namespace atl::frontends

// Versions that are replaced or unloaded while sequences are open on them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kSequenceConfig = R"(
  backend: "fake" max_batch_size: 8
  input { name: "INPUT0" data_type: TYPE_FP32 dims: 4 }
  output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 4 }
  sequence_batching { direct { } })";

/// Sequences are open because a test says so.
class FakeSequences final : public SchedulerProvider {
 public:
  class Versions final : public Scheduler {
   public:
    explicit Versions(FakeSequences& owner) : owner_(owner) { owner_.live.push_back(this); }
    ~Versions() override { std::erase(owner_.live, this); }
    Status enqueue(Request&) noexcept override { return unavailable("refused"); }
    void stop_accepting() noexcept override {}
    uint64_t in_flight() const noexcept override { return 0; }
    uint64_t open_sequences() const noexcept override { return open.size(); }
    bool has_sequence(const SequenceId& id) const noexcept override { return open.contains(id.number); }
    void end_sequences() noexcept override {
      owner_.ended += open.size();
      open.clear();
    }
    std::set<uint64_t> open;

   private:
    FakeSequences& owner_;
  };

  virtual ~FakeSequences() = default;
  std::string_view kind() const noexcept override { return "sequence_direct"; }
  Result<std::unique_ptr<Scheduler>> create(const SchedulerContext&) noexcept override {
    return std::unique_ptr<Scheduler>(new Versions(*this));
  }
  std::vector<Versions*> live;  ///< in the order in which they were made
  uint64_t ended = 0;
};

class FinishingVersionsTest : public ::testing::Test {
 protected:
  FinishingVersionsTest() {
    bench_.host.registry().publish<SchedulerProvider>("sequences", sequences_);
    load();
  }
  ~FinishingVersionsTest() override { bench_.end(); }
  /// The model, with other files each time.
  void load() {
    bench_.put("m", kSequenceConfig);
    bench_.repository.touch("m", "1");
    EXPECT_EQ(bench_.load_one("m").text(), "OK");
  }
  ModelRef finishing(uint64_t sequence, int64_t version = ModelCatalog::kLatest) {
    return bench_.catalog().finishing("m", version, {sequence, {}});
  }

  FakeSequences sequences_;
  CatalogBench bench_;
};

TEST_F(FinishingVersionsTest, AReplacedVersionKeepsItsOpenSequences) {
  sequences_.live[0]->open = {7};
  EXPECT_FALSE(finishing(7)) << "it is served";
  load();
  ASSERT_EQ(sequences_.live.size(), 2u);
  EXPECT_EQ(bench_.catalog().open_sequences(), 1u);
  EXPECT_FALSE(finishing(8));
  EXPECT_FALSE(finishing(7, 2)) << "another version";
  ModelRef old = finishing(7, 1);
  ASSERT_TRUE(old);
  EXPECT_TRUE(old->has_sequence({7, {}}));
  auto current = bench_.catalog().acquire("m", ModelCatalog::kLatest);
  ASSERT_TRUE(current.ok());
  EXPECT_NE(current->get(), old.get());
  EXPECT_FALSE(current.value()->has_sequence({7, {}}));

  sequences_.live[0]->open.clear();
  bench_.host.run_for(kNsPerSecond);
  EXPECT_EQ(sequences_.live.size(), 2u) << "a request still holds it";
  old.reset();
  bench_.host.run_for(kNsPerSecond);
  EXPECT_EQ(sequences_.live.size(), 1u);
  EXPECT_EQ(sequences_.ended, 0u);
}

TEST_F(FinishingVersionsTest, SequencesThatGoOnForTooLongAreEnded) {
  sequences_.live[0]->open = {7, 8};
  load();
  bench_.host.run_for(19 * kNsPerSecond);
  EXPECT_EQ(sequences_.live.size(), 2u);
  bench_.host.run_for(2 * kNsPerSecond);
  EXPECT_EQ(sequences_.ended, 2u);
  EXPECT_EQ(sequences_.live.size(), 1u);
  EXPECT_FALSE(finishing(7));
}

TEST_F(FinishingVersionsTest, OfSeveralTheNewestHasTheSequence) {
  sequences_.live[0]->open = {7};
  load();
  sequences_.live[1]->open = {7};
  load();
  ModelRef newest = finishing(7);
  sequences_.live[1]->open.clear();
  ModelRef oldest = finishing(7);
  ASSERT_TRUE(newest);
  ASSERT_TRUE(oldest);
  EXPECT_NE(newest.get(), oldest.get());
}

TEST_F(FinishingVersionsTest, AnUnloadedVersionIsThereForItsSequencesOnly) {
  sequences_.live[0]->open = {7};
  bench_.unload({"m"});
  EXPECT_FALSE(bench_.catalog().acquire("m", ModelCatalog::kLatest).ok());
  EXPECT_THAT(bench_.index(), ElementsAre("m/1 UNLOADING"));
  EXPECT_TRUE(finishing(0)) << "for a request that is not read yet";
  EXPECT_TRUE(finishing(7));
  sequences_.live[0]->open.clear();
  bench_.host.run_for(kNsPerSecond);
  EXPECT_FALSE(finishing(0));
  EXPECT_THAT(bench_.index(), ElementsAre("m/1 UNAVAILABLE unloaded"));
}

TEST_F(FinishingVersionsTest, TheyEndWithTheCatalog) {
  sequences_.live[0]->open = {7};
  load();
  sequences_.live[1]->open = {9};
  bench_.end();
  EXPECT_TRUE(sequences_.live.empty());
  EXPECT_EQ(sequences_.ended, 1u) << "those of the version that finishes; the other one just goes";
}

}  // namespace
}  // namespace atl::models

// Loads and unloads of models with repository agents from many threads: no agent is told two things at a time, or in another
// order than it may be, and all of them end.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "atoll/models/repository_agents.h"
#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

constexpr int kRounds = 150;
const std::array<std::string, 2> kPrepared = {"a", "b"};

/// Counts agents, and what they are told that they must not be.
class CountedAgents final : public RepositoryAgents {
 public:
  virtual ~CountedAgents() = default;
  Result<std::unique_ptr<ModelAgent>> begin(const AgentOrder&) noexcept override {
    return std::make_unique<Agent>(*this, ++begun);
  }

  std::atomic<uint64_t> begun{0}, loaded{0}, ended{0}, wrong{0};

 private:
  struct Agent final : ModelAgent {
    Agent(CountedAgents& agents, uint64_t which) : all(agents), number(which) {}
    ~Agent() override {
      enter(step);
      ++all.ended;
    }
    Result<std::string> load(const std::string& location, const std::string&) noexcept override {
      enter(0);
      step = 1;
      busy = false;
      if (number % 7 == 0) return unavailable("every seventh one fails");
      return number % 2 == 0 ? location : std::string("/fake/there");
    }
    void loaded() noexcept override {
      proceed(1);
      ++all.loaded;
    }
    void unload() noexcept override { proceed(2); }
    void enter(int expected) {
      if (busy.exchange(true) || step != expected) ++all.wrong;
    }
    void proceed(int expected) {
      enter(expected);
      step = expected + 1;
      busy = false;
    }
    CountedAgents& all;
    const uint64_t number;
    int step = 0;
    std::atomic<bool> busy{false};
  };
};

void change(CatalogBench& bench, int round, const std::function<void()>& done) {
  const std::string& model = kPrepared[static_cast<size_t>(round) % kPrepared.size()];
  if (round % 3 == 0) return bench.catalog().unload({model}, [done](const auto&) { done(); });
  if (round % 5 == 0) bench.repository.touch(model, "1");
  bench.catalog().load({model}, [done](const auto&) { done(); });
}

TEST(AgentsTorture, EveryAgentIsToldWhatItMayBeAndEnds) {
  CatalogBench bench(CatalogBench::Threads::kReal);
  CountedAgents agents;
  bench.host.registry().publish<RepositoryAgents>("agents", agents);
  bench.put("there");
  for (const std::string& model : kPrepared) {
    bench.put(model,
              cat(kSimpleConfig, " model_repository_agents { agents { name: 'x' } agents { name: 'y' } }"));
    bench.repository.touch(model, "1");
  }
  std::atomic<int> calls{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int round = t; round < kRounds; ++round) {
        ++calls;
        change(bench, round, [&] { --calls; });
        if (auto held = bench.catalog().acquire("a", ModelCatalog::kLatest); held.ok())
          std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  while (calls != 0) std::this_thread::yield();
  bench.end();
  EXPECT_EQ(agents.wrong, 0U);
  EXPECT_GT(agents.loaded, 0U);
  EXPECT_EQ(agents.ended, agents.begun);
}

}  // namespace
}  // namespace atl::models

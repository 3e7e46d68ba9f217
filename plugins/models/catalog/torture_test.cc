// Loads, reloads, unloads and requests from many threads at once: every request gets exactly one answer or a
// documented refusal, and nothing is left.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <set>
#include <thread>

#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

constexpr int kRequestThreads = 4;
constexpr int kControlThreads = 2;
constexpr uint64_t kRequestsEach = 1500;
const std::array<std::string, 3> kModels = {"a", "b", "c"};

bool is_documented(const Status& status) {
  return status.code() == Code::kNotFound || status.code() == Code::kUnavailable;
}

/// Sends requests; counts the answers and what else came.
struct Client {
  ModelCatalog& catalog;
  std::atomic<uint64_t>& answered;
  std::atomic<uint64_t>& wrong;

  void send(uint64_t round) {
    auto model = catalog.acquire(kModels[round % kModels.size()], round % 5 == 0 ? 1 : ModelCatalog::kLatest);
    if (!model.ok()) {
      wrong += is_documented(model.status()) ? 0 : 1;
      return;
    }
    test::TestRequest request;
    fill_simple(request);
    Status status = request.infer(*model->get());
    if (!status.ok()) {
      wrong += is_documented(status) ? 0 : 1;
      return;
    }
    bool good = request.wait_done() && request.problems().empty() && request.response().code == Code::kOk;
    wrong += good ? 0 : 1;
    answered += 1;
  }
};

/// Loads of every kind, and unloads, each answered once.
void change_model(CatalogBench& bench, uint64_t round, const std::function<void()>& done) {
  ModelCatalog& catalog = bench.catalog();
  ModelLoadRequest request;
  request.model = kModels[round % kModels.size()];
  switch (round % 8) {
    case 1:
      request.config = R"(backend: "fake" max_batch_size: 4
        input { name: "INPUT0" data_type: TYPE_FP32 dims: 4 } output { name: "OUTPUT0" data_type: TYPE_FP32 dims: 4 })";
      break;
    case 3:
      request.config = kSimpleConfig;
      request.files = {{"1/model", "x"}, {"3/model", "y"}};
      break;
    case 5:
      return catalog.unload({request.model}, [done](const std::vector<ModelLoadResult>&) { done(); });
    case 6:
      return catalog.unload_model(request.model, true, [done](const Status&) { done(); });
    case 7:
      return catalog.load({request.model}, [done](const std::vector<ModelLoadResult>&) { done(); });
    default:
      bench.repository.touch(request.model, round % 3 == 0 ? "1" : "2");
  }
  catalog.load_model(std::move(request), [done](const ModelLoadOutcome&) { done(); });
}

void change_models(CatalogBench& bench, int seed, const std::atomic<bool>& stop,
                   std::atomic<uint64_t>& changes) {
  ModelCatalog& catalog = bench.catalog();
  for (uint64_t round = static_cast<uint64_t>(seed); !stop; ++round) {
    std::atomic<uint32_t> ended{0};
    change_model(bench, round, [&] { ++ended; });
    while (ended == 0) std::this_thread::yield();
    EXPECT_EQ(ended, 1u);
    ++changes;
    (void)catalog.index(false).ok();
    (void)catalog.statistics("", ModelCatalog::kLatest).ok();
    (void)catalog.ready();
  }
}

TEST(Torture, RequestsDuringLoadsAndUnloads) {
  CatalogBench bench(CatalogBench::Threads::kReal);
  for (const std::string& model : kModels) {
    bench.put(model, kSimpleConfig, {1, 2});
    for (const char* entry : {"1", "2", "config.pbtxt"}) bench.repository.touch(model, entry);
  }
  ModelCatalog& catalog = bench.catalog();
  std::atomic<uint64_t> answered{0}, wrong{0}, changes{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> control, clients;
  for (int i = 0; i < kControlThreads; ++i) {
    control.emplace_back([&, i] { change_models(bench, i, stop, changes); });
  }
  for (int i = 0; i < kRequestThreads; ++i) {
    clients.emplace_back([&, i] {
      Client client{catalog, answered, wrong};
      // Until a model is loaded for the first time every request is refused, however many there are.
      for (uint64_t round = 0; round < kRequestsEach || answered == 0; ++round) {
        client.send(round + static_cast<uint64_t>(i));
      }
    });
  }
  for (std::thread& thread : clients) thread.join();
  stop = true;
  for (std::thread& thread : control) thread.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(answered, 0U);
  EXPECT_GT(changes, 0U);
  bench.end();
  EXPECT_EQ(bench.backend.live_models(), 0);
  EXPECT_EQ(bench.backend.live_instances(), 0);
  EXPECT_EQ(bench.scheduler.live(), 0);
  EXPECT_EQ(bench.repository.private_directories, 0);
  EXPECT_EQ(bench.host.registry().holders(), 0U);
  EXPECT_EQ(bench.host.gate().count(), 0);
}

TEST(Torture, ReferencesMoveBetweenThreads) {
  CatalogBench bench(CatalogBench::Threads::kReal);
  bench.put("a");
  ModelCatalog& catalog = bench.catalog();
  for (int round = 0; round < 30; ++round) {
    std::atomic<bool> loaded{false};
    catalog.load({"a"}, [&](const std::vector<ModelLoadResult>&) { loaded = true; });
    while (!loaded) std::this_thread::yield();
    std::vector<ModelRef> held;
    for (int i = 0; i < 8; ++i) held.push_back(std::move(catalog.acquire("a", 1)).value());
    for (const ModelRef& one : held) {  // and copies made by holders
      one->add_reference();
      held.front()->drop_reference();
    }
    catalog.unload({"a"}, [](const std::vector<ModelLoadResult>&) {});
    std::vector<std::thread> threads;
    for (ModelRef& one : held) threads.emplace_back([mine = std::move(one)]() mutable { mine.reset(); });
    for (std::thread& thread : threads) thread.join();
  }
  bench.end();
  EXPECT_EQ(bench.backend.live_models(), 0);
  EXPECT_EQ(bench.host.gate().count(), 0);
}

}  // namespace
}  // namespace atl::models

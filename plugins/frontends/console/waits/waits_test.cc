#include <gtest/gtest.h>
#include <model_config.pb.h>

#include <string>

#include "atoll/core/text.h"
#include "atoll/testing/fake_catalog.h"
#include "frontends/console/waits/model_needs.h"
#include "frontends/console/waits/waiting_json.h"

namespace atl::frontends::console {
namespace {

inference::ModelConfig config_with(std::string_view resource, uint32_t count, bool is_global) {
  inference::ModelConfig config;
  config.set_max_batch_size(4);
  inference::ModelInstanceGroup& group = *config.add_instance_group();
  group.set_count(2);
  auto& needed = *group.mutable_rate_limiter()->add_resources();
  needed.set_name(std::string(resource));
  needed.set_count(count);
  needed.set_global(is_global);
  return config;
}

ModelNeeds needs_of(const inference::ModelConfig& config) {
  return model_needs(config.SerializeAsString()).value_or(ModelNeeds());
}

TEST(ModelNeeds, AreThoseOfTheConfiguration) {
  inference::ModelConfig config = config_with("R", 2, true);
  inference::ModelInstanceGroup& gpus = *config.add_instance_group();
  gpus.set_count(1);
  for (int gpu : {0, 1}) gpus.add_gpus(gpu);
  auto& more = *gpus.mutable_rate_limiter()->add_resources();
  more.set_name("R");
  more.set_count(3);
  more.set_global(true);
  config.add_instance_group()->set_passive(true);
  config.mutable_dynamic_batching()->set_max_queue_delay_microseconds(100);
  config.mutable_dynamic_batching()->mutable_default_queue_policy()->set_max_queue_size(7);
  const ModelNeeds needs = needs_of(config);
  EXPECT_EQ(needs.instances, 4U);
  EXPECT_EQ(needs.max_batch_size, 4U);
  EXPECT_TRUE(needs.is_dynamic);
  EXPECT_EQ(needs.queue_delay_us, 100U);
  EXPECT_EQ(needs.queue_size, 7U);
  ASSERT_EQ(needs.resources.size(), 1U);
  EXPECT_EQ(needs.resources[0].count, 3U);
  EXPECT_FALSE(model_needs("\xff\xff"));
}

TEST(Waiting, AResourceIsScarceIfTooFewCopiesAreFree) {
  const std::vector<ResourceUse> uses = {
      {"R", "global", 4, 3, 1}, {"R", "0", 4, 4, 1}, {"S", "global", 1, 1, 0}};
  const auto scarce = [&](std::string_view name, uint32_t count, bool is_global) {
    std::string found;
    for (const ResourceUse& one : scarce_of(uses, needs_of(config_with(name, count, is_global))))
      found += cat(one.name, " ", one.device, ";");
    return found;
  };
  EXPECT_EQ(scarce("R", 1, true), "") << "one is free";
  EXPECT_EQ(scarce("R", 2, true), "R global;");
  EXPECT_EQ(scarce("R", 1, false), "R 0;");
  EXPECT_EQ(scarce("S", 1, true), "") << "no instance waits for it";
  EXPECT_EQ(scarce("T", 1, true), "");
}

struct World {
  World() {
    for (const auto& [name, config] :
         {std::pair("stuck", config_with("R", 2, true)), std::pair("<b>", batching())}) {
      ModelInfo info;
      info.name = name;
      info.version = 1;
      info.config = config.SerializeAsString();
      catalog.add(info);
      look.pending.push_back({name, 1, 3, {2, 8000}});
    }
    look.pending.push_back({"gone", 1, 1, {}});
    look.pending_models = 3;
    const auto add = [&](std::string family, double value) {
      reading.families[std::move(family)].push_back({{{"resource", "R"}, {"device", "global"}}, value});
    };
    add("atoll_rate_limiter_resource_copies", 4);
    add("atoll_rate_limiter_resource_copies_in_use", 3);
    add("atoll_rate_limiter_waiting_instances", 1);
    reading.families["atoll_admission_waiting"] = {{{{"tenant", "a"}}, 5}, {{{"tenant", "b"}}, 0}};
    reading.families["atoll_sequence_backlog_length"] = {{{{"model", "chat"}, {"version", "1"}}, 2}};
    reading.families["atoll_sequences_open"] = {{{{"model", "idle"}, {"version", "1"}}, 2}};
  }
  static inference::ModelConfig batching() {
    inference::ModelConfig config;
    config.set_max_batch_size(4);
    config.mutable_dynamic_batching()->set_max_queue_delay_microseconds(100);
    return config;
  }
  std::string json(const Identity* identity = nullptr) {
    const ProcessStart start{"run", 1};
    return waiting_json({look, catalog, queues, reading, 20 * kNsPerSecond, start, identity, true});
  }
  ModelQueues* queues = nullptr;
  test::FakeModelCatalog catalog;
  CatalogLook look;
  CountReading reading;
};

/// May see one model, and is of one tenant.
class SeesOne final : public Identity {
 public:
  std::string_view name() const noexcept override { return "somebody"; }
  std::string_view tenant() const noexcept override { return "b"; }
  bool may(ApiCategory, std::string_view, std::string_view model) const noexcept override {
    return model == "stuck";
  }
  bool may_all(ApiCategory, std::string_view) const noexcept override { return false; }
  bool holds() const noexcept override { return true; }
};

TEST(Waiting, EachModelSaysForWhatItWaits) {
  World world;
  const std::string text = world.json();
  const std::string resource =
      R"([{"name":"R","device":"global","copies":4,"in_use":3,"waiting_instances":1}])";
  EXPECT_NE(
      text.find(cat(
          R"({"name":"stuck","version":"1","pending":3,"mean_queue_us":4,"instances":2,"max_batch_size":4,"queue_delay_us":0,"queue_size":0,)",
          R"("needs":[{"name":"R","count":2,"global":true}],"waits_for":"resource","scarce":)", resource,
          "}")),
      std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("needs":[],"waits_for":"batch","scarce":[]})"), std::string::npos) << text;
  EXPECT_NE(text.find(R"({"name":"gone","version":"1","pending":1,"mean_queue_us":0}],"matching":3)"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find(cat(R"("resources":)", resource, R"(,"tenants":[{"name":"a","running":0,"waiting":5,)")),
      std::string::npos)
      << text;
  EXPECT_EQ(text.find(R"("name":"b")"), std::string::npos) << "nothing of b waits";
  EXPECT_NE(text.find(R"("sequences":[{"model":"chat")"), std::string::npos) << text;
  EXPECT_EQ(text.find("idle"), text.find("idle_ended")) << "nothing of that model waits";
  world.look.pending[1].pending = 4;
  EXPECT_NE(world.json().find(R"("waits_for":"instance")"), std::string::npos) << "a batch is full";
}

/// Says of all models the same.
class FixedQueues final : public ModelQueues {
 public:
  virtual ~FixedQueues() = default;
  Result<ModelQueue> describe(std::string_view, int64_t) noexcept override {
    ModelQueue copy;
    copy.is_described = true;
    copy.queue = queue;
    copy.shortages = shortages;
    return copy;
  }
  Result<uint64_t> cancel_waiting(std::string_view, int64_t, uint64_t) noexcept override { return 0; }
  Status set_draining(std::string_view, int64_t, bool) noexcept override { return {}; }
  std::vector<DrainedVersion> draining() noexcept override { return {{"stuck", 1}, {"<b>", 2}}; }
  QueueDescription queue;
  std::vector<AdmissionShortage> shortages;
};

TEST(Waiting, WhoLooksIntoTheQueueKnows) {
  World world;
  FixedQueues queues;
  world.queues = &queues;
  queues.queue.requests = 3;
  queues.queue.oldest_ns = 18 * kNsPerSecond;
  queues.queue.sampled_bytes = 100;
  queues.queue.sampled_requests = 2;
  queues.queue.levels[0] = {2, 3, 19 * kNsPerSecond};
  queues.queue.level_count = 1;
  queues.queue.is_draining = true;
  const auto waits_for = [&](QueueWait what) {
    queues.queue.waits_for = what;
    const std::string text = world.json();
    const size_t begin = text.find(R"("waits_for":")") + 13;
    return text.substr(begin, text.find('"', begin) - begin);
  };
  EXPECT_EQ(waits_for(QueueWait::kInstance), "instance");
  EXPECT_EQ(waits_for(QueueWait::kRoom), "room");
  EXPECT_EQ(waits_for(QueueWait::kSlot), "slot");
  EXPECT_EQ(waits_for(QueueWait::kNothing), "nothing");
  EXPECT_EQ(waits_for(QueueWait::kAdmission), "turn");
  queues.shortages = {{"R", true, 0, 4, 3, 1, 2}};
  EXPECT_EQ(waits_for(QueueWait::kAdmission), "resource");
  const std::string text = world.json();
  EXPECT_NE(
      text.find(
          R"("queue":{"requests":3,"oldest_ms":2000,"input_bytes":100,"input_bytes_of":2,"levels":[{"priority":2,"requests":3,"oldest_ms":1000}],"draining":true},)"
          R"("shortages":[{"name":"R","device":"global","copies":4,"in_use":3,"kept":1,"needed":2}],"may_act":true})"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find(R"({"name":"<b>","version":"2","pending":0,)"), std::string::npos)
      << "one that is drained is listed, though nothing waits: " << text;
  queues.queue.waits_for = QueueWait::kBatch;
  queues.queue.batch_requests = 2;
  queues.queue.batch_size = 3;
  queues.queue.batch_size_max = 8;
  EXPECT_NE(world.json().find(R"("batch":{"requests":2,"size":3,"size_max":8}})"), std::string::npos);
  queues.queue.batch_goes_ns = 20 * kNsPerSecond + 5 * kNsPerMs;
  EXPECT_NE(world.json().find(R"("size_max":8,"goes_in_ms":5}})"), std::string::npos) << world.json();
  const SeesOne identity;
  EXPECT_NE(world.json(&identity).find(R"("matching":1,)"), std::string::npos);
}

TEST(Waiting, WhoSeesSomeSeesThose) {
  World world;
  const SeesOne identity;
  const std::string text = world.json(&identity);
  EXPECT_NE(text.find(R"("models":[{"name":"stuck")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("matching":1,"resources":[],"tenants":[],"sequences":[]})"), std::string::npos)
      << text;
  EXPECT_EQ(text.find(R"("running")"), std::string::npos) << text;
}

}  // namespace
}  // namespace atl::frontends::console

/// Mutated configurations, seeded, through every function: whatever comes in, an answer comes out.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <random>

#include "atoll/proto/model_config_json.h"
#include "configs/pbtxt/testing/config_fixture.h"

namespace atl::pbtxt {
namespace {

constexpr int kRounds = 6000;

constexpr const char* kSeeds[] = {
    R"(name: "m" backend: "identity" max_batch_size: 8
input [ { name: "a" data_type: TYPE_FP32 dims: [ 2, 4, -1, 6 ] reshape { shape: [ 8, -1, 1, 6 ] } } ]
output [ { name: "b" data_type: TYPE_STRING dims: [ 1 ] label_filename: "l.txt" } ]
dynamic_batching { preferred_batch_size: [ 2, 8 ] max_queue_delay_microseconds: 5 priority_levels: 2
  default_priority_level: 1 priority_queue_policy { key: 1 value { timeout_action: DELAY } } }
instance_group [ { count: 2 kind: KIND_CPU rate_limiter { resources [ { name: "R" count: 1 } ] } } ]
version_policy: { specific { versions: [ 1, 3 ] } } parameters { key: "k" value: { string_value: "v" } })",
    R"(platform: "ensemble" input { name: "i" data_type: TYPE_INT8 dims: 1 }
output { name: "o" data_type: TYPE_INT8 dims: 1 } ensemble_scheduling { step [
{ model_name: "x" model_version: -1 input_map { key: "p" value: "i" } output_map { key: "q" value: "t" } },
{ model_name: "y" model_version: -1 input_map { key: "p" value: "t" } output_map { key: "q" value: "o" } } ] })",
    R"(backend: "python" sequence_batching { max_sequence_idle_microseconds: 5 oldest { max_candidate_sequences: 4 }
control_input [ { name: "S" control [ { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } ] } ]
state [ { input_name: "i" output_name: "o" data_type: TYPE_FP32 dims: [ -1 ] initial_state: { name: "n"
data_type: TYPE_FP32 dims: [ 3 ] zero_data: true } } ] }
model_warmup [ { name: "w" batch_size: 1 inputs { key: "i" value { data_type: TYPE_FP32 dims: 3 random_data: true } } } ]
model_metrics { metric_control [ { metric_identifier { family: "f" } histogram_options { buckets: [ 0.5, 1 ] } } ] })",
};

constexpr const char* kTokens[] = {"{",
                                   "}",
                                   "<",
                                   ">",
                                   "[",
                                   "]",
                                   ":",
                                   ",",
                                   ";",
                                   "\"",
                                   "'",
                                   "-1",
                                   "0",
                                   "18446744073709551615",
                                   "1e999",
                                   "#",
                                   "\\377",
                                   "TYPE_FP64",
                                   "dims",
                                   "input",
                                   "name",
                                   "/",
                                   "..",
                                   "\n",
                                   "-",
                                   "9223372036854775808",
                                   "inf",
                                   "true",
                                   "ensemble_scheduling",
                                   "step"};

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  std::string text() {
    std::string text = kSeeds[below(std::size(kSeeds))];
    for (size_t changes = below(3) + 1; changes > 0; --changes) change(&text);
    return text;
  }
  void change(std::string* text) {
    size_t at = below(text->size() + 1);
    size_t count = std::min(below(20), text->size() - at);
    switch (below(7)) {
      case 0:
        text->erase(at, count);
        break;
      case 1:
        text->insert(at, kTokens[below(std::size(kTokens))]);
        break;
      case 2:
        text->insert(at, text->substr(below(text->size() + 1), 40));
        break;
      case 3:
        if (at < text->size()) (*text)[at] = static_cast<char>(below(256));
        break;
      case 4:
        at = text->find_first_of("0123456789", at);
        if (at != std::string::npos) (*text)[at] = static_cast<char>('0' + below(10));
        break;
      case 5:
        at = text->find_first_of(" \n", at);
        if (at != std::string::npos) text->insert(at, " # note\n");
        break;
      default:
        text->replace(at, count, kTokens[below(std::size(kTokens))]);
    }
  }
  size_t below(size_t bound) { return bound == 0 ? 0 : random_() % bound; }

 private:
  std::mt19937_64 random_;
};

/// What read() accepted must go through everything that follows, and be stable.
void follow(PbtxtModelConfigs& configs, const RepositoryModel& model, const std::string& bytes) {
  auto json = proto::model_config_json(bytes);
  EXPECT_TRUE(json.ok()) << model.config_text;
  std::vector<std::string> warnings;
  (void)configs.select_versions(bytes, model, &warnings).ok();
  auto finished = configs.finish(bytes);
  if (!finished.ok()) return;
  EXPECT_EQ(configs.finish(*finished).value(), *finished) << model.config_text;
  const int32_t gpus[] = {0, 1};
  for (auto usable : {std::span<const int32_t>(), std::span<const int32_t>(gpus)}) {
    auto groups = configs.finish_instance_groups(*finished, {}, usable);
    if (!groups.ok()) continue;
    EXPECT_EQ(configs.finish_instance_groups(*groups, {}, usable).value(), *groups) << model.config_text;
  }
}

TEST(Fuzz, MutatedTexts) {
  Mutator mutator(20240611);
  PbtxtModelConfigs strict({}, nullptr);
  PbtxtModelConfigs lenient({.unknown_fields = UnknownFields::kWarn, .instances_max = 8}, nullptr);
  int accepted = 0, refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    auto model = model_with(mutator.text(), {{1, "/models/m/1"}, {3, "/models/m/3"}});
    PbtxtModelConfigs& configs = round % 2 == 0 ? strict : lenient;
    auto bytes = configs.read(model, round % 3 == 0);
    if (bytes.ok()) {
      ++accepted;
      follow(configs, model, *bytes);
    } else {
      ++refused;
      EXPECT_FALSE(bytes.status().message().empty());
      EXPECT_LT(bytes.status().text().size(), 20'000u);
    }
  }
  EXPECT_GT(accepted, 200);
  EXPECT_GT(refused, 200);
}

TEST(Fuzz, MutatedJson) {
  google::protobuf::LogSilencer quiet;
  Mutator mutator(11);
  PbtxtModelConfigs configs({}, nullptr);
  std::vector<std::string> seeds;
  for (const char* text : kSeeds) {
    seeds.push_back(proto::model_config_json(configs.read(model_with(text), false).value()).value());
  }
  int accepted = 0, refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string json = seeds[mutator.below(seeds.size())];
    for (size_t changes = mutator.below(3); changes > 0; --changes) mutator.change(&json);
    auto model = model_with(json, {{1, "/models/m/1"}});
    auto bytes = configs.read_json(model, json, round % 3 == 0);
    bytes.ok() ? ++accepted : ++refused;
    if (bytes.ok()) follow(configs, model, *bytes);
  }
  EXPECT_GT(accepted, 200);
  EXPECT_GT(refused, 200);
}

TEST(Fuzz, MutatedBytes) {
  google::protobuf::LogSilencer quiet;  // the library reports every string that is not UTF-8
  Mutator mutator(7);
  PbtxtModelConfigs configs({}, nullptr);
  std::vector<std::string> seeds;
  for (const char* text : kSeeds) seeds.push_back(configs.read(model_with(text), false).value());
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = seeds[mutator.below(seeds.size())];
    for (size_t changes = mutator.below(4) + 1; changes > 0; --changes) mutator.change(&bytes);
    auto finished = configs.finish(bytes);
    if (finished.ok()) {
      follow(configs, model_with("", {{1, "/models/m/1"}}), *finished);
    }
    (void)proto::model_config_json(bytes).ok();
    (void)configs.finish_instance_groups(bytes, {}, {}).ok();
  }
}

}  // namespace
}  // namespace atl::pbtxt

#include "configs/pbtxt/normalise.h"

#include "configs/pbtxt/testing/config_fixture.h"

namespace atl::pbtxt {
namespace {

constexpr const char* kPinned =
    "optimization { input_pinned_memory { enable: true } output_pinned_memory { enable: true } } ";
constexpr const char* kLatest = "version_policy { latest { num_versions: 1 } } ";

TEST(Normalise, WritesOutWhatDependsOnOtherFields) {
  struct Case {
    std::string before, after;
  } cases[] = {
      {"", cat(kLatest, kPinned)},
      {"version_policy { all { } }", cat("version_policy { all { } } ", kPinned)},
      {"version_policy { latest { } }", cat("version_policy { latest { } } ", kPinned)},
      {"max_batch_size: 8 dynamic_batching { }",
       cat("max_batch_size: 8 dynamic_batching { preferred_batch_size: 8 } ", kLatest, kPinned)},
      {"max_batch_size: 8 dynamic_batching { preferred_batch_size: 2 }",
       cat("max_batch_size: 8 dynamic_batching { preferred_batch_size: 2 } ", kLatest, kPinned)},
      {"dynamic_batching { }", cat("dynamic_batching { } ", kLatest, kPinned)},
      {"sequence_batching { }",
       cat("sequence_batching { max_sequence_idle_microseconds: 1000000 } ", kLatest, kPinned)},
      {"sequence_batching { max_sequence_idle_microseconds: 5 }",
       cat("sequence_batching { max_sequence_idle_microseconds: 5 } ", kLatest, kPinned)},
      {"max_batch_size: 4 sequence_batching { oldest { } }",
       cat("max_batch_size: 4 sequence_batching { max_sequence_idle_microseconds: 1000000 oldest { "
           "preferred_batch_size: 4 } } ",
           kLatest, kPinned)},
      {"sequence_batching { oldest { } }",
       cat("sequence_batching { max_sequence_idle_microseconds: 1000000 oldest { } } ", kLatest, kPinned)},
      {"optimization { input_pinned_memory { } }",
       cat("optimization { input_pinned_memory { } output_pinned_memory { enable: true } } ", kLatest)},
      {"ensemble_scheduling { }", cat("ensemble_scheduling { } ", kLatest)},
  };
  for (const Case& c : cases) {
    auto config = config_of(c.before);
    for (int round = 0; round < 2; ++round) {
      normalise(&config);
      EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(config, config_of(c.after)))
          << c.before << " became " << config.ShortDebugString();
    }
  }
}

}  // namespace
}  // namespace atl::pbtxt

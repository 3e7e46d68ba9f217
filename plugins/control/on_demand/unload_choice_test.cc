#include "control/on_demand/unload_choice.h"

#include <gtest/gtest.h>

#include "atoll/core/clock.h"

namespace atl::control {
namespace {

constexpr uint64_t kMiB = 1 << 20;

std::vector<std::string> names(const std::vector<UnloadChoice>& choices) {
  std::vector<std::string> names;
  for (const UnloadChoice& choice : choices) names.push_back(choice.name);
  return names;
}

using Names = std::vector<std::string>;

TEST(UnloadChoice, IdleModelsGoUnlessTheyArePinned) {
  std::vector<LoadedModel> models{{"fresh", kNsPerSecond, kMiB, false},
                                  {"old", 11 * kNsPerSecond, kMiB, false},
                                  {"kept", 99 * kNsPerSecond, kMiB, true},
                                  {"older", 12 * kNsPerSecond, kMiB, false}};
  EXPECT_EQ(names(choose_idle(models, 10 * kNsPerSecond)), (Names{"older", "old"}));
  EXPECT_EQ(names(choose_idle(models, 11 * kNsPerSecond)), (Names{"older", "old"})) << "at that time already";
  EXPECT_EQ(names(choose_idle(models, 0)), Names{}) << "never";
}

TEST(UnloadChoice, TheLeastRecentlyUsedMakeRoom) {
  std::vector<LoadedModel> models{{"a", 1, 4 * kMiB, false},
                                  {"b", 3, 4 * kMiB, false},
                                  {"c", 2, 4 * kMiB, false},
                                  {"p", 9, 4 * kMiB, true}};
  EXPECT_EQ(names(choose_for_room(models, 20 * kMiB, 4 * kMiB, "new")), Names{}) << "it just fits";
  EXPECT_EQ(names(choose_for_room(models, 20 * kMiB, 4 * kMiB + 1, "new")), Names{"b"});
  EXPECT_EQ(names(choose_for_room(models, 12 * kMiB, 4 * kMiB, "new")), (Names{"b", "c"}));
  EXPECT_EQ(names(choose_for_room(models, kMiB, 0, "b")), (Names{"c", "a"})) << "not what the room is for";
  EXPECT_EQ(names(choose_for_room(models, 0, 99 * kMiB, "new")), Names{}) << "no budget";
}

TEST(UnloadChoice, TheReasonSaysWhatWasConsidered) {
  std::vector<LoadedModel> models{{"a", 1500 * kNsPerMs, 2 * kMiB, false},
                                  {"b", 61 * kNsPerSecond, 4 * kMiB + kMiB / 2, false},
                                  {"p", 9, 300, true}};
  std::vector<UnloadChoice> choices = choose_for_room(models, 5 * kMiB, kMiB, "new");
  ASSERT_EQ(choices.size(), 1u);
  EXPECT_EQ(
      choices[0].reason,
      "least recently used: idle for 61.0 s, about 4.5 MiB; 'new' and what is loaded take about 7.5 MiB, "
      "memory_budget is 5.0 MiB; considered as well: 'a' (idle for 1.5 s, about 2.0 MiB); pinned: 'p'");
  choices = choose_idle({models[1]}, kNsPerSecond);
  ASSERT_EQ(choices.size(), 1u);
  EXPECT_EQ(choices[0].reason,
            "idle for 61.0 s, about 4.5 MiB; unload_after is 1.0 s; no other model is loaded");
}

TEST(UnloadChoice, TheReasonStaysShort) {
  std::vector<LoadedModel> models;
  for (int i = 0; i < 100; ++i) models.push_back({"m" + std::to_string(i), 100 - i, kMiB, i % 2 == 1});
  std::vector<UnloadChoice> choices = choose_for_room(models, 99 * kMiB, 0, "m0");
  ASSERT_EQ(choices.size(), 1u);
  EXPECT_EQ(choices[0].name, "m2");
  EXPECT_TRUE(choices[0].reason.ends_with("; and 88 more")) << choices[0].reason;
  EXPECT_LT(choices[0].reason.size(), 1000u);
}

}  // namespace
}  // namespace atl::control

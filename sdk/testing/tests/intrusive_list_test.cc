#include "atoll/core/intrusive_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "atoll/testing/random.h"

namespace atl {
namespace {

struct Item {
  int number = 0;
  Item* next = nullptr;
  Item* other_next = nullptr;
};

using List = IntrusiveList<Item>;

std::vector<int> take_all(List& list) {
  std::vector<int> numbers;
  while (Item* item = list.pop_front()) numbers.push_back(item->number);
  return numbers;
}

TEST(IntrusiveList, FirstInFirstOut) {
  Item items[] = {{1}, {2}, {3}};
  List list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.front(), nullptr);
  EXPECT_EQ(list.pop_front(), nullptr);
  for (Item& item : items) list.push_back(item);
  EXPECT_EQ(list.front(), &items[0]);
  EXPECT_EQ(take_all(list), (std::vector{1, 2, 3}));
  EXPECT_TRUE(list.empty());
  list.push_back(items[1]);
  EXPECT_EQ(take_all(list), std::vector{2}) << "and again";
}

TEST(IntrusiveList, AnyOneMayBeTakenOut) {
  for (size_t i = 0; i < 3; ++i) {
    Item items[] = {{0}, {1}, {2}}, stranger;
    List list;
    for (Item& item : items) list.push_back(item);
    EXPECT_FALSE(list.remove(stranger));
    EXPECT_TRUE(list.remove(items[i]));
    EXPECT_FALSE(list.remove(items[i]));
    list.push_back(items[i]);
    std::vector<int> expected = {0, 1, 2};
    std::rotate(expected.begin() + static_cast<int64_t>(i), expected.begin() + static_cast<int64_t>(i) + 1,
                expected.end());
    EXPECT_EQ(take_all(list), expected);
  }
}

TEST(IntrusiveList, AnObjectMayBeInTwoListsOfTwoMembers) {
  Item one{1}, two{2};
  List list;
  IntrusiveList<Item, &Item::other_next> other;
  list.push_back(one);
  list.push_back(two);
  other.push_back(two);
  other.push_back(one);
  EXPECT_EQ(take_all(list), (std::vector{1, 2}));
  EXPECT_EQ(other.pop_front(), &two);
  EXPECT_EQ(other.pop_front(), &one);
}

TEST(IntrusiveList, DoesWhatADequeDoes) {
  test::Random random(5);
  std::vector<Item> items(20);
  for (int i = 0; i < 20; ++i) items[static_cast<size_t>(i)].number = i;
  List list;
  std::deque<Item*> expected;
  for (int step = 0; step < 5000; ++step) {
    Item& item = items[random.below(items.size())];
    const auto place = std::find(expected.begin(), expected.end(), &item);
    if (random.chance(30)) {
      EXPECT_EQ(list.remove(item), place != expected.end());
      if (place != expected.end()) expected.erase(place);
    } else if (random.chance(40)) {
      EXPECT_EQ(list.pop_front(), expected.empty() ? nullptr : expected.front());
      if (!expected.empty()) expected.pop_front();
    } else if (place == expected.end()) {
      list.push_back(item);
      expected.push_back(&item);
    }
    ASSERT_EQ(list.front(), expected.empty() ? nullptr : expected.front());
  }
}

}  // namespace
}  // namespace atl

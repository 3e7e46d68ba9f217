#include "atoll/core/option_table.h"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "atoll/core/text.h"

namespace atl {
namespace {

constexpr OptionTable kTable{
    option_bool("flag", true).help("A flag."),
    option_int("count", -3).range(INT64_MIN, 10).help("A number."),
    option_int("unset").help("No default."),
    option_float("ratio", 0.05).at_least(0.001).help("A ratio."),
    option_float("large", -1500.0).at_most(1e9).help("A number."),
    option_string("mode", "fast").choices("fast|slow").help("How."),
    option_string("path").required().help("Where."),
    option_duration("timeout", "30s").range("0s", "1h").help("How long."),
    option_bytes("size", "64MiB").at_most("1GiB").help("How large."),
    option_string_list("names", {"a", "b c"}).help("Which."),
    option_string_list("none").help("Which."),
    option_string_list("paths").required().help("Which."),
    option_string_map("labels").help("What."),
};

std::string row_text(const atoll_option_v1& row) {
  auto text = [](const char* part) { return std::string(part == nullptr ? "-" : part); };
  return cat(row.key, " ", row.type, " ", row.flags, " ", text(row.default_value), " ", text(row.minimum),
             " ", text(row.maximum), " ", text(row.choices), " ", text(row.help));
}

TEST(OptionTable, RowsAreThoseOfTheDescriptor) {
  std::span<const atoll_option_v1> rows = kTable;
  std::string all;
  for (const atoll_option_v1& row : rows) all += row_text(row) + "\n";
  EXPECT_EQ(all,
            "flag 0 0 true - - - A flag.\n"
            "count 1 0 -3 -9223372036854775808 10 - A number.\n"
            "unset 1 0 - - - - No default.\n"
            "ratio 2 0 0.05 0.001 - - A ratio.\n"
            "large 2 0 -1500 - 1000000000 - A number.\n"
            "mode 3 0 fast - - fast|slow How.\n"
            "path 3 1 - - - - Where.\n"
            "timeout 4 0 30s 0s 1h - How long.\n"
            "size 5 0 64MiB - 1GiB - How large.\n"
            "names 6 0 [\"a\", \"b c\"] - - - Which.\n"
            "none 6 0 [] - - - Which.\n"
            "paths 6 1 - - - - Which.\n"
            "labels 7 0 {} - - - What.\n");
}

/// Whether what the function does may stand in a constant.
template <auto kMake>
concept Compiles = requires {
  typename std::bool_constant<(kMake(), true)>;
};

template <class Draft>
concept HasRange = requires(Draft draft) {
  draft.range(1, 2);
}
|| requires(Draft draft) { draft.range("", ""); };
template <class Draft>
concept HasChoices = requires(Draft draft) {
  draft.choices("a|b");
};

static_assert(HasRange<decltype(option_int("x"))> && HasRange<decltype(option_duration("x"))>);
static_assert(!HasRange<decltype(option_string("x"))> && !HasRange<decltype(option_string_list("x"))>);
static_assert(HasChoices<decltype(option_string("x"))>);
static_assert(!HasChoices<decltype(option_int("x"))> && !HasChoices<decltype(option_string_list("x"))>);

static_assert(Compiles<[] { (void)option_int("x", 1).range(1, 2).help("A number."); }>);
static_assert(!Compiles<[] { (void)option_int("x", 0).range(1, 2).help("A number."); }>);
static_assert(!Compiles<[] { (void)option_int("x", 3).range(1, 2).help("A number."); }>);
static_assert(!Compiles<[] { (void)option_int("x").range(2, 1).help("A number."); }>);
static_assert(!Compiles<[] { (void)option_int("x", 1).required().help("A number."); }>);
static_assert(!Compiles<[] { (void)option_int("x", 1).help(""); }>);
static_assert(!Compiles<[] { (void)option_int("X", 1).help("A number."); }>);
static_assert(!Compiles<[] { (void)option_float("x", 0.1234567890123456).help("A number."); }>);
static_assert(!Compiles<[] { (void)option_duration("x", "5").help("How long."); }>);
static_assert(!Compiles<[] { (void)option_duration("x", "2h").at_most("1h").help("How long."); }>);
static_assert(!Compiles<[] { (void)option_bytes("x", "5KB").help("How large."); }>);
static_assert(!Compiles<[] { (void)option_string("x", "c").choices("a|b").help("How."); }>);
static_assert(!Compiles<[] { (void)option_string_list("x", {"a\"b"}).help("Which."); }>);
static_assert(Compiles<[] {
  (void)OptionTable{option_int("x").help("A number."), option_bool("y", true).help("A flag.")};
}>);
static_assert(!Compiles<[] {
  (void)OptionTable{option_int("x").help("A number."), option_bool("x", true).help("A flag.")};
}>);

}  // namespace
}  // namespace atl

#include "backends/cuda/code/expression.h"

#include <gtest/gtest.h>

#include <limits>

namespace atl::cuda_backend {
namespace {

TensorTable expression_table() {
  TensorTable table;
  table.batches = true;
  table.tensors = {{"IMAGE", DataType::kFp32, false, false, {-1, 3, -1}},
                   {"a/b:0", DataType::kInt8, false, false, {-1}},
                   {"B", DataType::kInt64, false, true, {-1, 2}},
                   {"SCORES", DataType::kFp16, true, false, {-1, 10}},
                   {"min", DataType::kInt8, true, false, {-1}}};
  return table;
}

class Expressions : public testing::Test {
 protected:
  Expressions() {
    extents_.set_batch(4);
    set(0, {4, 3, 5});
    set(1, {4});
    set(3, {4, 10});
    set(4, {4});
  }
  void set(uint32_t slot, std::vector<int64_t> shape) { ASSERT_TRUE(extents_.set(slot, shape).ok()); }
  int64_t value(std::string_view text) {
    Result<Expression> parsed = Expression::parse(text, table_);
    if (!parsed.ok()) ADD_FAILURE() << parsed.status().text();
    Result<int64_t> result = parsed.ok() ? parsed->evaluate(extents_) : Result<int64_t>(-12345);
    if (!result.ok()) ADD_FAILURE() << result.status().text();
    return result.ok() ? *result : -12345;
  }
  std::string parse_error(std::string_view text) {
    Result<Expression> parsed = Expression::parse(text, table_);
    if (parsed.ok()) return "it was taken";
    EXPECT_EQ(parsed.status().code(), Code::kInvalidArgument);
    return std::string(parsed.status().message());
  }
  std::string error(std::string_view text) {
    Result<Expression> parsed = Expression::parse(text, table_);
    if (!parsed.ok()) return cat("not taken: ", parsed.status().message());
    Result<int64_t> result = parsed->evaluate(extents_);
    if (result.ok()) return cat("is ", *result);
    EXPECT_EQ(result.status().code(), Code::kInvalidArgument);
    return std::string(result.status().message());
  }

  const TensorTable table_ = expression_table();
  BatchExtents extents_{table_};
};

TEST_F(Expressions, CountAsInCxx) {
  EXPECT_EQ(value("1 + 2 * 3"), 7);
  EXPECT_EQ(value("(1+2)*3"), 9);
  EXPECT_EQ(value("10 - 3 - 2"), 5);
  EXPECT_EQ(value("100 / 7 / 2"), 7);
  EXPECT_EQ(value("17 % 5 * 2"), 4);
  EXPECT_EQ(value("-7 / 2"), -3);
  EXPECT_EQ(value("2 - -3"), 5);
  EXPECT_EQ(value("--3"), 3);
  EXPECT_EQ(value("\t1\n+ 1 "), 2);
  EXPECT_EQ(value("9223372036854775807"), std::numeric_limits<int64_t>::max());
}

TEST_F(Expressions, HaveFunctions) {
  EXPECT_EQ(value("ceil_div(7, 4)"), 2);
  EXPECT_EQ(value("ceil_div(8, 4)"), 2);
  EXPECT_EQ(value("ceil_div(0, 4)"), 0);
  EXPECT_EQ(value("ceil_div(-7, 4)"), -1);
  EXPECT_EQ(value("ceil_div(9223372036854775807, 2)"), 4611686018427387904);
  EXPECT_EQ(value("align(1, 256)"), 256);
  EXPECT_EQ(value("align(256, 256)"), 256);
  EXPECT_EQ(value("align(-1, 256)"), 0);
  EXPECT_EQ(value("min(3, 2)"), 2);
  EXPECT_EQ(value("max(1, 5, ceil_div(B * 2, 3), 4)"), 5);
  EXPECT_EQ(value("min(9, max(B, 1), 7)"), 4);
}

TEST_F(Expressions, KnowTheBatchAndItsTensors) {
  EXPECT_EQ(value("B"), 4);
  EXPECT_EQ(value("IMAGE.shape[0] * IMAGE.shape[ 2 ]"), 20);
  EXPECT_EQ(value("IMAGE.count"), 60);
  EXPECT_EQ(value("IMAGE.bytes"), 240);
  EXPECT_EQ(value("SCORES.bytes"), 80);
  EXPECT_EQ(value("'a/b:0'.count + 1"), 5);
  EXPECT_EQ(value("min.count + min(1, 2)"), 5) << "a tensor may have a function's name";
  EXPECT_EQ(value("B.count"), 0) << "and the batch's; nobody sent it";
  extents_.set_batch(1);
  set(0, {1, 3, 0});
  EXPECT_EQ(value("B + IMAGE.bytes"), 1);
}

TEST_F(Expressions, SayWhatTheyAreMadeOf) {
  EXPECT_TRUE(Expression::parse("min(2, 3) * -4", table_)->is_constant());
  EXPECT_FALSE(Expression::parse("1 + B", table_)->is_constant());
  EXPECT_FALSE(Expression::parse("IMAGE.bytes", table_)->is_constant());
  EXPECT_FALSE(Expression::parse("IMAGE.bytes * B", table_)->uses_outputs(table_));
  EXPECT_TRUE(Expression::parse("1 + SCORES.shape[0]", table_)->uses_outputs(table_));
  EXPECT_EQ(Expression().evaluate(extents_).value(), 0);
  EXPECT_EQ(Expression(-5).evaluate(extents_).value(), -5);
  EXPECT_EQ(Expression(-5).text(), "-5");
}

TEST_F(Expressions, RefuseWhatTheyDoNotKnow) {
  EXPECT_EQ(parse_error("IMAGES.count"),
            "expression 'IMAGES.count': found 'IMAGES', expected an input or output of the model");
  EXPECT_EQ(
      parse_error("IMAGE.shape[3]"),
      "expression 'IMAGE.shape[3]': found dimension '3' of 'IMAGE', expected a number less than 3, the number "
      "of its dimensions");
  EXPECT_EQ(
      parse_error("IMAGE.size"),
      "expression 'IMAGE.size': found 'IMAGE.size', expected IMAGE.shape[i], IMAGE.count or IMAGE.bytes");
  EXPECT_EQ(
      parse_error("IMAGE"),
      "expression 'IMAGE': found 'IMAGE', expected B, a function, or a tensor with .shape[i], .count or .bytes");
  EXPECT_EQ(parse_error("floor(1, 2)"),
            "expression 'floor(1, 2)': found function 'floor', expected ceil_div, align, min or max");
  EXPECT_EQ(parse_error("1 +"), "expression '1 +': found the end at 4, expected a number, a name or '('");
  EXPECT_EQ(parse_error(""), "expression '': found the end at 1, expected a number, a name or '('");
  EXPECT_EQ(parse_error("(1"), "expression '(1': found the end at 3, expected ')'");
  EXPECT_EQ(parse_error("1 2"), "expression '1 2': found '2' at 3, expected an operator or the end");
  EXPECT_EQ(parse_error("min(1)"), "expression 'min(1)': found ')' at 6, expected ',' and a second argument");
  EXPECT_EQ(parse_error("align(1, 2, 3)"), "expression 'align(1, 2, 3)': found ',' at 11, expected ')'");
  EXPECT_EQ(parse_error("'a/b:0"), "expression ''a/b:0': found a name without its end, expected '\\''");
  for (const char* text :
       {"9223372036854775808", "0x10", "1.5", "1e3", "12ab", "IMAGE.shape[-1]", "IMAGE.shape[B]",
        "IMAGE.shape", "IMAGE.shape[1", "'a/b:0'", "$", "B()", ")", "IMAGE..count", "+1"})
    EXPECT_NE(parse_error(text), "it was taken") << text;
}

TEST_F(Expressions, NeverLeave64Bits) {
  EXPECT_EQ(error("9223372036854775807 + 1"),
            "expression '9223372036854775807 + 1': a number leaves 64 bits");
  EXPECT_EQ(error("B * 4611686018427387904"),
            "expression 'B * 4611686018427387904': a number leaves 64 bits");
  EXPECT_EQ(error("-9223372036854775807 - 2"),
            "expression '-9223372036854775807 - 2': a number leaves 64 bits");
  EXPECT_EQ(error("(-9223372036854775807 - 1) / -1"),
            "expression '(-9223372036854775807 - 1) / -1': a number leaves 64 bits");
  EXPECT_EQ(error("-(-9223372036854775807 - 1)"),
            "expression '-(-9223372036854775807 - 1)': a number leaves 64 bits");
  EXPECT_EQ(error("align(9223372036854775807, 256)"),
            "expression 'align(9223372036854775807, 256)': a number leaves 64 bits");
  EXPECT_EQ(error("1 / (B - 4)"), "expression '1 / (B - 4)': division by zero");
  EXPECT_EQ(error("1 % 0"), "expression '1 % 0': division by zero");
  EXPECT_EQ(error("ceil_div(1, 0)"),
            "expression 'ceil_div(1, 0)': the second argument of ceil_div and align has to be positive");
  EXPECT_EQ(error("align(1, -2)"),
            "expression 'align(1, -2)': the second argument of ceil_div and align has to be positive");
}

TEST_F(Expressions, AreBounded) {
  const std::string open(31, '('), close(31, ')');
  EXPECT_EQ(value(open + "1" + close), 1);
  const std::string deep = "(" + open + "1" + close + ")";
  EXPECT_EQ(parse_error(deep), "expression '" + deep + "': is nested deeper than 32 levels");
  EXPECT_NE(parse_error(std::string(1000, '-') + "1"), "it was taken");
  std::string calls;
  for (int i = 0; i < 40; ++i) calls += "min(1,";
  EXPECT_NE(parse_error(calls), "it was taken");
  std::string sum = "1";
  for (int i = 0; i < 500; ++i) sum += "+1";
  EXPECT_EQ(value(sum), 501) << "what is not nested may be long";
  EXPECT_EQ(parse_error(std::string(1025, '1')), "expression: found 1025 bytes, expected at most 1024");
}

}  // namespace
}  // namespace atl::cuda_backend

#include "schedulers/common/batch/batch_compatibility.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "atoll/testing/recording_sink.h"

namespace atl::schedulers {
namespace {

using test::TestRequest;

std::unique_ptr<TestRequest> make(const std::function<void(TestRequest&)>& fill) {
  auto request = std::make_unique<TestRequest>();
  fill(*request);
  return request;
}

std::unique_ptr<TestRequest> with(std::string_view name, const std::vector<int64_t>& shape) {
  auto request = std::make_unique<TestRequest>();
  request->add_raw_input(name, DataType::kFp32, shape, {});
  return request;
}

BatchCompatibility comparing(std::vector<BatchCompatibility::Input> inputs, bool batches,
                             bool has_optional = false) {
  BatchCompatibility rules;
  rules.compared = std::move(inputs);
  rules.has_optional_inputs = has_optional;
  rules.has_batch_dimension = batches;
  return rules;
}

/// Both ways round: fitting is symmetric.
bool fit(const BatchCompatibility& rules, TestRequest& a, TestRequest& b) {
  bool fits = rules.fit(*a, *b);
  EXPECT_EQ(rules.fit(*b, *a), fits);
  return fits;
}

TEST(BatchCompatibility, WithNothingToCompareEverythingFits) {
  BatchCompatibility rules = comparing({}, true);
  auto a = with("X", {1, 2}), b = with("Y", {3, 4, 5});
  EXPECT_TRUE(fit(rules, *a, *b));
}

TEST(BatchCompatibility, VariableDimensions) {
  struct Row {
    bool batches;
    std::vector<int64_t> a, b;
    bool expected;
  };
  const Row kRows[] = {
      {true, {1, 4}, {1, 4}, true},
      {true, {1, 4}, {7, 4}, true},  // the batch dimension does not count
      {true, {1, 4}, {1, 5}, false},
      {true, {1, 4, 2}, {1, 4, 3}, false},
      {true, {1, 4}, {1, 4, 1}, false},
      {true, {1}, {2}, true},
      {true, {}, {}, true},
      {true, {}, {1}, false},
      {false, {4}, {4}, true},
      {false, {4}, {5}, false},
      {false, {4, 1}, {4, 2}, false},
      {false, {}, {}, true},
      {true, {0, 0}, {3, 0}, true},
  };
  for (const Row& row : kRows) {
    BatchCompatibility rules = comparing({{"X", false, -1}}, row.batches);
    auto a = with("X", row.a), b = with("X", row.b);
    EXPECT_EQ(fit(rules, *a, *b), row.expected)
        << ::testing::PrintToString(row.a) << " and " << ::testing::PrintToString(row.b);
  }
}

TEST(BatchCompatibility, EveryComparedInputMustAgree) {
  BatchCompatibility rules = comparing({{"X", false, -1}, {"Y", false, -1}}, true);
  auto both = [](int64_t x, int64_t y) {
    return make([&](TestRequest& request) {
      request.add_raw_input("Y", DataType::kFp32, {1, y}, {});
      request.add_raw_input("X", DataType::kFp32, {1, x}, {});
      request.add_raw_input("free", DataType::kFp32, {1, x + y}, {});
    });
  };
  auto first = both(2, 3);
  EXPECT_TRUE(fit(rules, *first, *both(2, 3)));
  EXPECT_FALSE(fit(rules, *first, *both(2, 4)));
  EXPECT_FALSE(fit(rules, *first, *both(4, 3)));
}

TEST(BatchCompatibility, AComparedInputIsMissing) {
  BatchCompatibility rules = comparing({{"X", false, -1}}, true);
  auto given = with("X", {1, 2}), missing = with("Y", {1, 2}), empty = make([](TestRequest&) {});
  EXPECT_FALSE(fit(rules, *given, *missing));
  EXPECT_TRUE(fit(rules, *missing, *empty)) << "in neither of them";
}

TEST(BatchCompatibility, OptionalInputs) {
  struct Row {
    std::vector<std::string> a, b;
    bool expected;
  };
  const Row kRows[] = {
      {{}, {}, true},        {{"A"}, {"A"}, true},       {{"A", "B"}, {"B", "A"}, true},  {{"A"}, {}, false},
      {{"A"}, {"B"}, false}, {{"A"}, {"A", "B"}, false}, {{"A", "B"}, {"A", "C"}, false},
  };
  for (const Row& row : kRows) {
    auto named = [](const std::vector<std::string>& names) {
      return make([&](TestRequest& request) {
        for (const std::string& name : names) request.add_raw_input(name, DataType::kFp32, {1}, {});
      });
    };
    auto a = named(row.a), b = named(row.b);
    EXPECT_EQ(fit(comparing({}, true, true), *a, *b), row.expected)
        << ::testing::PrintToString(row.a) << " and " << ::testing::PrintToString(row.b);
    EXPECT_TRUE(fit(comparing({}, true), *a, *b));
  }
}

/// A request with a shape tensor "S".
std::unique_ptr<TestRequest> shape_tensor(const std::vector<int32_t>& values) {
  return make([&](TestRequest& request) {
    request.add_input<int32_t>("S", DataType::kInt32, {static_cast<int64_t>(values.size())}, values);
  });
}

TEST(BatchCompatibility, ShapeTensors) {
  struct Row {
    const char* what;
    bool batches;
    int64_t dim;  ///< of the configuration
    std::vector<int32_t> a, b;
    bool expected;
  };
  const Row kRows[] = {
      {"the same", false, 2, {4, 6}, {4, 6}, true},
      {"other last value", false, 2, {4, 6}, {4, 7}, false},
      {"other first value", false, 2, {4, 6}, {5, 6}, false},
      {"other length", false, -1, {4, 6}, {4, 6, 6}, false},
      {"a zero byte hides nothing", false, 2, {0, 6}, {0, 7}, false},
      {"batch sizes differ, values do not", true, 2, {1, 4, 6}, {2, 4, 6}, true},
      {"batch sizes and a value differ", true, 2, {1, 4, 6}, {2, 4, 7}, false},
      {"batch sizes and the first value differ", true, 2, {1, 4, 6}, {2, 5, 6}, false},
      {"no batch size in front", true, 2, {4, 6}, {5, 6}, false},
      {"no batch size in front, the same", true, 2, {4, 6}, {4, 6}, true},
      {"one value, no batch size", true, 1, {4}, {5}, false},
      {"no telling whether there is a batch size", true, -1, {1, 6}, {2, 6}, false},
      {"no telling, the same", true, -1, {1, 6}, {1, 6}, true},
      {"with and without a batch size", true, 2, {1, 4, 6}, {4, 6}, false},
      {"empty", true, -1, {}, {}, true},
  };
  for (const Row& row : kRows) {
    BatchCompatibility rules = comparing({{"S", true, row.dim}}, row.batches);
    auto a = shape_tensor(row.a), b = shape_tensor(row.b);
    EXPECT_EQ(fit(rules, *a, *b), row.expected) << row.what;
  }
}

TEST(BatchCompatibility, ShapeTensorsThatCanNotBeReadDoNotFit) {
  BatchCompatibility rules = comparing({{"S", true, 2}}, false);
  std::string bytes = test::bytes_of<int32_t>({4, 6});
  auto whole = shape_tensor({4, 6});
  auto cut =
      make([&](TestRequest& request) { request.add_raw_input("S", DataType::kInt32, {2}, bytes, {4}); });
  EXPECT_FALSE(fit(rules, *whole, *cut)) << "in several buffers";
  EXPECT_FALSE(rules.fit(**cut, **cut));

  for (MemoryKind kind : {MemoryKind::kGpu, MemoryKind::kCpuPinned}) {
    auto placed = shape_tensor({4, 6});
    InputTensor& input = *const_cast<InputTensor*>((**placed).find_input("S"));
    const_cast<Buffer&>(input.buffers[0]).kind = kind;
    EXPECT_EQ(fit(rules, *whole, *placed), kind == MemoryKind::kCpuPinned);
  }
}

}  // namespace
}  // namespace atl::schedulers

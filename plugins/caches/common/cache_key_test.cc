#include "caches/common/cache_key.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "atoll/testing/fake_catalog.h"
#include "atoll/testing/recording_sink.h"

namespace atl::caches {
namespace {

using test::TestRequest;

constexpr uint64_t kLoad = 1, kSeed = 42;

class CacheKeyTest : public ::testing::Test {
 protected:
  using Values = std::vector<float>;
  /// Of a request with these inputs, which ask for these outputs.
  CacheKey key(const std::vector<std::pair<std::string, Values>>& inputs,
               const std::vector<std::string>& outputs = {"OUTPUT0"}) {
    TestRequest request;
    request->model = &model_;
    for (const auto& [name, values] : inputs) {
      request.add_input<float>(name, DataType::kFp32, {static_cast<int64_t>(values.size())}, values);
    }
    for (const std::string& output : outputs) request.add_output(output);
    return key_of(request.request(), kLoad, kSeed).value();
  }
  CacheKey raw_key(const std::string& bytes, DataType datatype, const std::vector<int64_t>& shape,
                   const std::vector<size_t>& cuts = {}) {
    TestRequest request;
    request->model = &model_;
    request.add_raw_input("INPUT0", datatype, shape, bytes, cuts);
    return key_of(request.request(), kLoad, kSeed).value();
  }

  test::FakeModelCatalog catalog_;
  test::FakeServedModel& model_ = catalog_.add_identity("m");
};

TEST_F(CacheKeyTest, EqualRequestsHaveEqualKeys) {
  EXPECT_EQ(key({{"A", {1, 2}}, {"B", {3}}}), key({{"A", {1, 2}}, {"B", {3}}}));
}

TEST_F(CacheKeyTest, TheOrderOfInputsAndOutputsDoesNotMatter) {
  EXPECT_EQ(key({{"A", {1}}, {"B", {2}}, {"C", {3}}}, {"X", "Y"}),
            key({{"C", {3}}, {"A", {1}}, {"B", {2}}}, {"Y", "X"}));
}

TEST_F(CacheKeyTest, NorDoesHowBytesAreCut) {
  const std::string bytes(1000, 'x');
  const CacheKey whole = raw_key(bytes, DataType::kUint8, {1000});
  EXPECT_EQ(whole, raw_key(bytes, DataType::kUint8, {1000}, {1, 2, 500}));
  EXPECT_EQ(whole, raw_key(bytes, DataType::kUint8, {1000}, {0, 999}));
}

TEST_F(CacheKeyTest, EverythingThatAnAnswerDependsOnMatters) {
  std::set<std::pair<uint64_t, uint64_t>> seen;
  size_t keys = 0;
  const auto add = [&](const CacheKey& one) {
    seen.emplace(one.low, one.high);
    ++keys;
  };
  add(key({{"A", {1, 2}}, {"B", {3}}}));
  add(key({{"A", {1}}, {"B", {2, 3}}}));
  add(key({{"A", {1, 2, 3}}}));
  add(key({{"B", {1, 2, 3}}}));
  add(key({{"A", {1, 2, 3}}}, {"OUTPUT1"}));
  add(key({{"A", {1, 2, 3}}}, {"OUTPUT0", "OUTPUT1"}));
  add(key({{"A", {1, 2, 3}}}, {}));
  add(raw_key(std::string(8, '\0'), DataType::kUint8, {8}));
  add(raw_key(std::string(8, '\0'), DataType::kInt8, {8}));
  add(raw_key(std::string(8, '\0'), DataType::kUint8, {2, 4}));
  add(raw_key(std::string(8, '\0'), DataType::kUint8, {4, 2}));
  add(raw_key(std::string(8, '\0'), DataType::kUint64, {1}));
  EXPECT_EQ(seen.size(), keys);
}

TEST_F(CacheKeyTest, LoadsVersionsModelsAndSeedsDiffer) {
  TestRequest request;
  request->model = &model_;
  const CacheKey one = key_of(request.request(), kLoad, kSeed).value();
  EXPECT_NE(one, key_of(request.request(), kLoad + 1, kSeed).value());
  EXPECT_NE(one, key_of(request.request(), kLoad, kSeed + 1).value());
  request->model = &catalog_.add_identity("m", DataType::kFp32, 0, 2);
  EXPECT_NE(one, key_of(request.request(), kLoad, kSeed).value());
  request->model = &catalog_.add_identity("n");
  EXPECT_NE(one, key_of(request.request(), kLoad, kSeed).value());
}

class CacheParametersTest : public ::testing::Test {
 protected:
  /// Of a request with temperature and seed, to a model that says which of them matter.
  CacheKey key(const std::vector<std::string>& matter, double temperature, int64_t seed,
               bool reversed = false) {
    ModelInfo info;
    info.name = "m";
    info.cache_parameters = matter;
    test::FakeServedModel model(std::move(info));
    TestRequest request;
    request->model = &model;
    for (int i = 0; i < 2; ++i) {
      Parameter& parameter = request->add_parameter();
      if ((i == 0) != reversed) {
        parameter.key = "temperature";
        parameter.type = ParameterType::kDouble;
        parameter.double_value = temperature;
      } else {
        parameter.key = "seed";
        parameter.type = ParameterType::kInt;
        parameter.int_value = seed;
      }
    }
    return key_of(request.request(), kLoad, kSeed).value();
  }
};

TEST_F(CacheParametersTest, MatterWhereTheModelSaysSo) {
  EXPECT_EQ(key({}, 1, 1), key({}, 2, 2));
  EXPECT_EQ(key({"temperature"}, 1, 1), key({"temperature"}, 1, 2));
  EXPECT_NE(key({"temperature"}, 1, 1), key({"temperature"}, 2, 1));
  EXPECT_NE(key({"*"}, 1, 1), key({"*"}, 1, 2));
  EXPECT_EQ(key({"*"}, 1, 1), key({"*"}, 1, 1, true));
}

TEST_F(CacheKeyTest, WhatTheCpuCanNotReadOrItsClientMayChangeHasNone) {
  TestRequest request;
  request->model = &model_;
  InputTensor& input = request.add_input<float>("A", DataType::kFp32, {1}, {1});
  EXPECT_TRUE(key_of(request.request(), kLoad, kSeed));
  input.flags = InputTensor::kShared;
  EXPECT_FALSE(key_of(request.request(), kLoad, kSeed));
  input.flags = 0;
  Buffer buffer = input.buffers[0];
  buffer.kind = MemoryKind::kGpu;
  input.buffers = {&buffer, 1};
  EXPECT_FALSE(key_of(request.request(), kLoad, kSeed));
}

}  // namespace
}  // namespace atl::caches

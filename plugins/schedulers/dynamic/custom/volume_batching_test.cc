/// The strategy that authors copy (sdk/template/batching).
#include "schedulers/dynamic/custom/testing/strategy_bench.h"

namespace atl::schedulers {
namespace {

class VolumeBatching : public StrategyBench {
 protected:
  VolumeBatching() { place(ATOLL_VOLUME_BATCHING, model() / "3" / "batchstrategy.so"); }
  static bool include(CustomBatching& batching, void* record, std::vector<size_t> sizes) {
    test::TestRequest request;
    for (size_t size : sizes) {
      request.add_raw_input("I", DataType::kUint8, {static_cast<int64_t>(size)}, std::string(size, 'x'));
    }
    return batching.include(*request, record);
  }
};

TEST_F(VolumeBatching, ABatchEndsAtTheLimit) {
  set_parameter("MAX_BATCH_VOLUME_BYTES", "100");
  auto batching = opened();
  ASSERT_NE(batching, nullptr);
  void* one = batching->begin();
  EXPECT_TRUE(include(*batching, one, {40, 20}));
  EXPECT_TRUE(include(*batching, one, {40}));
  EXPECT_FALSE(include(*batching, one, {1}));
  void* other = batching->begin();
  EXPECT_TRUE(include(*batching, other, {100}));
  EXPECT_TRUE(include(*batching, other, {0}));
  batching->end(one);
  batching->end(other);
}

TEST_F(VolumeBatching, AFirstRequestThatIsTooLargeStaysAlone) {
  set_parameter("MAX_BATCH_VOLUME_BYTES", "100");
  auto batching = opened();
  ASSERT_NE(batching, nullptr);
  void* record = batching->begin();
  EXPECT_FALSE(include(*batching, record, {101}));
  EXPECT_FALSE(include(*batching, record, {1}));
  batching->end(record);
}

TEST_F(VolumeBatching, ItsParameterIsNeededAndANumber) {
  EXPECT_NE(open_failure().find(": the model has no parameter MAX_BATCH_VOLUME_BYTES"), std::string::npos);
  for (const char* value : {"", "many", "-1", "1e3", "99999999999999999999"}) {
    set_parameter("MAX_BATCH_VOLUME_BYTES", value);
    EXPECT_NE(open_failure().find(cat("MAX_BATCH_VOLUME_BYTES is '", value, "', expected a number of bytes")),
              std::string::npos)
        << value;
  }
}

}  // namespace
}  // namespace atl::schedulers

#include "backends/cuda/code/extents.h"

#include <gtest/gtest.h>

#include <vector>

namespace atl::cuda_backend {
namespace {

TensorSpec spec(std::string name, DataType datatype, std::vector<int64_t> dims) {
  TensorSpec made;
  made.name = std::move(name);
  made.datatype = datatype;
  made.dims = std::move(dims);
  return made;
}

TEST(TensorTable, HasTheWholeBatchsTensors) {
  ModelDescription model;
  model.max_batch_size = 8;
  model.inputs = {spec("X", DataType::kFp32, {3, -1}), spec("MASK", DataType::kBool, {1})};
  model.inputs[1].optional = true;
  model.inputs[1].has_reshape = true;
  model.outputs = {spec("X", DataType::kInt8, {2})};
  Result<TensorTable> table = make_tensor_table(model);
  ASSERT_TRUE(table.ok());
  ASSERT_EQ(table->tensors.size(), 3u);
  EXPECT_EQ(table->tensors[0].dims, (std::vector<int64_t>{-1, 3, -1}));
  EXPECT_EQ(table->tensors[1].dims, (std::vector<int64_t>{-1})) << "as the backend sees it";
  EXPECT_TRUE(table->tensors[1].optional);
  EXPECT_EQ(table->find("X", false), 0u);
  EXPECT_EQ(table->find("X", true), 2u);
  EXPECT_EQ(table->find("MASK", true), std::nullopt);
  model.max_batch_size = 0;
  EXPECT_EQ(make_tensor_table(model)->tensors[2].dims, (std::vector<int64_t>{2}));
}

TEST(TensorTable, HasNoBytes) {
  ModelDescription model;
  model.outputs = {spec("TEXT", DataType::kBytes, {1})};
  EXPECT_EQ(
      make_tensor_table(model).status().message(),
      "output 'TEXT': found datatype BYTES, expected one whose elements have a fixed size: kernels get plain memory");
}

TEST(BatchExtents, AreCheckedAndCounted) {
  TensorTable table;
  table.tensors = {{"X", DataType::kFp32, false, false, {-1, 3}}, {"Y", DataType::kFp64, true, true, {}}};
  BatchExtents extents(table);
  const auto set = [&extents](uint32_t slot, std::vector<int64_t> shape) { return extents.set(slot, shape); };
  EXPECT_TRUE(set(0, {2, 3}).ok());
  EXPECT_EQ(extents.count(0), 6);
  EXPECT_EQ(extents.bytes(0), 24);
  EXPECT_EQ(set(0, {2, 4}).message(), "tensor 'X': found shape [2,4], expected [-1,3]");
  EXPECT_EQ(set(0, {2}).message(), "tensor 'X': found shape [2], expected [-1,3]");
  EXPECT_EQ(extents.bytes(0), 24) << "what is refused changes nothing";
  EXPECT_EQ(set(0, {-1, 3}).message(),
            "tensor 'X': found shape [-1,3], expected dimensions from 0 on that make less than 2^63 bytes");
  EXPECT_FALSE(set(0, {int64_t{1} << 62, 3}).ok());
  EXPECT_FALSE(set(0, {int64_t{1} << 60, 3}).ok()) << "elements fit, bytes do not";
  EXPECT_TRUE(set(1, {}).ok());
  EXPECT_EQ(extents.bytes(1), 8) << "a scalar";
  extents.set_absent(0);
  EXPECT_EQ(extents.bytes(0), 0);
  EXPECT_EQ(extents.shape(0)[1], 0);
}

}  // namespace
}  // namespace atl::cuda_backend

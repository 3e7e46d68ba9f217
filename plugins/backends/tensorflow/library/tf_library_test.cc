#include "backends/tensorflow/library/tf_library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/testing/temporary_directory.h"
#include "backends/tensorflow/graph/tf_datatypes.h"
#include "backends/tensorflow/testing/model_writer.h"

namespace atl::tensorflow::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(TensorFlowLibrary, BesideAnotherProtobufItHasSymbolsOfItsOwn) {
  EXPECT_EQ(open_flags({}).value(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_EQ(open_flags({.has_other_malloc = true}).value(), RTLD_NOW | RTLD_LOCAL);
  if (kIsSanitized) return;
  EXPECT_EQ(open_flags({.has_protobuf = true}).value(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  EXPECT_THAT(open_flags({.has_protobuf = true, .has_other_malloc = true}).status().text(),
              HasSubstr("start it without the allocator"));
}

TEST(TensorFlowLibrary, ThisProgramHasProtobufAndTheUsualAllocator) {
  const ProcessSymbols symbols = ProcessSymbols::of_process();
  EXPECT_TRUE(symbols.has_protobuf);
  EXPECT_EQ(symbols.has_other_malloc, kIsSanitized);
}

TEST(TensorFlowLibrary, WhereThereIsNoneTheFailureSaysWhatToDo) {
  const atl::test::TemporaryDirectory folder;
  const std::string none = (folder.path() / kLibraryName).string();
  const std::string text = open_first_library({none}).status().text();
  EXPECT_THAT(text, HasSubstr(none));
  EXPECT_THAT(text, HasSubstr("pip install tensorflow-cpu"));
  write_file(none, "no library");
  EXPECT_THAT(open_first_library({none}).status().text(), HasSubstr("TensorFlow cannot be used"));
}

TEST(TensorFlowLibrary, AnInstallationsOwnIsLookedForLast) {
  const std::vector<std::string> files = library_files("/opt/x/lib/atoll/plugins/backends/tensorflow.so");
  EXPECT_THAT(files, Contains("/opt/x/lib/atoll/engines/tensorflow/libtensorflow_cc.so.2"));
}

TEST(TensorFlowLibrary, EachDatatypeHasOneNumber) {
  for (uint32_t i = 1; i < kDataTypeCount; ++i) {
    const auto type = static_cast<DataType>(i);
    EXPECT_EQ(from_tensorflow(to_tensorflow(type)), type);
  }
  EXPECT_EQ(from_tensorflow(8), DataType::kInvalid);
  EXPECT_EQ(from_tensorflow(0), DataType::kInvalid);
}

}  // namespace
}  // namespace atl::tensorflow::test

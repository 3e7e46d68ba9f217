#include "schedulers/dynamic/custom/strategy_file.h"

#include <fstream>

#include "schedulers/dynamic/custom/testing/strategy_bench.h"

namespace atl::schedulers {
namespace {

constexpr const char* kParameter = "TRITON_BATCH_STRATEGY_PATH";
constexpr const char* kFileName = "batchstrategy.so";

class StrategyFile : public StrategyBench {
 protected:
  static std::string write(const std::filesystem::path& path) {
    std::ofstream(path) << "x";
    return path;
  }
  std::string find() {
    auto found = find_strategy_file(context(), config, backends().string());
    return found.ok() ? found.value() : found.status().text();
  }
};

TEST_F(StrategyFile, TheNearestFolderWins) {
  EXPECT_EQ(find(), "");
  std::string shared = write(backends() / "onnxruntime" / kFileName);
  EXPECT_EQ(find(), shared);
  std::string of_model = write(model() / kFileName);
  EXPECT_EQ(find(), of_model);
  std::string of_version = write(model() / "3" / kFileName);
  EXPECT_EQ(find(), of_version);
}

TEST_F(StrategyFile, AnotherVersionsStrategyIsNotThisOnes) {
  std::filesystem::create_directories(model() / "2");
  write(model() / "2" / kFileName);
  EXPECT_EQ(find(), "");
}

TEST_F(StrategyFile, TheBackendIsANameAndNoPath) {
  write(backends() / kFileName);
  write(folder.path() / kFileName);
  for (const char* backend : {"", ".", "..", "../backends", "onnxruntime/.."}) {
    config.set_backend(backend);
    EXPECT_EQ(find(), "") << backend;
  }
}

TEST_F(StrategyFile, WithoutABackendDirectoryNoneIsSearched) {
  write(backends() / "onnxruntime" / kFileName);
  EXPECT_EQ(find_strategy_file(context(), config, "").value(), "");
}

TEST_F(StrategyFile, TheParameterGoesFirst) {
  write(model() / "3" / kFileName);
  std::string named = write(model() / "named.so");
  set_parameter(kParameter, named);
  EXPECT_EQ(find(), named);
  set_parameter(kParameter, "named.so");
  EXPECT_EQ(find(), named);
  set_parameter(kParameter, std::filesystem::relative(named));
  EXPECT_EQ(find(), std::filesystem::relative(named));
}

TEST_F(StrategyFile, TheParametersFileHasToExist) {
  write(model() / "3" / kFileName);
  for (const std::string& path : {std::string("none.so"), std::string("/nowhere/none.so"), std::string()}) {
    set_parameter(kParameter, path);
    auto found = find_strategy_file(context(), config, "");
    EXPECT_EQ(found.status().code(), Code::kNotFound);
    EXPECT_EQ(found.status().text(), "Batching library path not found: " + path);
  }
}

TEST_F(StrategyFile, TheParametersFileHasToBeTheModels) {
  std::string outside = write(folder.path() / "outside.so");
  std::filesystem::create_directories(folder.path() / "m-and-more");
  std::string beside = write(folder.path() / "m-and-more" / "x.so");
  std::filesystem::create_symlink(outside, model() / "link.so");
  for (const std::string& path :
       {outside, beside, std::string("../outside.so"), std::string("3/../../outside.so"),
        std::string("link.so"), model().string()}) {
    set_parameter(kParameter, path);
    auto found = find_strategy_file(context(), config, "");
    EXPECT_EQ(found.status().code(), Code::kInvalidArgument) << path;
    EXPECT_EQ(found.status().text(), "Batching library path escapes model repository.") << path;
  }
}

TEST_F(StrategyFile, AModelBehindALinkIsItself) {
  std::filesystem::rename(model(), folder.path() / "stored");
  std::filesystem::create_symlink(folder.path() / "stored", model());
  std::string named = write(model() / "named.so");
  for (const auto& path : {named, (folder.path() / "stored" / "named.so").string()}) {
    set_parameter(kParameter, path);
    EXPECT_EQ(find(), path);
  }
}

}  // namespace
}  // namespace atl::schedulers

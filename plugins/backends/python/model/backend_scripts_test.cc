#include "backends/python/model/backend_scripts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "atoll/testing/fake_log.h"
#include "atoll/testing/temporary_directory.h"
#include "model_config.pb.h"

namespace atl::python {
namespace {

class BackendScriptsTest : public ::testing::Test {
 protected:
  BackendScriptsTest() {
    source_.name = "m";
    source_.model_directory = root_ + "/models/m";
    source_.version_directory = root_ + "/models/m/1";
    say("shout");
  }
  void put(const std::string& path) {
    std::filesystem::create_directories(std::filesystem::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << "x";
  }
  void say(const std::string& backend, const std::string& runtime = {}) {
    inference::ModelConfig config;
    config.set_backend(backend);
    config.set_runtime(runtime);
    source_.config = config.SerializeAsString();
  }
  /// Below the root.
  std::string found() const {
    auto script = scripts_.find(source_);
    if (!script.ok()) return script.status().text();
    return script->has_value() ? (*script)->file.substr(root_.size() + 1) : "none";
  }
  const test::TemporaryDirectory folder_;
  const std::string root_ = folder_.path().string();
  ModelSource source_;
  BackendScripts scripts_{"python", {root_ + "/one", root_ + "/two"}};
};

TEST_F(BackendScriptsTest, TheFirstHitCounts) {
  EXPECT_EQ(found(), "none");
  put("models/m/1/model.py");  // the model's data, if such a backend runs it
  EXPECT_EQ(found(), "none");
  put("two/shout/model.py");
  EXPECT_EQ(found(), "two/shout/model.py");
  put("one/shout/model.py");
  EXPECT_EQ(found(), "one/shout/model.py");
  const auto script = scripts_.find(source_).value();
  EXPECT_EQ(script->folder, root_ + "/one/shout");
  EXPECT_EQ(script->environment, "");
}

TEST_F(BackendScriptsTest, AnEnvironmentMayLieBesideIt) {
  put("one/shout/model.py");
  put("one/shout/pb_exec_env_model.py.tar.gz");
  EXPECT_EQ(scripts_.find(source_).value()->environment, root_ + "/one/shout/pb_exec_env_model.py.tar.gz");
}

TEST_F(BackendScriptsTest, ModelsOfTheOwnNameAndNamesThatLeadElsewhereHaveNone) {
  put("one/python/model.py");
  put("model.py");
  for (const char* backend : {"python", "", ".", "..", "../one/python", "one/"}) {
    say(backend);
    EXPECT_EQ(found(), "none") << backend;
  }
  EXPECT_FALSE(BackendScripts("python", {}).find(source_).value().has_value());
}

TEST_F(BackendScriptsTest, ASharedObjectComesFirst) {
  put("one/shout/model.py");
  for (const char* library :
       {"two/shout/libtriton_shout.so", "models/m/libtriton_shout.so", "models/m/1/libtriton_shout.so"}) {
    put(library);
    EXPECT_EQ(found(), cat("backend 'shout' is a shared object, '", root_, "/", library,
                           "', which takes an instance of backends/triton in the manifest"));
  }
  say("shout", "model.py");
  EXPECT_EQ(found(), "one/shout/model.py");
  say("shout", "libtriton_other.so");
  EXPECT_EQ(found(), "none");
}

TEST_F(BackendScriptsTest, AFolderWithoutAProgramSaysSo) {
  put("two/shout/readme");
  EXPECT_EQ(found(),
            cat("backend 'shout': '", root_, "/two/shout' has neither model.py nor libtriton_shout.so"));
}

TEST_F(BackendScriptsTest, ConfigurationsThatAreNone) {
  source_.config = "\xff";
  EXPECT_EQ(found(), "the configuration of model 'm' cannot be parsed");
}

TEST_F(BackendScriptsTest, DirectoriesThatAreNotThereAreTold) {
  put("one/shout/model.py");
  test::RecordingLog log;
  scripts_.check(log);
  EXPECT_TRUE(log.contains(cat("option 'directories': '", root_, "/two' is no directory")));
  EXPECT_FALSE(log.contains("/one'"));
}

}  // namespace
}  // namespace atl::python

// Repositories that a program registers and has looked at, and its log, while servers run.
#include <fstream>
#include <string>
#include <vector>

#include "program.h"

namespace atl::in_process {
namespace {

std::string set_mode(const Options& options, TRITONSERVER_ModelControlMode mode) {
  return text_of(CALL(TRITONSERVER_ServerOptionsSetModelControlMode, options.handle, mode));
}

class Repositories : public testing::Test {
 protected:
  void start(TRITONSERVER_ModelControlMode mode) {
    ASSERT_EQ(set_mode(options_, mode), "");
    ASSERT_EQ(server_.start(options_.handle), "");
  }
  /// \param directory, model  a mapping; null: none
  std::string add(const std::string& path, const char* directory = nullptr, const char* model = nullptr) {
    const TRITONSERVER_Parameter* mapping = nullptr;
    if (directory != nullptr) {
      mapping = CALL(TRITONSERVER_ParameterNew, directory, TRITONSERVER_PARAMETER_STRING, model);
    }
    const std::string text = text_of(CALL(TRITONSERVER_ServerRegisterModelRepository, server_.handle,
                                          path.c_str(), &mapping, mapping == nullptr ? 0 : 1));
    if (mapping != nullptr) {
      CALL(TRITONSERVER_ParameterDelete, const_cast<TRITONSERVER_Parameter*>(mapping));
    }
    return text;
  }
  std::string remove(const std::string& path) {
    return text_of(CALL(TRITONSERVER_ServerUnregisterModelRepository, server_.handle, path.c_str()));
  }
  std::string load(const char* model) {
    return text_of(CALL(TRITONSERVER_ServerLoadModel, server_.handle, model));
  }
  std::string poll() { return text_of(CALL(TRITONSERVER_ServerPollModelRepository, server_.handle)); }

  ModelFolder first_, second_;
  Options options_{first_.path()};
  Server server_;
};

TEST_F(Repositories, AreRegisteredWhileTheServerRuns) {
  second_.add_identity("m");
  second_.add_identity("n");
  start(TRITONSERVER_MODEL_CONTROL_EXPLICIT);
  EXPECT_NE(load("m"), "");
  EXPECT_EQ(add(second_.path()), "");
  EXPECT_EQ(add(second_.path()),
            "Already exists: model repository '" + second_.path() + "' has already been registered");
  EXPECT_EQ(load("m"), "");
  EXPECT_EQ(remove(second_.path()), "");
  EXPECT_EQ(server_.infer("m", "x"), "x") << "it was loaded";
  EXPECT_NE(load("n"), "");
  EXPECT_EQ(remove(second_.path()),
            "Invalid argument: failed to unregister '" + second_.path() + "', repository not found");
  EXPECT_EQ(add("/nowhere"), "Invalid argument: failed to register '/nowhere', repository not found");
}

TEST_F(Repositories, DirectoriesMayBeCalledOtherwise) {
  second_.add_identity("m");
  start(TRITONSERVER_MODEL_CONTROL_EXPLICIT);
  EXPECT_EQ(add(second_.path(), "m", "better"), "");
  EXPECT_NE(load("m"), "") << "it is not there under its own name";
  EXPECT_EQ(load("better"), "") << "whatever its configuration says";
  EXPECT_EQ(server_.infer("better", "x"), "x");
  ModelFolder third;
  EXPECT_EQ(add(third.path(), "a", "better"),
            "Already exists: failed to register 'better', there is a conflicting mapping for 'better'");
}

TEST_F(Repositories, ArePolledWhenTheProgramSaysSo) {
  first_.add_identity("m");
  start(TRITONSERVER_MODEL_CONTROL_POLL);
  first_.add_identity("n");
  EXPECT_EQ(poll(), "");
  EXPECT_EQ(server_.infer("n", "x"), "x");
  EXPECT_EQ(add(second_.path()),
            "Unsupported: repository registration is not allowed if model control mode is not EXPLICIT");
  EXPECT_EQ(remove(first_.path()),
            "Unsupported: repository unregistration is not allowed if model control mode is not EXPLICIT");
}

TEST_F(Repositories, AreNotPolledInOtherModes) {
  start(TRITONSERVER_MODEL_CONTROL_EXPLICIT);
  EXPECT_EQ(poll(), "Unavailable: polling is disabled");
}

TEST(ProcessLog, SettersOfOptionsCountAtOnceForServersThatAreThere) {
  ModelFolder models;
  models.add_identity("m");
  const std::string file = models.path() + ".log";
  Options options(models.path()), others("/nowhere");
  EXPECT_EQ(set_mode(options, TRITONSERVER_MODEL_CONTROL_EXPLICIT), "");
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerOptionsSetLogFile, options.handle, file.c_str())), "");
  Server server;
  ASSERT_EQ(server.start(options.handle), "");
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerOptionsSetLogInfo, others.handle, false)), "");
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerLoadModel, server.handle, "m")), "");
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerUnloadModel, server.handle, "m")), "");
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerOptionsSetLogInfo, others.handle, true)), "");
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerOptionsSetLogFile, options.handle, "")), "");
  EXPECT_EQ(text_of(CALL(TRITONSERVER_ServerLoadModel, server.handle, "m")), "");
  server.remove();
  std::ifstream in(file);
  int loads = 0;
  for (std::string line; std::getline(in, line);) {
    loads += line.find("successfully loaded 'm'") != std::string::npos;
  }
  EXPECT_EQ(loads, 1) << "the second one, after information was shown again";
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace atl::in_process

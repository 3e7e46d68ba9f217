#include "launchers/common/server_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace atl::launchers {
namespace {

constexpr std::string_view kRuntimePlaces[] = {"repository", "key"};
using Texts = std::vector<std::string>;
using ::testing::Contains;
using ::testing::ElementsAre;

Texts of(const ServerSpec& server, std::string_view runtime = "server {repository}",
         bool shared_memory = false) {
  return server_environment(server, std::move(InstanceCommand::parse(runtime, kRuntimePlaces)).value(),
                            shared_memory);
}

TEST(ServerEnvironment, LinksMayLeadIntoTheSources) {
  ServerSpec server;
  server.sources = {"/srv/models", "/a \"b\\"};
  EXPECT_THAT(of(server), Contains(R"(ATOLL__PLUGIN__REPOSITORY__LINKED_PATHS=["/srv/models", "/a \"b\\"])"));
}

TEST(ServerEnvironment, NoLoadBringsFiles) {
  EXPECT_THAT(of({}), ElementsAre("ATOLL__PLUGIN__CONTROL__ALLOW_FILE_OVERRIDE=false"));
  EXPECT_THAT(of({}, "server {key}"), ElementsAre("ATOLL__PLUGIN__CONTROL__ALLOW_FILE_OVERRIDE=false"));
}

TEST(ServerEnvironment, WhoHasTheKeyHasControl) {
  ServerSpec server;
  server.key = "0aff";
  const std::string closed = R"(=["model-repository,trace,logging,shared-memory:atoll-key=0aff"])";
  EXPECT_THAT(of(server), ElementsAre("ATOLL__PLUGIN__CONTROL__ALLOW_FILE_OVERRIDE=false",
                                      "ATOLL__PLUGIN__KEYS__USE=security/keys",
                                      "ATOLL__PLUGIN__KEYS__RESTRICTED_APIS" + closed,
                                      "ATOLL__PLUGIN__KEYS__RESTRICTED_PROTOCOLS" + closed));
  EXPECT_THAT(
      of(server, "server", true),
      Contains(R"(ATOLL__PLUGIN__KEYS__RESTRICTED_APIS=["model-repository,trace,logging:atoll-key=0aff"])"));
}

TEST(ServerEnvironment, ARuntimeWithThePlaceClosesItsServerItself) {
  ServerSpec server;
  server.key = "0aff";
  for (const std::string& variable : of(server, "server --http-restricted-api=trace:atoll-key={key}"))
    EXPECT_EQ(variable.find("KEYS"), std::string::npos) << variable;
}

}  // namespace
}  // namespace atl::launchers

#include "launchers/common/instance_command.h"

#include <gtest/gtest.h>

namespace atl::launchers {
namespace {

using Words = std::vector<std::string>;
constexpr std::string_view kPlaces[] = {"bin",      "repository", "id",       "pool",
                                        "instance", "http_port",  "grpc_port"};
const Places kAll = {{"bin", "/b"},     {"repository", "/r x"}, {"id", "i-1"},     {"pool", "p"},
                     {"instance", "0"}, {"http_port", "1"},     {"grpc_port", "2"}};

Words filled(std::string_view text) {
  Result<InstanceCommand> line = InstanceCommand::parse(text, kPlaces);
  EXPECT_TRUE(line.ok()) << line.status().text();
  return line.ok() ? line->fill(kAll) : Words{};
}

TEST(InstanceCommand, HasWordsAndQuotes) {
  EXPECT_EQ(filled("server  --port 1\n"), (Words{"server", "--port", "1"}));
  EXPECT_EQ(filled(R"(server "a \"b\" c" d="e f")"), (Words{"server", "a \"b\" c", "d=\"e", "f\""}));
  EXPECT_EQ(filled(R"(server "" x)"), (Words{"server", "", "x"}));
}

TEST(InstanceCommand, PlacesAreFilledAnywhereAndOnce) {
  EXPECT_EQ(filled(R"({bin}/server --set paths=["{repository}"] {http_port}{grpc_port})"),
            (Words{"/b/server", "--set", "paths=[\"/r x\"]", "12"}));
  Places places = kAll;
  places["pool"] = "{bin}";
  EXPECT_EQ(InstanceCommand::parse("{pool}", kPlaces)->fill(places), Words{"{bin}"});
}

TEST(InstanceCommand, BracesAroundOtherThingsAreText) {
  EXPECT_EQ(filled(R"(server {} {"a":1} { {A} {bin)"),
            (Words{"server", "{}", "{\"a\":1}", "{", "{A}", "{bin"}));
}

TEST(InstanceCommand, KnowsItsPlaces) {
  const InstanceCommand line = std::move(InstanceCommand::parse("a {}{http_port}", kPlaces)).value();
  EXPECT_TRUE(line.has_place("http_port"));
  EXPECT_FALSE(line.has_place("grpc_port"));
}

TEST(InstanceCommand, SaysWhatIsWrong) {
  EXPECT_EQ(InstanceCommand::parse(" ", kPlaces).status().message(), "it is empty");
  EXPECT_EQ(InstanceCommand::parse("a \"b", kPlaces).status().message(), "a double quote has no end");
  EXPECT_EQ(InstanceCommand::parse("a \"", kPlaces).status().message(), "a double quote has no end");
  EXPECT_EQ(
      InstanceCommand::parse("a {port}", kPlaces).status().message(),
      "'{port}' is filled by nobody; expected one of {bin}, {repository}, {id}, {pool}, {instance}, {http_port}, {grpc_port}");
}

TEST(ServerId, CanBeTheNameOfAFolder) {
  EXPECT_TRUE(is_server_id("a35caf08-42b3"));
  EXPECT_TRUE(is_server_id(std::string(128, 'a')));
  for (const std::string& id :
       {std::string(), std::string("."), std::string("../a"), std::string("a b"), std::string(129, 'a')})
    EXPECT_FALSE(is_server_id(id)) << id;
}

}  // namespace
}  // namespace atl::launchers

#include "commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "atoll/core/text.h"

namespace atl::ctl {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// What a server would answer, and what it was asked.
struct Script {
  std::vector<std::string> asked;  ///< "POST /v2/pools {...}"
  std::vector<json> events;
  Answer answer{200, json::object()};
  bool is_gone = false;
};

class ScriptedTarget final : public Target {
 public:
  explicit ScriptedTarget(Script& script) : script_(script) {}
  ~ScriptedTarget() override = default;
  Result<Answer> call(const char* method, const std::string& path, const json& body) override {
    script_.asked.push_back(
        cat(method, " ", path, body.is_null() ? "" : " ", body.is_null() ? "" : body.dump()));
    if (script_.is_gone) return unavailable("nobody is there");
    return script_.answer;
  }
  Result<Answer> follow(const std::string& path, const json& body,
                        const std::function<void(const json&)>& on_event) override {
    for (const json& event : script_.events) on_event(event);
    return call("POST", path, body);
  }

 private:
  Script& script_;
};

class CommandsTest : public ::testing::Test {
 protected:
  int run(std::vector<std::string> arguments) {
    out_.str("");
    err_.str("");
    script_.asked.clear();
    const Context context{out_, err_, is_terminal_,
                          [this](const char* name) -> const char* {
                            const auto found = environment_.find(name);
                            return found == environment_.end() ? nullptr : found->second.c_str();
                          },
                          [this](const TargetSettings& settings) -> std::unique_ptr<Target> {
                            url_ = settings.url;
                            return std::make_unique<ScriptedTarget>(script_);
                          }};
    return ctl::run(std::move(arguments), context);
  }
  Script script_;
  bool is_terminal_ = false;
  std::map<std::string, std::string> environment_;
  std::ostringstream out_, err_;
  std::string url_;
};

TEST_F(CommandsTest, PoolsAreMadeChangedAndDeleted) {
  EXPECT_EQ(run({"pool", "create", "fraud", "-q", "8", "--max", "4", "--min", "1", "--cpus", "2", "--gpus",
                 "1", "--memory", "4GiB", "--runtime", "triton", "--any-backends"}),
            kDone);
  EXPECT_THAT(
      script_.asked,
      ElementsAre(R"(POST /v2/pools {"enforce_backends":false,"instance":{"cpus":2,"gpus":1,"memory":"4GiB",)"
                  R"("runtime":"triton"},"max_instances":4,"min_instances":1,"name":"fraud","quota":8})"));
  run({"pool", "update", "a b", "--max", "9"});
  EXPECT_THAT(script_.asked, ElementsAre(R"(PATCH /v2/pools/a%20b {"max_instances":9})"));
  run({"pool", "delete", "fraud", "--force"});
  EXPECT_THAT(script_.asked, ElementsAre("DELETE /v2/pools/fraud?force=true"));
}

TEST_F(CommandsTest, ALeaseShowsItsProgress) {
  script_.events = {
      {{"state", "PENDING"}},
      {{"state", "DEPLOYING"}, {"instance", "i0"}, {"models", {{{"name", "a"}, {"state", "LOADING"}}}}}};
  script_.answer.body = {{"id", "x-1"}, {"state", "ACTIVE"}, {"address", "127.0.0.1:1"}};
  EXPECT_EQ(run({"lease", "create", "-p", "fraud", "-q", "2", "-m", "a=/m", "-m", "b", "-s", "/n", "-d", "1h",
                 "--auto-renew", "--idempotency-key", "k"}),
            kDone);
  EXPECT_THAT(
      script_.asked,
      ElementsAre(R"(POST /v2/leases {"auto_renew":true,"duration":"1h","idempotency_key":"k","models":)"
                  R"([{"name":"a","source":"/m"},{"name":"b","source":"/n"}],"pool":"fraud","quota":2})"));
  EXPECT_EQ(err_.str(), "PENDING\nDEPLOYING on i0: a LOADING\n");
  EXPECT_THAT(out_.str(), HasSubstr("x-1"));
  EXPECT_THAT(out_.str(), HasSubstr("127.0.0.1:1"));
  is_terminal_ = true;
  run({"lease", "create", "-p", "fraud", "-q", "2", "-m", "a=/m"});
  EXPECT_EQ(err_.str(), "\r\x1b[KPENDING\r\x1b[KDEPLOYING on i0: a LOADING\n");
  script_.answer.body["state"] = "FAILED";
  EXPECT_EQ(run({"-z", "lease", "create", "-p", "fraud", "-q", "2", "-m", "a=/m"}), kRefused);
  EXPECT_EQ(err_.str(), "") << "scripts get no progress";
}

TEST_F(CommandsTest, EveryCallHasACommand) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"pool", "list"}, "GET /v2/pools"},
      {{"pool", "status", "fraud"}, "GET /v2/pools/fraud"},
      {{"lease", "list", "-p", "fraud"}, "GET /v2/leases?pool=fraud"},
      {{"lease", "status", "x"}, "GET /v2/leases/x"},
      {{"lease", "release", "x"}, "DELETE /v2/leases/x"},
      {{"lease", "renew", "x"}, "POST /v2/leases/x/renew {}"},
      {{"lease", "renew", "x", "-d", "5m"}, R"(POST /v2/leases/x/renew {"duration":"5m"})"},
      {{"lease", "plan", "-p", "p", "-q", "1", "-m", "a=/m"},
       R"(POST /v2/leases?dry_run=true {"models":[{"name":"a","source":"/m"}],"pool":"p","quota":1})"},
      {{"lease", "name", "create", "n", "x"}, R"(PUT /v2/lease_names/n {"lease":"x"})"},
      {{"lease", "name", "delete", "n"}, "DELETE /v2/lease_names/n"},
      {{"lease", "name", "list"}, "GET /v2/lease_names"},
      {{"model", "load", "m"}, "POST /v2/repository/models/m/load {}"},
      {{"model", "unload", "m"}, "POST /v2/repository/models/m/unload {}"},
      {{"model", "list"}, "POST /v2/repository/index {}"}};
  for (const auto& [arguments, asked] : cases) {
    for (const char* form : {"--porcelain", "--json", "-tx:1"}) {
      std::vector<std::string> all = arguments;
      all.push_back(form);
      EXPECT_EQ(run(all), kDone) << asked << " " << form << err_.str();
      EXPECT_THAT(script_.asked, ElementsAre(asked));
    }
  }
  EXPECT_EQ(url_, "x:1");
  EXPECT_EQ(run({"lease", "show", "l", "--json"}), kDone);
  EXPECT_THAT(script_.asked, ElementsAre("GET /v2/leases/l"));
  EXPECT_EQ(run({"server", "status"}), kDone);
  EXPECT_THAT(script_.asked, ElementsAre("GET /v2", "GET /v2/health/ready"));
}

TEST_F(CommandsTest, FailuresHaveTheirCodes) {
  EXPECT_EQ(run({}), kUsage);
  EXPECT_EQ(run({"pool"}), kUsage);
  EXPECT_EQ(run({"pool", "create", "p"}), kUsage);
  EXPECT_EQ(run({"lease", "create", "-p", "p", "-q", "1", "-m", "a"}), kUsage);
  EXPECT_EQ(err_.str(), "atollctl: --model a: expected NAME=REPOSITORY, or --source\n");
  const auto error = [&](const std::vector<std::string>& arguments) {
    EXPECT_EQ(run(arguments), kUsage);
    return err_.str();
  };
  EXPECT_EQ(error({"lease", "show"}), "atollctl: LEASE is required; see atollctl lease show --help\n");
  EXPECT_EQ(
      error({"lease"}),
      "atollctl lease: a command is missing, one of create, plan, list, release, status, renew, name\n");
  EXPECT_EQ(error({"--target", "x:1", "lease", "-z", "look", "a"}),
            "atollctl lease: there is no command 'look'; there are create, plan, list, release, status, "
            "renew, name\n");
  EXPECT_EQ(error({"pol"}),
            "atollctl: there is no command 'pol', did you mean 'pool'?; there are pool, lease, key, model, "
            "server, completion\n");
  EXPECT_EQ(error({"lease", "list", "--pol", "p"}),
            "atollctl: there is no option '--pol', did you mean '--pool'?; see atollctl lease list --help\n");
  EXPECT_EQ(error({"lease", "list", "--jsn"}),
            "atollctl: there is no option '--jsn', did you mean '--json'?; see atollctl lease list --help\n");
  EXPECT_EQ(run({"--help"}), kDone);
  script_.answer = {429, {{"error", "no room\x1b[2J"}}};
  EXPECT_EQ(run({"pool", "list"}), kRefused);
  EXPECT_EQ(err_.str().find('\x1b'), std::string::npos);
  EXPECT_THAT(err_.str(), HasSubstr("atollctl: no room"));
  script_.answer = {500, nullptr};
  EXPECT_EQ(run({"pool", "list"}), kRefused);
  EXPECT_EQ(err_.str(), "atollctl: the server answers with status 500\n");
  script_.is_gone = true;
  EXPECT_EQ(run({"pool", "list"}), kUnreachable);
  EXPECT_EQ(err_.str(), "atollctl: nobody is there\n");
}

TEST_F(CommandsTest, NumbersAreReadWhole) {
  const std::vector<std::string> create = {"pool", "create", "p", "--max", "1", "--quota"};
  for (const char* wrong : {"-1", "", "two", "1.5", "8x", "0", "+8", " 8", "99999999999999999999999"}) {
    std::vector<std::string> arguments = create;
    arguments.push_back(wrong);
    EXPECT_EQ(run(arguments), kUsage) << wrong;
    EXPECT_EQ(err_.str(), cat("atollctl: --quota: found '", wrong,
                              "', expected a whole number from 1 to 18446744073709551615\n"));
    EXPECT_THAT(script_.asked, ElementsAre());
  }
  for (const char* option : {"--max=0", "--max=-1", "--min=-1", "--cpus=4294967296", "--gpus=x"}) {
    EXPECT_EQ(run({"pool", "create", "p", "--quota=1", option}), kUsage) << option;
    EXPECT_THAT(err_.str(), HasSubstr("expected a whole number from")) << option;
  }
  EXPECT_EQ(run({"--timeout=-1", "pool", "list"}), kUsage);
  EXPECT_EQ(run({"lease", "plan", "-p", "p", "-q", "-1", "-m", "a=/m"}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("--quota: found '-1'"));
}

TEST_F(CommandsTest, WrongUsesOfOptionsNameTheProgramAndItsHelp) {
  const std::string help = "; see atollctl pool create --help\n";
  EXPECT_EQ(run({"pool", "create", "p", "--quota=1", "--max=1", "--memory"}), kUsage);
  EXPECT_EQ(err_.str(), "atollctl: --memory: 1 required TEXT missing" + help);
  EXPECT_EQ(run({"completion", "tcsh"}), kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("atollctl: SHELL"));
}

TEST_F(CommandsTest, AnAddressThatNoCallCanGoToIsToldBeforeOne) {
  for (const char* url : {"", "http://", "ftp://a:1", "http://a:x", "a:", "http://a:65536", "::1:8000",
                          "http:// a:1", "https:///v2"}) {
    EXPECT_EQ(run({"--target", url, "pool", "list"}), kUsage) << url;
    EXPECT_EQ(err_.str(),
              cat("atollctl: --target (or ATOLL_TARGET): found '", url,
                  "', expected http://HOST:PORT or https://HOST:PORT, such as http://127.0.0.1:8000\n"));
    EXPECT_THAT(script_.asked, ElementsAre());
  }
  for (const char* url :
       {"a", "a:1", "http://a", "https://a:443", "http://[::1]:8000", "http://u:p@a:1/prefix"})
    EXPECT_EQ(run({cat("--target=", url), "pool", "list"}), kDone) << url << err_.str();
}

TEST_F(CommandsTest, AServerWithoutPoolsIsToldAsSuch) {
  script_.answer = {404, {{"error", "Not Found"}}};
  EXPECT_EQ(run({"pool", "list"}), kRefused);
  EXPECT_EQ(err_.str(),
            "atollctl: the server at http://127.0.0.1:8000 has no pools: its manifest has no pools/leases\n");
  script_.answer = {404, {{"error", "pool 'p' is not found"}}};
  EXPECT_EQ(run({"pool", "status", "p"}), kRefused);
  EXPECT_EQ(err_.str(), "atollctl: pool 'p' is not found\n");
  script_.answer = {400, {{"error", "load failed for model 'm'\n"}}};
  EXPECT_EQ(run({"model", "load", "m"}), kRefused);
  EXPECT_EQ(err_.str(), "atollctl: load failed for model 'm'\n") << "without the end of the line";
}

TEST_F(CommandsTest, ADeletedPoolIsNamed) {
  script_.answer = {200, {{"name", "p"}}};
  EXPECT_EQ(run({"pool", "delete", "p"}), kDone);
  EXPECT_EQ(out_.str(), "p: deleted\n");
  EXPECT_EQ(run({"pool", "delete", "p", "-z"}), kDone);
  EXPECT_EQ(out_.str(), "");
  script_.answer.body["state"] = "DELETING";
  EXPECT_EQ(run({"pool", "delete", "p"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("p: DELETING"));
}

TEST_F(CommandsTest, TheTargetMayComeFromTheEnvironment) {
  run({"pool", "list"});
  EXPECT_EQ(url_, "http://127.0.0.1:8000");
  environment_["ATOLL_TARGET"] = "a:1";
  run({"pool", "list"});
  EXPECT_EQ(url_, "a:1");
  run({"pool", "list", "--target", "b:2"});
  EXPECT_EQ(url_, "b:2");
}

TEST_F(CommandsTest, AnswersOfAnyShapeArePrinted) {
  for (const char* text :
       {"null", "[]", "7", "{}", R"({"pools":3})", R"({"pools":[1,null]})",
        R"({"instances":[{"used":"x"}],"backends":1})", R"({"leases":[{"models":[2]}]})"}) {
    script_.answer.body = json::parse(text);
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"pool", "list"},
                                               {"pool", "status", "p"},
                                               {"lease", "list"},
                                               {"lease", "status", "x"},
                                               {"model", "list"}})
      EXPECT_EQ(run(arguments), kDone) << text;
  }
}

TEST_F(CommandsTest, CompletionKnowsEveryCommand) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    EXPECT_EQ(run({"completion", shell}), kDone);
    for (const char* word : {"lease", "create", "idempotency-key", "porcelain"})
      EXPECT_THAT(out_.str(), HasSubstr(word));
  }
  EXPECT_EQ(run({"completion", "tcsh"}), kUsage);
}

}  // namespace
}  // namespace atl::ctl

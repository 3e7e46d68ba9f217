#include "command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

namespace atl::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct ReadLine {
  std::optional<ServeOptions> options;
  int exit_code = -1;
  std::string out, err;
};

ReadLine read(const std::vector<std::string>& arguments, const std::string& word = "serve") {
  ReadLine line;
  std::ostringstream out, err;
  line.options = read_command_line(word, arguments, out, err, line.exit_code);
  line.out = out.str();
  line.err = err.str();
  return line;
}

TEST(ServeCommandLine, Everything) {
  const ReadLine line =
      read({"--http-port=0", "/models", "--grpc-port", "9001", "--metrics-address=::1", "--allow-grpc=OFF",
            "--model-control-mode=explicit", "--load-model", "a", "--load-model=b", "--set",
            "log.format=json", "--set=plugin.x.y=[1, 2]", "--log-verbose=2", "--exit-on-error=true",
            "--disable-auto-complete-config", "--print-manifest"});
  ASSERT_TRUE(line.options) << line.err;
  const ServeOptions& options = *line.options;
  EXPECT_EQ(options.path, "/models");
  EXPECT_EQ(options.endpoints[0].asked, 0);
  EXPECT_EQ(options.endpoints[0].address, "127.0.0.1");
  EXPECT_EQ(options.endpoints[1].asked, 9001);
  EXPECT_FALSE(options.endpoints[1].allowed);
  EXPECT_EQ(options.endpoints[2].asked, std::nullopt);
  EXPECT_EQ(options.endpoints[2].address, "::1");
  EXPECT_THAT(options.load_models, ElementsAre("a", "b"));
  EXPECT_THAT(options.settings, ElementsAre("log.format=json", "plugin.x.y=[1, 2]"));
  EXPECT_EQ(options.log_verbose, 2);
  EXPECT_TRUE(options.exit_on_error && options.print_manifest && !options.completes_configurations);
}

TEST(ServeCommandLine, TlsNeedsBothFiles) {
  const ReadLine both = read({"/models", "--tls-cert", "a", "--tls-key=b"});
  ASSERT_TRUE(both.options) << both.err;
  EXPECT_EQ(both.options->tls_cert + both.options->tls_key, "ab");
  EXPECT_EQ(both.options->scheme(), std::string("https://"));
  EXPECT_EQ(read({"/models", "--tls-cert", "a"}).err, "atoll serve: --tls-cert needs --tls-key\n");
  const ReadLine key = read({"/models", "--tls-key", "b"});
  EXPECT_EQ(key.err, "atoll serve: --tls-key needs --tls-cert\n");
  EXPECT_EQ(key.exit_code, 2);
}

TEST(ServeCommandLine, TheEnvironmentSaysWhereToListenIfNoFlagDoes) {
  ::setenv("ATOLL_LISTEN_ADDRESS", "0.0.0.0", 1);
  const ReadLine silent = read({"/models"});
  const ReadLine flagged = read({"/models", "--http-address=127.0.0.2"});
  ::setenv("ATOLL_LISTEN_ADDRESS", "", 1);
  const ReadLine empty = read({"/models"});
  ::unsetenv("ATOLL_LISTEN_ADDRESS");
  const auto addresses = [](const ReadLine& line) {
    std::vector<std::string> found;
    for (const ServeEndpoint& endpoint : line.options->endpoints) found.push_back(endpoint.address);
    return found;
  };
  ASSERT_TRUE(silent.options && flagged.options && empty.options) << silent.err << flagged.err << empty.err;
  EXPECT_THAT(addresses(silent), ElementsAre("0.0.0.0", "0.0.0.0", ""));
  EXPECT_THAT(addresses(flagged), ElementsAre("127.0.0.2", "0.0.0.0", ""));
  EXPECT_THAT(addresses(empty), ElementsAre("127.0.0.1", "127.0.0.1", ""));
}

TEST(ServeCommandLine, TheDemonstrationNeedsNoFolder) {
  EXPECT_TRUE(read({}, "demo").options);
  EXPECT_EQ(read({"/models"}, "demo").err,
            "atoll demo: The following argument was not expected: /models (see atoll demo --help)\n");
}

TEST(ServeCommandLine, HelpHasEveryFlag) {
  const ReadLine line = read({"--help"});
  EXPECT_EQ(line.exit_code, kExitOk);
  for (const char* flag :
       {"DIR", "--http-port", "--http-address", "--allow-http", "--grpc-port", "--metrics-port",
        "--model-control-mode", "--repository-poll-secs", "--load-model", "--model-config-name",
        "--disable-auto-complete-config", "--exit-on-error", "--log-verbose", "--log-info", "--log-warning",
        "--log-file", "--set", "--print-manifest", "Exit code"})
    EXPECT_THAT(line.out, HasSubstr(flag));
}

TEST(ServeCommandLine, MistakesAreOneLineWithWhatWasMeant) {
  struct Case {
    std::vector<std::string> arguments;
    const char* error;
  };
  const Case kCases[] = {
      {{}, "DIR: found nothing, expected a folder or a file (see atoll serve --help)"},
      {{"--htp-port=1", "m"},
       "The following argument was not expected: --htp-port=1, did you mean '--http-port'? (see atoll serve --help)"},
      {{"--print-manifests"},
       "DIR: found nothing, expected a folder or a file, did you mean '--print-manifest'? (see atoll serve --help)"},
      {{"m", "n\n"}, "The following argument was not expected: n\\n (see atoll serve --help)"},
      {{"m", "--http-port=70000"}, "--http-port: found '70000', expected a whole number from 0 to 65535"},
      {{"m", "--http-port=-1"}, "--http-port: found '-1', expected a whole number from 0 to 65535"},
      {{"m", "--http-port=8000x"}, "--http-port: found '8000x', expected a whole number from 0 to 65535"},
      {{"m", "--log-verbose=3"}, "--log-verbose: found '3', expected a whole number from 0 to 2"},
      {{"m", "--allow-http=fals"},
       "--allow-http: found 'fals', expected true, on, 1, false, off or 0, did you mean 'false'?"},
      {{"m", "--model-control-mode=pol"},
       "--model-control-mode: found 'pol', expected none, poll or explicit, did you mean 'poll'?"},
      {{"m", "--load-model=a"}, "--load-model needs --model-control-mode=explicit"},
      {{"m", "--load-model=a", "--load-model=*", "--model-control-mode=explicit"},
       "--load-model=* already loads all models; leave the others out"},
      {{"m", "--exit-on-error=1", "--allow-http=0"},
       "--exit-on-error asks the server over HTTP, which --allow-http=false leaves out"},
      {{"m", "--allow-metrics=0", "--allow-http=0", "--allow-grpc=0"}, "nothing is allowed to be served"},
      {{"m", "--set=plugin.http.address=\"127.0.0.1:1\""},
       "--set plugin.http.address: is set by --http-address, --http-port and --allow-http"},
      {{"m", "--set", "x"}, "--set: found 'x', expected KEY=VALUE"},
  };
  for (const auto& c : kCases) {
    const ReadLine line = read(c.arguments);
    EXPECT_FALSE(line.options);
    EXPECT_EQ(line.exit_code, kExitUsage);
    EXPECT_EQ(line.err, std::string("atoll serve: ") + c.error + "\n");
  }
}

}  // namespace
}  // namespace atl::serve

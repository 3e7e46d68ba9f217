#include "kernel/manifest/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "atoll/runtime/option_table.h"

namespace atl::kernel {
namespace {

/// A folder of its own for every test; messages are shown without it.
/// What is wrong is the failure, as whoever reads a manifest makes it one in the end.
Result<Manifest> read_manifest_or_problems(const std::string& path, const std::vector<Override>& overrides) {
  runtime::Problems problems;
  Result<Manifest> manifest = read_manifest(path, overrides, problems);
  if (manifest.ok() && !problems.empty()) return problems.status();
  return manifest;
}

class ManifestTest : public testing::Test {
 protected:
  ManifestTest() {
    std::string pattern = testing::TempDir() + "atoll_manifest_" + std::string(6, 'X');
    folder_ = std::string(mkdtemp(pattern.data())) + "/";
  }
  ~ManifestTest() override { std::filesystem::remove_all(folder_); }

  Result<Manifest> read(std::string_view text, const std::vector<Override>& overrides = {}) {
    std::ofstream(folder_ + "m.toml", std::ios::binary) << text;
    return read_manifest_or_problems(folder_ + "m.toml", overrides);
  }
  std::string shown(const Status& status) const {
    std::string text = status.text();
    for (size_t at = text.find(folder_); at != std::string::npos; at = text.find(folder_)) {
      text.erase(at, folder_.size());
    }
    return text;
  }
  /// The message of a manifest that must be refused.
  std::string problems(std::string_view text, const std::vector<Override>& overrides = {}) {
    auto result = read(text, overrides);
    EXPECT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.status().code(), Code::kInvalidArgument);
    return shown(result.status());
  }

  std::string folder_;
};

std::string repeat(std::string_view text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out.append(text);
  return out;
}

TEST_F(ManifestTest, EmptyManifestHasDefaults) {
  auto manifest = read("");
  ASSERT_TRUE(manifest.ok()) << manifest.status().text();
  EXPECT_EQ(manifest->server.drain_timeout_ns, 30'000'000'000);
  EXPECT_EQ(manifest->server.worker_threads, 4u);
  EXPECT_TRUE(manifest->server.plugin_path.empty());
  EXPECT_EQ(manifest->log.level, "info");
  EXPECT_EQ(manifest->log.format, LogFormat::kText);
  EXPECT_EQ(manifest->log.time_format, "default");
  EXPECT_EQ(manifest->log.file, "");
  EXPECT_TRUE(manifest->instances.empty());
}

TEST_F(ManifestTest, ReadsEveryKey) {
  auto manifest = read(R"(# a comment with [brackets
[atoll]
drain_timeout = "250ms"
plugin_path = ["/a", 'b']
worker_threads = 64
[log]
level = "error"
format = "json"
time_format = "ISO8601"
file = "/tmp/x.log"
[plugin.zeta]
use = "role/name"
enabled = false
file = "/x/y.so"
needs = { "atoll.a/1" = "b" }
  own = 5
[plugin."a.b"]
file = "z.so"
)");
  ASSERT_TRUE(manifest.ok()) << manifest.status().text();
  EXPECT_EQ(manifest->server.drain_timeout_ns, 250'000'000);
  EXPECT_THAT(manifest->server.plugin_path, testing::ElementsAre("/a", "b"));
  EXPECT_EQ(manifest->server.worker_threads, 64u);
  EXPECT_EQ(manifest->log.level, "error");
  EXPECT_EQ(manifest->log.format, LogFormat::kJson);
  EXPECT_EQ(manifest->log.time_format, "ISO8601");
  EXPECT_EQ(manifest->log.file, "/tmp/x.log");
  ASSERT_EQ(manifest->instances.size(), 2u);
  EXPECT_EQ(manifest->instances[0].name, "a.b");
  EXPECT_EQ(manifest->instances[0].use, "a.b");
  EXPECT_TRUE(manifest->instances[0].enabled);
  const auto& zeta = manifest->instances[1];
  EXPECT_EQ(zeta.name, "zeta");
  EXPECT_EQ(zeta.use, "role/name");
  EXPECT_FALSE(zeta.enabled);
  EXPECT_EQ(zeta.file, "/x/y.so");
  EXPECT_THAT(zeta.needs, testing::ElementsAre(testing::Pair("atoll.a/1", "b")));
  ASSERT_EQ(zeta.options.size(), 1u);
  EXPECT_EQ(zeta.options[0].key, "own");
  EXPECT_EQ(zeta.options[0].where.line, 16u);
  EXPECT_EQ(zeta.options[0].where.column, 3u);
  EXPECT_EQ(zeta.where.line, 11u);
}

TEST_F(ManifestTest, ByteOrderMarkAndCarriageReturnsAreAccepted) {
  auto manifest = read("\xef\xbb\xbf[atoll]\r\nworker_threads = 2\r\n");
  ASSERT_TRUE(manifest.ok()) << manifest.status().text();
  EXPECT_EQ(manifest->server.worker_threads, 2u);
}

TEST_F(ManifestTest, SaysWhatIsWrong) {
  struct Case {
    const char* text;
    const char* problem;
  };
  const Case kCases[] = {
      {"[pluign]\n", "m.toml:1:1: unknown key 'pluign' at the top level, did you mean 'plugin'?"},
      {"x = 1\n", "m.toml:1:1: unknown key 'x' at the top level"},
      {"[atoll]\n  wroker_threads = 3\n",
       "m.toml:2:3: unknown key 'wroker_threads' in [atoll], did you mean 'worker_threads'?"},
      {"atoll = { 'levle' = 1 }\n", "m.toml:1:11: unknown key 'levle' in [atoll]"},
      {"[log]\nlevel = \"warnin\"\n",
       "m.toml:2:9: log.level: found string \"warnin\", expected one of trace|debug|info|warning|error, did "
       "you mean 'warning'?"},
      {"[log]\nformat = 5\n", "m.toml:2:10: log.format: found integer 5, expected one of text|json"},
      {"[log]\nfile = 2001-02-03\n", "m.toml:2:8: log.file: found date or time 2001-02-03, expected string"},
      {"atoll = 5\n", "m.toml:1:9: atoll: found integer 5, expected table [atoll]"},
      {"[[plugin.a]]\nuse = \"a/b\"\n", "m.toml:1:1: plugin.a: found array, expected table [plugin.a]"},
      {"plugin = []\n", "m.toml:1:10: plugin: found array, expected table [plugin]"},
      {"[plugin]\na = true\n", "m.toml:2:5: plugin.a: found boolean true, expected table [plugin.a]"},
      {"[atoll]\ndrain_timeout = \"30\"\n",
       "m.toml:2:17: atoll.drain_timeout: found string \"30\", expected duration (\"250ms\"), 0s..24h"},
      {"[atoll]\ndrain_timeout = \"25h\"\n",
       "m.toml:2:17: atoll.drain_timeout: found string \"25h\", expected duration (\"250ms\"), 0s..24h"},
      {"[atoll]\nworker_threads = 65\n",
       "m.toml:2:18: atoll.worker_threads: found integer 65, expected integer, 1..64"},
      {"[atoll]\nworker_threads = 1.5\n",
       "m.toml:2:18: atoll.worker_threads: found float 1.5, expected integer, 1..64"},
      {"[atoll]\nplugin_path = [\"a\", {}]\n",
       "m.toml:2:21: atoll.plugin_path: found table, expected list of strings ([\"a\", \"b\"])"},
      {"[plugin.a]\nuse = ['b/c']\n", "m.toml:2:7: plugin.a.use: found array, expected string"},
      {"[plugin.a]\n", "m.toml:1:1: plugin.a.use: found nothing, expected role/name (\"frontends/grpc\")"},
      {"[plugin.a]\nuse = \"b\"\n",
       "m.toml:2:7: plugin.a.use: found 'b', expected role/name (\"frontends/grpc\")"},
      {"[plugin.a]\nuse = \"/b\"\n",
       "m.toml:2:7: plugin.a.use: found '/b', expected role/name (\"frontends/grpc\")"},
      {"[plugin.a]\nuse = \"a/b/c\"\n",
       "m.toml:2:7: plugin.a.use: found 'a/b/c', expected role/name (\"frontends/grpc\")"},
      {"[plugin.a]\nuse = \"../b\"\n",
       "m.toml:2:7: plugin.a.use: found '../b', expected role/name (\"frontends/grpc\")"},
      {"[plugin.a]\nuse = \"b/..\"\n",
       "m.toml:2:7: plugin.a.use: found 'b/..', expected role/name (\"frontends/grpc\")"},
      {"[plugin.a]\nuse = \"b/c\"\nenabled = 1\n",
       "m.toml:3:11: plugin.a.enabled: found integer 1, expected boolean (true or false)"},
      {"[plugin.a]\nuse = \"b/c\"\nneeds.x = true\n",
       "m.toml:3:11: plugin.a.needs: found boolean true, expected table of strings ({ key = \"value\" })"},
      {"[plugin.\"a b\"]\n", "m.toml:1:1: found instance name 'a b', expected [A-Za-z0-9_.-]{1,64}"},
      {"[plugin.\"../x\"]\n", "m.toml:1:1: found instance name '../x', expected [A-Za-z0-9_.-]{1,64}"},
      {"[log]\nlevel = \"\\u001b[31m\"\n",
       "m.toml:2:9: log.level: found string \"\\x1b[31m\", expected one of trace|debug|info|warning|error"},
  };
  for (const auto& c : kCases) EXPECT_EQ(problems(c.text), c.problem);
}

TEST_F(ManifestTest, SyntaxErrorsAreOneLine) {
  struct Case {
    const char* text;
    const char* problem;
  };
  const Case kCases[] = {
      {"a = \n", "m.toml:1:5: missing value after key-value separator '=', expected value, but got nothing"},
      {"\n\na = 1 2\n", "m.toml:3:7: invalid line format, expected newline, but got '2'"},
      {"[a\nb = 1\n", "m.toml:1:1: an invalid key appeared, is not a valid key; the ']' is missing"},
      {"[log]\nlevel = \"x\n", "m.toml:2:9: the next token is not a valid string"},
      {"a = 1\n\na = 2\n", "m.toml:3:5: value (\"a\") already exists, value defined twice (see line 1)"},
      {"[log]\n[plugin]\n[log]\n",
       "m.toml:3:1: table (\"log\") already exists, table defined twice (see line 1)"},
      {"[plugin.a]\nb=1\n[plugin.a]\n",
       "m.toml:3:1: table (\"plugin.a\") already exists, table defined twice (see line 1)"},
      {"a = 0x\n", "m.toml:1:5: invalid value, the next token is not an integer"},
      {"a = 99999999999999999999\n",
       "m.toml:1:5: found number 99999999999999999999, expected one that fits in 64 bits"},
      {"a = 0xfffffffffffffffff\n",
       "m.toml:1:5: found number 0xfffffffffffffffff, expected one that fits in 64 bits"},
      {"a = 1e999\n", "m.toml:1:5: found number 1e999, expected one that fits in 64 bits"},
      {"\n a = \"\xff\"\n", "m.toml:2:7: found a byte that is not UTF-8, expected TOML in UTF-8"},
  };
  for (const auto& c : kCases) EXPECT_EQ(problems(c.text), c.problem);
  EXPECT_EQ(problems(std::string_view("a\0=1", 4)), "m.toml:1:2: found a NUL byte, expected TOML in UTF-8");
}

TEST_F(ManifestTest, AllProblemsAreToldAtOnce) {
  EXPECT_EQ(problems("[atoll]\nworker_threads = 0\nx = 1\n[log]\nlevel = 1\n"),
            "m.toml:2:18: atoll.worker_threads: found integer 0, expected integer, 1..64\n"
            "m.toml:3:1: unknown key 'x' in [atoll]\n"
            "m.toml:5:9: log.level: found integer 1, expected one of trace|debug|info|warning|error");
}

TEST_F(ManifestTest, ManyProblemsAreCounted) {
  std::string text = "[atoll]\n";
  for (int i = 0; i < 150; ++i) text += cat("key", i, " = 1\n");
  EXPECT_THAT(problems(text), testing::EndsWith("\nand 50 more problems"));
}

TEST_F(ManifestTest, LimitsOfNesting) {
  constexpr char kTooDeep[] = "found nesting deeper than 64 levels, expected at most that many";
  EXPECT_THAT(problems("a = " + repeat("{a = ", 10'000) + "1" + repeat("}", 10'000)),
              testing::EndsWith(kTooDeep));
  EXPECT_THAT(problems("a = " + repeat("[", 10'000) + repeat("]", 10'000)), testing::EndsWith(kTooDeep));
  EXPECT_THAT(problems("a" + repeat(".a", 10'000) + " = 1\n"), testing::EndsWith(kTooDeep));
  EXPECT_THAT(problems("[a" + repeat(".a", 10'000) + "]\n"), testing::EndsWith(kTooDeep));
  EXPECT_EQ(problems("a = " + repeat("[", 65) + repeat("]", 65)), cat("m.toml:1:69: ", kTooDeep));
  // A multi-line string that ends in quotes of its own does not hide what follows it.
  EXPECT_THAT(problems("a = [\"\"\"x\"\"\"\"\", " + repeat("[", 100)), testing::EndsWith(kTooDeep));
  // Brackets in strings and comments are no nesting, and 64 levels are allowed.
  EXPECT_EQ(problems("# " + repeat("[", 100) + "\na = ['" + repeat("[", 100) + "', \"\\\"" +
                     repeat("[", 100) + "\"]\n"),
            "m.toml:2:1: unknown key 'a' at the top level");
  EXPECT_EQ(problems("a = " + repeat("[", 64) + repeat("]", 64)),
            "m.toml:1:1: unknown key 'a' at the top level");
}

TEST_F(ManifestTest, LimitsOfSize) {
  EXPECT_EQ(problems(repeat("#", 1024 * 1024 + 1)),
            "m.toml: found more than 1 MiB of text, expected at most that much");
  EXPECT_TRUE(read(repeat("#", 1024 * 1024)).ok());
  constexpr char kTooLong[] =
      "found an array or inline table of more than 4096 elements or 64 KiB, expected at most that much";
  EXPECT_EQ(problems("a = [" + repeat("1,", 4095) + "1]"), "m.toml:1:1: unknown key 'a' at the top level");
  EXPECT_EQ(problems("a = [" + repeat("1,", 4096) + "1]"), cat("m.toml:1:8198: ", kTooLong));
  EXPECT_THAT(problems("a = [" + repeat("[1,1],", 3000) + "]"), testing::EndsWith(kTooLong));
  EXPECT_EQ(problems("a = ['" + repeat("x", 70'000) + "']"), cat("m.toml:1:70008: ", kTooLong));
  std::string instances;
  for (int i = 0; i <= 1024; ++i) instances += cat("[plugin.p", i, "]\nuse = \"a/b\"\n");
  EXPECT_EQ(problems(instances), "m.toml:1:1: found 1025 plugin instances, expected at most 1024");
}

TEST_F(ManifestTest, HugeFileIsNotRead) {
  { std::ofstream create(folder_ + "huge.toml"); }
  std::filesystem::resize_file(folder_ + "huge.toml", 100'000'000);
  auto result = read_manifest_or_problems(folder_ + "huge.toml", {});
  EXPECT_EQ(shown(result.status()), "huge.toml: found more than 1 MiB of text, expected at most that much");
}

TEST_F(ManifestTest, UnreadableFiles) {
  auto missing = read_manifest_or_problems(folder_ + "none.toml", {});
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_EQ(shown(missing.status()), "none.toml: cannot be read: No such file or directory");
  std::filesystem::create_directory(folder_ + "d");
  auto directory = read_manifest_or_problems(folder_ + "d", {});
  EXPECT_EQ(directory.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(shown(directory.status()), "d: cannot be read: Is a directory");
}

TEST_F(ManifestTest, WithoutAFileOverridesStandAlone) {
  auto manifest = read_manifest_or_problems("", {{"log.level", "debug", "--set"}});
  ASSERT_TRUE(manifest.ok()) << manifest.status().text();
  EXPECT_EQ(manifest->log.level, "debug");
}

TEST_F(ManifestTest, LaterOverridesWin) {
  auto manifest = read("[atoll]\nworker_threads = 1\n[plugin.a]\nuse = \"b/c\"\nx = 1\n",
                       {{"atoll.worker_threads", "2", "ATOLL__ATOLL__WORKER_THREADS"},
                        {"atoll.worker_threads", "3", "--set"},
                        {"atoll.plugin_path", "[\"/p\"]", "--set"},
                        {"log.file", folder_ + "x=y #1", "--set"},
                        {"plugin.\"a.b\".use", "d/e", "--set"},
                        {"plugin.a.needs.'atoll.q/1'", "z", "--set"},
                        {"plugin.a.enabled", "false", "--set"}});
  ASSERT_TRUE(manifest.ok()) << manifest.status().text();
  EXPECT_EQ(manifest->server.worker_threads, 3u);
  EXPECT_THAT(manifest->server.plugin_path, testing::ElementsAre("/p"));
  EXPECT_EQ(manifest->log.file, folder_ + "x=y #1");
  ASSERT_EQ(manifest->instances.size(), 2u);
  EXPECT_FALSE(manifest->instances[0].enabled);
  EXPECT_THAT(manifest->instances[0].needs, testing::ElementsAre(testing::Pair("atoll.q/1", "z")));
  EXPECT_EQ(manifest->instances[1].name, "a.b");
  EXPECT_EQ(manifest->instances[1].use, "d/e");
}

TEST_F(ManifestTest, TextThatIsMoreThanAValueIsAString) {
  for (const char* text : {"5 # comment", "5\nlevel=6", "127.0.0.1:8001", "", "[1", "99999999999999999999"}) {
    auto manifest = read("", {{"log.file", text, "--set"}});
    ASSERT_TRUE(manifest.ok()) << manifest.status().text();
    EXPECT_EQ(manifest->log.file, text);
  }
}

TEST_F(ManifestTest, OverridesThatDoNotFit) {
  struct Case {
    Override item;
    std::string problem;
  };
  constexpr std::string_view kKeyProblem = ", expected KEY=VALUE with a key such as plugin.grpc.address";
  const Case kCases[] = {
      {{"atoll.worker_threads", "x", "--set"},
       "--set atoll.worker_threads: found string \"x\", expected integer, 1..64"},
      {{"atoll.worker_threads", "0", "ATOLL__ATOLL__WORKER_THREADS"},
       "ATOLL__ATOLL__WORKER_THREADS: atoll.worker_threads: found integer 0, expected integer, 1..64"},
      {{"atoll.worker_threads.x", "0", "--set"},
       "--set atoll.worker_threads.x: 'worker_threads' is integer 1 at m.toml:2:18, expected a table to set "
       "a key in"},
      {{"atol.x", "1", "--set"}, "--set atol.x: unknown key 'atol' at the top level, did you mean 'atoll'?"},
      {{"plugin.a.b", "1", "--set"},
       "--set plugin.a.b: the manifest has no instance 'a'; a new one needs plugin.a.use"},
      {{"plugin", "1", "--set"}, "--set plugin: found integer 1, expected table [plugin]"},
      {{"", "1", "ATOLL__"}, cat("ATOLL__: found key ''", kKeyProblem)},
      {{"a..b", "1", "--set"}, cat("--set a..b: found key 'a..b'", kKeyProblem)},
      {{"a.\"b", "1", "--set"}, cat("--set a.\"b: found key 'a.\"b'", kKeyProblem)},
      {{"a.", "1", "--set"}, cat("--set a.: found key 'a.'", kKeyProblem)},
      {{"a" + repeat(".a", 16), "1", "--set"},
       cat("--set a", repeat(".a", 16), ": found key 'a", repeat(".a", 16), "'", kKeyProblem)},
      {{"log.file", repeat("x", 1024 * 1024 + 1), "--set"},
       cat("--set log.file: found more than 1 MiB of text", kKeyProblem)},
  };
  for (const auto& c : kCases) EXPECT_EQ(problems("[atoll]\nworker_threads = 1\n", {c.item}), c.problem);
  const std::string web = "[plugin.web]\nuse = 'frontends/http'\n";
  EXPECT_EQ(problems(web, {{"plugin.wbe.address", "2", "--set"}}),
            "--set plugin.wbe.address: the manifest has no instance 'wbe', did you mean 'web'?");
  EXPECT_TRUE(read(web, {{"plugin.new.address", "x", "--set"}, {"plugin.new.use", "a/b", "--set"}}).ok());
}

TEST(OverridesFromEnvironmentTest, TakesItsOwnVariables) {
  char first[] = "ATOLL__PLUGIN__GRPC__BYTES_MAX=a=b";
  char other[] = "PATH=/bin";
  char single[] = "ATOLL_HOME=/x";
  char second[] = "ATOLL__PLUGIN__GRPC=";
  char broken[] = "ATOLL__X";
  char* environment[] = {first, other, single, second, broken, nullptr};
  auto overrides = overrides_from_environment(environment);
  ASSERT_EQ(overrides.size(), 2u);
  EXPECT_EQ(overrides[0].key, "plugin.grpc");
  EXPECT_EQ(overrides[0].text, "");
  EXPECT_EQ(overrides[1].key, "plugin.grpc.bytes_max");
  EXPECT_EQ(overrides[1].text, "a=b");
  EXPECT_EQ(overrides[1].origin, "ATOLL__PLUGIN__GRPC__BYTES_MAX");
  EXPECT_TRUE(overrides_from_environment(nullptr).empty());
}

TEST(ManifestSectionsTest, TablesAreSound) {
  EXPECT_EQ(runtime::check_option_table(manifest_sections()[0].options).text(), "OK");
  // `file` is a key of [log] and one of instances; only the latter makes it reserved for plugins.
  EXPECT_EQ(runtime::check_option_table(manifest_sections()[1].options).text(),
            "option 'file': this key is the kernel's own");
}

TEST(ManifestSectionsTest, ReferenceNamesTheKernelsKeys) {
  std::string text = render_reference(manifest_sections(), {}, runtime::ReferenceFormat::kMarkdown);
  for (const char* part :
       {"## [atoll]\n", "| drain_timeout | duration | 30s | 0s..24h |", "## [log]\n",
        "| format | string | text | text\\|json |", "## [plugin.NAME]\n", "| use | string |"}) {
    EXPECT_THAT(text, testing::HasSubstr(part));
  }
}

}  // namespace
}  // namespace atl::kernel

#include "kernel/cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace atl::kernel {
namespace {

struct Parsed {
  std::optional<CommandLine> line;
  int exit_code = -1;
  std::string out;
  std::string err;
};

Parsed parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "atoll");
  std::ostringstream out, err;
  Parsed parsed;
  parsed.line =
      parse_command_line(static_cast<int>(arguments.size()), arguments.data(), out, err, parsed.exit_code);
  parsed.out = out.str();
  parsed.err = err.str();
  return parsed;
}

TEST(CommandLineTest, Serve) {
  auto parsed = parse({"--manifest", "a.toml", "--set", "log.level=debug", "--set",
                       "plugin.x.paths=[\"a,b\", \"c\"]", "--set=plugin.x.y=p=q", "--set", "plugin.x.z="});
  ASSERT_TRUE(parsed.line.has_value()) << parsed.err;
  EXPECT_EQ(parsed.line->action, Action::kServe);
  EXPECT_EQ(parsed.line->manifest_path, "a.toml");
  ASSERT_EQ(parsed.line->overrides.size(), 4u);
  EXPECT_EQ(parsed.line->overrides[0].key, "log.level");
  EXPECT_EQ(parsed.line->overrides[0].text, "debug");
  EXPECT_EQ(parsed.line->overrides[0].origin, "--set");
  EXPECT_EQ(parsed.line->overrides[1].text, "[\"a,b\", \"c\"]");
  EXPECT_EQ(parsed.line->overrides[2].key, "plugin.x.y");
  EXPECT_EQ(parsed.line->overrides[2].text, "p=q");
  EXPECT_EQ(parsed.line->overrides[3].text, "");
}

TEST(CommandLineTest, CheckAndList) {
  auto check = parse({"--check", "--manifest=a.toml"});
  ASSERT_TRUE(check.line.has_value()) << check.err;
  EXPECT_EQ(check.line->action, Action::kCheck);
  auto list = parse({"--list"});
  ASSERT_TRUE(list.line.has_value()) << list.err;
  EXPECT_EQ(list.line->action, Action::kList);
  EXPECT_EQ(list.line->list_format, ReferenceFormat::kText);
  auto markdown = parse({"--list", "--format", "markdown"});
  ASSERT_TRUE(markdown.line.has_value()) << markdown.err;
  EXPECT_EQ(markdown.line->list_format, ReferenceFormat::kMarkdown);
}

TEST(CommandLineTest, VersionAndHelpSucceed) {
  auto version = parse({"--version"});
  EXPECT_FALSE(version.line.has_value());
  EXPECT_EQ(version.exit_code, kExitOk);
  EXPECT_THAT(version.out,
              testing::MatchesRegex(
                  "atoll [0-9]+.[0-9]+.[0-9]+\ncommit [0-9a-z+]+\nbuild itanium-abi.*/sanitizer=.*\n"));
  auto help = parse({"--help"});
  EXPECT_FALSE(help.line.has_value());
  EXPECT_EQ(help.exit_code, kExitOk);
  for (const char* option :
       {"--manifest FILE", "--set KEY=VALUE", "--check", "--list", "--format", "--version", "atoll WORD"}) {
    EXPECT_THAT(help.out, testing::HasSubstr(option));
  }
}

TEST(CommandLineTest, MistakesAreOneLine) {
  struct Case {
    std::vector<const char*> arguments;
    const char* error;
  };
  const Case kCases[] = {
      {{}, "atoll: --manifest: found nothing, expected a file (see atoll --help)\n"},
      {{"--manifest", "a", "--set", "x"}, "atoll: --set: found 'x', expected KEY=VALUE\n"},
      {{"--manifest", "a", "--set", "=x"}, "atoll: --set: found '=x', expected KEY=VALUE\n"},
      {{"--list", "--format", "html"}, "atoll: --format: found 'html', expected text or markdown\n"},
      {{"--manifest", "a", "--format", "text"}, "atoll: --format requires --list (see atoll --help)\n"},
      {{"--manifest", "a", "--check", "--list"}, "atoll: --check excludes --list (see atoll --help)\n"},
      {{"--nope"}, "atoll: The following argument was not expected: --nope (see atoll --help)\n"},
      {{"--manifst=a"},
       "atoll: The following argument was not expected: --manifst=a, did you mean '--manifest'? (see atoll "
       "--help)\n"},
      {{"--n\no"}, "atoll: The following argument was not expected: --n\\no (see atoll --help)\n"},
      {{"--manifest"}, "atoll: --manifest: 1 required FILE missing (see atoll --help)\n"},
      {{"--manifest", "a", "stray"},
       "atoll: The following argument was not expected: stray (see atoll --help)\n"},
  };
  for (const auto& c : kCases) {
    auto parsed = parse(c.arguments);
    EXPECT_FALSE(parsed.line.has_value());
    EXPECT_EQ(parsed.exit_code, kExitUsage);
    EXPECT_EQ(parsed.err, c.error);
  }
}

TEST(PrintErrorTest, PrefixesEveryLineAndEscapes) {
  std::ostringstream err;
  print_error(err, "one\ntwo\x1b[0m");
  EXPECT_EQ(err.str(), "atoll: one\natoll: two\\x1b[0m\n");
}

}  // namespace
}  // namespace atl::kernel

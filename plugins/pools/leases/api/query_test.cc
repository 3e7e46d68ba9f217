#include "pools/leases/api/query.h"

#include <gtest/gtest.h>

namespace atl::pools {
namespace {

std::string flag(std::string_view query, std::string_view name = "force") {
  Result<Query> parsed = Query::parse(query);
  if (!parsed.ok()) return std::string(parsed.status().message());
  Result<bool> value = parsed->flag(name);
  return !value.ok() ? std::string(value.status().message()) : *value ? "yes" : "no";
}

TEST(Query, FlagsAreTrueOrFalseInAnyCaseAndNothingElse) {
  for (const char* on :
       {"force=true", "force=True", "force=TRUE", "force=1", "a=b&force=tRuE", "force=%74rue"})
    EXPECT_EQ(flag(on), "yes") << on;
  for (const char* off : {"", "force=false", "force=False", "force=FALSE", "force=0", "a=1", "&&", "Force=1"})
    EXPECT_EQ(flag(off), "no") << off;
  for (const char* wrong : {"force", "force=", "force=no", "force=yes", "force=on", "force=off", "force=2",
                            "force= true", "force=true%00", "force=01", "force=truefalse", "force=%ff"}) {
    EXPECT_TRUE(flag(wrong).ends_with("expected true, false, 1 or 0")) << wrong << ": " << flag(wrong);
  }
  EXPECT_EQ(flag("force=no"), "the query's 'force' is 'no', expected true, false, 1 or 0");
}

TEST(Query, NothingComesTwice) {
  EXPECT_EQ(flag("force=false&force=true"), "the query has 'force' twice");
  EXPECT_EQ(flag("a=1&%61=1"), "the query has 'a' twice");
}

TEST(Query, NamesThatACallDoesNotHaveAreRefused) {
  const Query query = std::move(Query::parse("dryrun=true")).value();
  EXPECT_EQ(query.allow({"dry_run"}).message(),
            "the query has 'dryrun', which this call does not have, expected 'dry_run'");
  EXPECT_EQ(query.allow({"a", "b"}).message(),
            "the query has 'dryrun', which this call does not have, expected 'a' or 'b'");
  EXPECT_EQ(query.allow({}).message(), "the query has 'dryrun', which this call does not have");
  EXPECT_TRUE(query.allow({"a", "dryrun"}).ok());
  const Query none = std::move(Query::parse("")).value();
  EXPECT_TRUE(none.allow({}).ok());
}

TEST(Query, TextsAreWithoutPercentCodes) {
  const Query query = std::move(Query::parse("pool=a%20b&x=1=2")).value();
  EXPECT_EQ(query.text("pool"), "a b");
  EXPECT_EQ(query.text("x"), "1=2");
  EXPECT_EQ(query.text("y"), "");
}

}  // namespace
}  // namespace atl::pools

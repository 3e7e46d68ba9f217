// Models of one name in several repositories.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/models/model_identifier.h"
#include "models/catalog/testing/test_support.h"

namespace atl::models {
namespace {

using ::testing::ElementsAre;

std::string ensemble_of(const std::string& member) {
  return cat("ensemble_scheduling { step { model_name: \"", member, "\" model_version: -1 } }");
}

class NamespacesTest : public ::testing::Test {
 protected:
  NamespacesTest()
      : bench_(CatalogBench::Threads::kSimulated,
               [](test::FakeOptions& options) { options.set_bool("namespacing", true); }) {
    bench_.host.registry().publish<SchedulerProvider>("ensemble", ensembles_);
  }
  ~NamespacesTest() override { bench_.end(); }

  Status refusal(std::string_view model, int64_t version = ModelCatalog::kLatest) {
    return bench_.catalog().acquire(model, version).status().clone();
  }

  FakeEnsembleProvider ensembles_;
  CatalogBench bench_;
};

TEST(Namespaces, IdentifiersAreTakenApart) {
  EXPECT_EQ(model_name_of("/srv/a::m"), "m");
  EXPECT_EQ(model_namespace_of("/srv/a::m"), "/srv/a");
  EXPECT_EQ(model_name_of("::m"), "m");
  EXPECT_EQ(model_namespace_of("::m"), "");
  EXPECT_EQ(model_name_of("m"), "m");
  EXPECT_FALSE(is_model_identifier("m"));
  EXPECT_TRUE(is_model_identifier(model_identifier_of("/srv/a", "m")));
}

TEST_F(NamespacesTest, TheOnlyHolderOfANameIsUsed) {
  bench_.put("/a::m");
  bench_.put("/b::n");
  for (const ModelLoadResult& result : bench_.load({"/a::m", "/b::n"})) EXPECT_TRUE(result.status.ok());
  EXPECT_TRUE(bench_.catalog().acquire("m", 1).ok());
  EXPECT_TRUE(bench_.catalog().acquire("/a::m", 1).ok());
  EXPECT_EQ(refusal("m", 7).message(), "Request for unknown model: 'm' version 7 is not found");
  EXPECT_EQ(refusal("o").message(), "Request for unknown model: 'o' is not found");
  EXPECT_EQ(refusal("/b::m").code(), Code::kNotFound);
  EXPECT_THAT(bench_.index(), ElementsAre("m/1 READY", "n/1 READY"));
  EXPECT_THAT(bench_.catalog().ready_versions("m").value(), ElementsAre(1));
  ASSERT_EQ(bench_.catalog().statistics("m", ModelCatalog::kLatest).value().size(), 1U);
}

TEST_F(NamespacesTest, SeveralHoldersAreAmbiguousUntilOneIsLeft) {
  bench_.put("/a::m");
  bench_.put("/b::m");
  EXPECT_TRUE(bench_.load_one("m").ok()) << "both, by name";
  EXPECT_THAT(bench_.index(), ElementsAre("m/1 READY", "m/1 READY"));
  Status ambiguous = refusal("m");
  EXPECT_EQ(ambiguous.code(), Code::kInvalidArgument);
  EXPECT_EQ(ambiguous.message(),
            "There are 2 identifiers of model 'm' in global map, model namespace must be provided to resolve "
            "ambiguity.");
  EXPECT_TRUE(bench_.catalog().acquire("/b::m", ModelCatalog::kLatest).ok());
  auto statistics = bench_.catalog().statistics("m", ModelCatalog::kLatest);
  ASSERT_EQ(statistics->size(), 2U);
  EXPECT_EQ((*statistics)[0].name, "/a::m");
  EXPECT_EQ((*statistics)[1].name, "/b::m");
  bench_.unload({"/b::m"});
  EXPECT_EQ(bench_.catalog().acquire("m", 1).value()->info().name, "/a::m");
  EXPECT_EQ(bench_.catalog().statistics("", ModelCatalog::kLatest).value()[0].name, "/a::m");
}

TEST_F(NamespacesTest, UnloadingANameUnloadsAllOfIt) {
  bench_.put("/a::m");
  bench_.put("/b::m");
  EXPECT_TRUE(bench_.load_one("m").ok());
  bench_.unload({"m"});
  EXPECT_EQ(refusal("m").message(), "Request for unknown model: 'm' has no available versions");
  EXPECT_THAT(bench_.index(), ElementsAre("m/1 UNAVAILABLE unloaded", "m/1 UNAVAILABLE unloaded"));
}

TEST_F(NamespacesTest, ALoadByNameFailsWithTheFirstFailure) {
  bench_.put("/a::m");
  bench_.put("/b::m", "no config");
  EXPECT_FALSE(bench_.load_one("m").ok());
  EXPECT_TRUE(bench_.catalog().acquire("m", 1).ok()) << "the other one serves";
  EXPECT_EQ(bench_.load_one("ghost").code(), Code::kNotFound);
}

TEST_F(NamespacesTest, AConfigurationIsForAllOfTheNameAndFilesAreForNone) {
  bench_.put("/a::m");
  bench_.put("/b::m");
  EXPECT_TRUE(bench_.load_config("m", R"(backend: "fake" max_batch_size: 2)").status.ok());
  for (const char* identifier : {"/a::m", "/b::m"}) {
    EXPECT_EQ(bench_.catalog().acquire(identifier, 1).value()->info().max_batch_size, 2U);
  }
  EXPECT_TRUE(bench_.load_files("f", {"1/model"}).status.ok());
  EXPECT_EQ(bench_.catalog().acquire("f", 1).value()->info().name, "f");
  EXPECT_TRUE(bench_.catalog().acquire("::f", 1).ok());
}

TEST_F(NamespacesTest, EnsemblesPreferMembersOfTheirOwnRepository) {
  bench_.put("/a::m");
  bench_.put("/b::m");
  bench_.put("/b::top", ensemble_of("m"));
  bench_.put("/a::alone", ensemble_of("top"));
  EXPECT_EQ(bench_.load_one("/a::alone").text(), "OK");
  EXPECT_EQ(refusal("/a::m").code(), Code::kNotFound)
      << "not loaded: the ensemble is of the other repository";
  EXPECT_TRUE(bench_.catalog().acquire("/b::m", 1).ok());
  inference::ModelConfig config;
  ModelRef top = std::move(bench_.catalog().acquire("top", 1)).value();
  ASSERT_TRUE(config.ParseFromString(top->info().config));
  EXPECT_EQ(config.ensemble_scheduling().step(0).model_namespace(), "/b");
  EXPECT_EQ(config.ensemble_scheduling().step(0).model_name(), "m");
  ASSERT_EQ(ensembles_.members.size(), 1U);
  EXPECT_EQ(ensembles_.members[0], top.get()) << "as the scheduler of /a::alone finds it";
}

/// As a control plugin does it that polls: what has gone is unloaded, and what is new is loaded.
TEST_F(NamespacesTest, AnEnsembleWhoseMemberHasGoneIsLinkedToAnother) {
  bench_.put("/a::m");
  bench_.put("/b::m");
  bench_.put("/a::top", ensemble_of("m"));
  for (const ModelLoadResult& result : bench_.load({"/a::m", "/b::m", "/a::top"}))
    EXPECT_TRUE(result.status.ok());
  bench_.repository.remove("/a::m");
  bench_.unload({"/a::m"});
  EXPECT_EQ(refusal("top").code(), Code::kNotFound);
  EXPECT_TRUE(bench_.load({}).empty());
  ASSERT_TRUE(bench_.catalog().acquire("top", 1).ok());
  ASSERT_EQ(ensembles_.members.size(), 1U);
  EXPECT_EQ(ensembles_.members[0], bench_.catalog().acquire("/b::m", 1)->get());
  // It comes back with its own.
  bench_.put("/a::m");
  bench_.repository.remove("/b::m");
  bench_.unload({"/b::m"});
  bench_.load({"/a::m"});
  ASSERT_TRUE(bench_.catalog().acquire("top", 1).ok());
  EXPECT_EQ(ensembles_.members[0], bench_.catalog().acquire("/a::m", 1)->get());
}

TEST_F(NamespacesTest, AnEnsembleWaitsForAMemberThatIsStillThere) {
  bench_.put("/a::m");
  bench_.put("/b::m");
  bench_.put("/a::top", ensemble_of("m"));
  for (const ModelLoadResult& result : bench_.load({"/a::m", "/b::m", "/a::top"}))
    EXPECT_TRUE(result.status.ok());
  bench_.unload({"/a::m"});  // by a client
  bench_.load({});
  EXPECT_EQ(refusal("top").code(), Code::kNotFound);
  bench_.put("/c::m");
  bench_.repository.remove("/a::m");
  bench_.load({});
  EXPECT_EQ(refusal("top").code(), Code::kNotFound) << "two have the name";
  bench_.load({"/a::top"});
  EXPECT_EQ(refusal("top").code(), Code::kNotFound);
}

TEST_F(NamespacesTest, AnEnsembleOfAnAmbiguousNameIsRefused) {
  bench_.put("/a::m");
  bench_.put("/b::m");
  bench_.put("/c::top", ensemble_of("m"));
  EXPECT_EQ(bench_.load_one("/c::top").message(),
            "ensemble /c::top contains models that are not available or ambiguous: m");
}

}  // namespace
}  // namespace atl::models

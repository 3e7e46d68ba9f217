#include "atoll/runtime/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "atoll/core/moved_option.h"

namespace atl::runtime {
namespace {

constexpr atoll_provided_v1 kProvides[] = {{"atoll.frontend/1", 2, 5, 0}, {"atoll.other/1", 0, 0, 0}};
constexpr atoll_need_v1 kNeeds[] = {{"atoll.models/1", 2, 0},
                                    {"atoll.trace/1", 0, ATOLL_NEED_OPTIONAL},
                                    {"atoll.config/1", 0, ATOLL_NEED_MANY}};
constexpr atoll_option_v1 kListedOptions[] = {
    {"address", ATOLL_OPTION_STRING, ATOLL_OPTION_REQUIRED, nullptr, nullptr, nullptr, nullptr,
     "Where | to listen."},
    {"bytes_max", ATOLL_OPTION_BYTES, 0, "64MiB", "4KiB", "2GiB", nullptr, "Largest\nmessage."},
    {"gone", ATOLL_OPTION_STRING, ATOLL_OPTION_MOVED, nullptr, nullptr, nullptr, nullptr, "not shown"}};

atoll_plugin_v1_t plugin() {
  atoll_plugin_v1_t plugin{};
  plugin.flags = ATOLL_PLUGIN_RESIDENT | ATOLL_PLUGIN_SINGLETON | ATOLL_PLUGIN_UNTRIED;
  plugin.name = "frontends/grpc";
  plugin.version = "1.0.0";
  plugin.help = "Speaks gRPC.";
  plugin.provides = kProvides;
  plugin.provides_count = 2;
  plugin.needs = kNeeds;
  plugin.needs_count = 3;
  plugin.options = kListedOptions;
  plugin.options_count = 3;
  return plugin;
}

std::string render(ReferenceFormat format) {
  auto grpc = plugin();
  const atoll_plugin_v1_t* plugins[] = {&grpc};
  std::string text = render_reference({}, plugins, format);
  size_t begin = text.find("frontends/grpc 1.0.0");
  return begin == std::string::npos ? text : text.substr(begin);
}

TEST(ReferenceTest, Markdown) {
  EXPECT_EQ(render(ReferenceFormat::kMarkdown),
            "frontends/grpc 1.0.0\n\n"
            "Speaks gRPC.\n\n"
            "- provides: atoll.frontend/1.2 (rank 5), atoll.other/1.0\n"
            "- needs: atoll.models/1.2, atoll.trace/1.0 (optional), atoll.config/1.0 (any number)\n"
            "- flags: resident, singleton, untried\n"
            "\n"
            "| key | type | default | range | meaning |\n"
            "| --- | --- | --- | --- | --- |\n"
            "| address | string | required |  | Where \\| to listen. |\n"
            "| bytes_max | bytes | 64MiB | 4KiB..2GiB | Largest\\nmessage. |\n");
}

TEST(ReferenceTest, Text) {
  EXPECT_EQ(render(ReferenceFormat::kText),
            "frontends/grpc 1.0.0\n"
            "  Speaks gRPC.\n"
            "  provides: atoll.frontend/1.2 (rank 5), atoll.other/1.0\n"
            "  needs: atoll.models/1.2, atoll.trace/1.0 (optional), atoll.config/1.0 (any number)\n"
            "  flags: resident, singleton, untried\n"
            "    key        type    default   range       meaning\n"
            "    address    string  required              Where | to listen.\n"
            "    bytes_max  bytes   64MiB     4KiB..2GiB  Largest\\nmessage.\n");
}

TEST(ReferenceTest, SectionsComeFirst) {
  const OptionSection sections[] = {{"server", "", {kListedOptions, 1}}, {"plugin.NAME", "Keys of all.", {}}};
  auto grpc = plugin();
  const atoll_plugin_v1_t* plugins[] = {&grpc};
  EXPECT_THAT(render_reference(sections, plugins, ReferenceFormat::kText),
              testing::StartsWith("[server]\n"
                                  "    key      type    default   range  meaning\n"
                                  "    address  string  required         Where | to listen.\n"
                                  "\n[plugin.NAME]\n"
                                  "  Keys of all.\n"
                                  "\nfrontends/grpc 1.0.0\n"));
}

TEST(ReferenceTest, EmptyDescriptorIsShown) {
  atoll_plugin_v1_t empty{};
  const atoll_plugin_v1_t* plugins[] = {&empty};
  EXPECT_THAT(render_reference({}, plugins, ReferenceFormat::kMarkdown),
              testing::EndsWith("##  \n\n- provides: nothing\n- needs: nothing\n"));
}

}  // namespace
}  // namespace atl::runtime

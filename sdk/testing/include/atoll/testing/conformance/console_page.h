/// Conformance of "atoll.console_page/1".
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "atoll/core/utf8.h"
#include "atoll/frontend/console_page.h"
#include "atoll/testing/conformance/conformance.h"

namespace atl::test {

struct ConsolePageProvider {
  std::string name;
  std::function<std::shared_ptr<ConsolePage>()> make;
  std::vector<ConformanceException> exceptions;
  friend void PrintTo(const ConsolePageProvider& provider, std::ostream* out) { *out << provider.name; }
};

class ConsolePageConformance : public Conformance<ConsolePageProvider> {
 protected:
  void SetUp() override {
    page_ = GetParam().make();
    ASSERT_NE(page_, nullptr);
  }
  std::shared_ptr<ConsolePage> page_;
};

TEST_P(ConsolePageConformance, ItHasATitle) {
  check([&] {
    EXPECT_FALSE(page_->title().empty());
    EXPECT_TRUE(is_utf8(page_->title()));
    EXPECT_EQ(page_->title().data(), page_->title().data()) << "it is constant";
  });
}

TEST_P(ConsolePageConformance, TheFirstFileIsAModuleThatShows) {
  check([&] {
    ASSERT_FALSE(page_->files().empty());
    const ConsoleFile& first = page_->files()[0];
    EXPECT_TRUE(first.name.ends_with(".js")) << first.name;
    const std::string content(first.content);
    EXPECT_TRUE(content.find("export function show(") != std::string::npos ||
                content.find("export async function show(") != std::string::npos ||
                content.find("export const show") != std::string::npos)
        << content.substr(0, 1000);
  });
}

TEST_P(ConsolePageConformance, FilesHaveNamesThatAnAddressMayHave) {
  check([&] {
    std::set<std::string> names;
    for (const ConsoleFile& file : page_->files()) {
      const std::string name(file.name);
      EXPECT_TRUE(names.insert(name).second) << name << " comes twice";
      EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.-"), std::string::npos) << name;
      EXPECT_TRUE(name.ends_with(".js") || name.ends_with(".css")) << name;
      EXPECT_FALSE(file.content.empty()) << name;
      EXPECT_TRUE(is_utf8(file.content)) << name;
      EXPECT_TRUE(file.gzip.empty() || file.gzip.starts_with("\x1f\x8b")) << name;
    }
  });
}

TEST_P(ConsolePageConformance, NothingComesFromAnotherOrigin) {
  check([&] {
    for (const ConsoleFile& file : page_->files()) {
      for (const char* forbidden : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                                    "from \"http", "from 'http", "import(\"http", "fetch(\"http"})
        EXPECT_EQ(file.content.find(forbidden), std::string_view::npos) << file.name << " has " << forbidden;
    }
  });
}

}  // namespace atl::test

#include <gtest/gtest.h>

#include "atoll/testing/conformance/model_config.h"
#include "configs/pbtxt/pbtxt_model_configs.h"

namespace atl::test {

INSTANTIATE_TEST_SUITE_P(Pbtxt, ModelConfigConformance,
                         ::testing::Values(ModelConfigsProvider{
                             .name = "configs/pbtxt",
                             .make =
                                 [](FakeHost& host) {
                                   return std::make_shared<pbtxt::PbtxtModelConfigs>(pbtxt::Settings(),
                                                                                     &host.log());
                                 },
                             .exceptions = {}}));

}  // namespace atl::test

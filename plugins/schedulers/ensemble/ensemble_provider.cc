#include "schedulers/ensemble/ensemble_provider.h"

#include <utility>

#include "atoll/proto/parse_model_config.h"
#include "model_config.pb.h"

namespace atl::ensemble {

Result<std::unique_ptr<Scheduler>> EnsembleProvider::create(const SchedulerContext& context) noexcept {
  inference::ModelConfig config;
  if (!proto::parse_model_config(context.config, &config))
    return internal_error("the configuration of model '", context.model_name, "' cannot be read");
  Result<StepGraph> graph = make_graph(config, context.members);
  if (!graph.ok()) return std::move(graph).status();
  Result<schedulers::AnswerThread> answer_thread = answer_threads_.get(*context.executors);
  if (!answer_thread.ok()) return std::move(answer_thread).status();
  return std::make_unique<EnsembleScheduler>(context, config, std::move(graph).value(), settings_,
                                             std::move(answer_thread).value());
}

}  // namespace atl::ensemble

/// The console as routes of the HTTP frontend: the files of its page, and the calls that the page needs beside those of V2.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "atoll/core/executor.h"
#include "atoll/core/followed_service.h"
#include "atoll/core/gate.h"
#include "atoll/core/services.h"
#include "atoll/frontend/http_routes.h"
#include "atoll/models/model_control.h"
#include "frontends/console/answer_json.h"
#include "frontends/console/caller_check.h"
#include "frontends/console/catalog_view.h"
#include "frontends/console/counts/count_reader.h"
#include "frontends/console/history/history_json.h"
#include "frontends/console/history/history_ring.h"
#include "frontends/console/history/history_sampler.h"
#include "frontends/console/instances/instance_list.h"
#include "frontends/console/log/log_lines.h"
#include "frontends/console/page_files.h"
#include "frontends/console/timeline/timeline_json.h"
#include "frontends/console/timeline/timeline_recorder.h"
#include "frontends/console/timeline/timeline_ring.h"

namespace atl::frontends::console {

class ConsoleRoutes final : public HttpRoutes {
 public:
  /// \param host  outlives this object
  /// \param history_ns  time between two points of the history; 0: there is none
  ConsoleRoutes(Host& host, CallerRules rules, int64_t history_ns);
  ConsoleRoutes(const ConsoleRoutes&) = delete;
  ConsoleRoutes& operator=(const ConsoleRoutes&) = delete;
  virtual ~ConsoleRoutes() = default;

  /// Errors: no model catalog; no thread to be had. [control]
  Status start();
  /// After the last request. [control]
  void stop();

  // --- HttpRoutes ---
  std::vector<HttpRoute> routes() const noexcept override;
  void handle(std::string_view route, HttpExchange& exchange) noexcept override;

 private:
  void take(std::string_view route, HttpExchange& exchange, Pass pass);
  /// Answers on the thread for what takes longer. \param answer  a function of the exchange
  template <class Answer>
  void answer_later(HttpExchange& exchange, Pass pass, Answer answer);
  /// The same for a call whose address says what is asked for. \param answer  a function of this object, the exchange and
  /// the query
  template <class Query, class Answer>
  void answer_asked(HttpExchange& exchange, Pass pass, Answer answer);
  void answer_file(HttpExchange& exchange) const;
  void answer_overview(HttpExchange& exchange);
  void answer_models(HttpExchange& exchange, const ModelsQuery& query);
  void answer_history(HttpExchange& exchange, const HistoryQuery& query);
  void answer_timeline(HttpExchange& exchange, const TimelineQuery& query);
  void answer_ensembles(HttpExchange& exchange);
  void answer_plugins(HttpExchange& exchange) const;
  /// Options, and manifests.
  void take_manifest(std::string_view route, HttpExchange& exchange, Pass pass);
  /// What other plugins count. \param is_tenants  false: sequences
  void answer_counts(HttpExchange& exchange, bool is_tenants);
  void answer_waiting(HttpExchange& exchange);
  void answer_log(HttpExchange& exchange, const LogQuery& query);
  /// What all models are like, now or a little earlier. Errors: as CatalogView::look(). [worker]
  Result<const CatalogLook*> look();
  ServerFacts facts(const HttpExchange& exchange) const;
  /// A point of the history, and then the next one.
  void sample();

  Host& host_;
  const int64_t history_ns_;
  const PageFiles files_;
  CallerCheck callers_;
  Service<ModelCatalog> catalog_;
  std::optional<CatalogView> view_;    ///< for tasks of slow_
  std::optional<CountReader> counts_;  ///< for tasks of slow_
  HistoryRing ring_;
  std::optional<HistorySampler> sampler_;  ///< for tasks of slow_
  TimelineRing timeline_;
  TimelineRecorder recorder_;
  InstanceList instances_;
  Followed<ModelControl> control_;
  ServerFacts server_;  ///< without `control` and `may_act`, which facts() has
  SerialExecutorPtr slow_;
};

}  // namespace atl::frontends::console

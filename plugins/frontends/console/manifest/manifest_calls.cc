#include "frontends/console/manifest/manifest_calls.h"

#include <memory>
#include <utility>

#include "atoll/core/guarded.h"
#include "atoll/core/registry.h"
#include "frontends/console/answer_json.h"
#include "frontends/console/manifest/manifest_json.h"

namespace atl::frontends::console {

void answer_options(Host& host, HttpExchange& exchange, const ProcessStart& start) {
  const Result<Service<KernelControl>> kernel = host.registry().find<KernelControl>();
  if (!kernel.ok()) return answer_failure(exchange, kernel.status());
  answer_json(exchange, 200, options_json(*kernel.value()->running(), start));
}

void compare_manifest(Host& host, HttpExchange& exchange, Pass pass, std::optional<std::string> text,
                      const ProcessStart& start) {
  const Result<Service<KernelControl>> kernel = host.registry().find<KernelControl>();
  if (!kernel.ok()) return answer_failure(exchange, kernel.status());
  const uint64_t generation = kernel.value()->running()->generation;
  // A function that is copied cannot hold what is only moved.
  auto inside = std::make_shared<Pass>(std::move(pass));
  kernel.value()->compare(std::move(text),
                          [&exchange, inside, generation, start](Result<ManifestDifference> found) {
                            if (!found.ok() && !is_problem_of_manifest(found.status()))
                              return answer_failure(exchange, found.status());
                            std::string body;
                            const Status status = guarded("telling what is different", [&]() -> Status {
                              body = difference_json(found, generation, start);
                              return {};
                            });
                            if (!status.ok()) return answer_failure(exchange, status);
                            answer_json(exchange, 200, std::move(body));
                          });
}

void apply_manifest(Host& host, HttpExchange& exchange, uint64_t since, const ProcessStart& start) {
  const Result<Service<KernelControl>> kernel = host.registry().find<KernelControl>();
  if (!kernel.ok()) return answer_failure(exchange, kernel.status());
  const uint64_t generation = kernel.value()->running()->generation;
  if (const Status begun = kernel.value()->apply(); !begun.ok()) return answer_failure(exchange, begun);
  host.log().info("the manifest is read again, as ",
                  exchange.caller().empty() ? std::string_view("somebody") : exchange.caller(), " asked");
  answer_json(exchange, 202, applied_json(generation, since, start));
}

}  // namespace atl::frontends::console

/// Metrics that foreign code counts itself. They are the process's, and show in the metrics of every server in
/// it. Part of tritonserver.h, whose rules hold.
#pragma once

#include "triton/core/tritonserver_types.h"

#ifdef __cplusplus
extern "C" {
#endif

// --- families ---

/// A family that the caller owns. It may be registered again by the same name: the kind has to be the same, the
/// first description stays. INVALID_ARG for an unknown kind, and for what is no name of a metric.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricFamilyNew(TRITONSERVER_MetricFamily** family,
                                                                       const TRITONSERVER_MetricKind kind,
                                                                       const char* name,
                                                                       const char* description);
/// INTERNAL as long as it has metrics.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricFamilyDelete(TRITONSERVER_MetricFamily* family);
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_GetMetricFamilyKind(TRITONSERVER_MetricFamily* family,
                                                                           TRITONSERVER_MetricKind* kind);

// --- what a histogram needs besides its labels ---

TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricArgsNew(TRITONSERVER_MetricArgs** args);
/// \param buckets  upper bounds, inclusive and ascending; copied
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricArgsSetHistogram(TRITONSERVER_MetricArgs* args,
                                                                              const double* buckets,
                                                                              const uint64_t buckets_count);
/// At any time: a metric that was made of them keeps a copy.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricArgsDelete(TRITONSERVER_MetricArgs* args);

// --- metrics ---

/// A metric of the family, which has to outlive it. All that have the same labels count together, and are shown
/// until the last of them is deleted. \param labels  parameters of type STRING; copied
/// INVALID_ARG for other labels, and for a histogram, which has arguments.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricNew(TRITONSERVER_Metric** metric,
                                                                 TRITONSERVER_MetricFamily* family,
                                                                 const TRITONSERVER_Parameter** labels,
                                                                 const uint64_t label_count);
/// \param args  of a histogram; null for a counter or a gauge
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricNewWithArgs(
    TRITONSERVER_Metric** metric, TRITONSERVER_MetricFamily* family, const TRITONSERVER_Parameter** labels,
    const uint64_t label_count, const TRITONSERVER_MetricArgs* args);
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricDelete(TRITONSERVER_Metric* metric);
/// UNSUPPORTED for a histogram.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricValue(TRITONSERVER_Metric* metric,
                                                                   double* value);
/// INVALID_ARG if a counter would fall; UNSUPPORTED for a histogram.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricIncrement(TRITONSERVER_Metric* metric,
                                                                       double value);
/// UNSUPPORTED for what is no gauge.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricSet(TRITONSERVER_Metric* metric, double value);
/// UNSUPPORTED for what is no histogram.
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_MetricObserve(TRITONSERVER_Metric* metric,
                                                                     double value);
TRITONSERVER_DECLSPEC TRITONSERVER_Error* TRITONSERVER_GetMetricKind(TRITONSERVER_Metric* metric,
                                                                     TRITONSERVER_MetricKind* kind);

#ifdef __cplusplus
}
#endif

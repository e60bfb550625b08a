#include "page/metrics_site.hpp"

#include <prometheus/text_serializer.h>

#include <utility>

namespace nearfield::page {

Site metrics_site(std::shared_ptr<const control::Metrics> metrics) {
  Site site;
  site.answer = [metrics = std::move(metrics)](const HttpRequest& request) -> HttpResponse {
    if (request.method != "GET" && request.method != "HEAD") {
      return {.status = 405, .body = "GET and HEAD are answered, no other method\n"};
    }
    if (request.path != "/metrics") {
      return {.status = 404, .body = "metrics are at /metrics\n"};
    }
    return {.type = "text/plain; version=0.0.4; charset=utf-8",
            .body = prometheus::TextSerializer().Serialize(metrics->Collect())};
  };
  return site;
}

}  // namespace nearfield::page

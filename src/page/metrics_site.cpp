#include "page/metrics_site.hpp"

#include <prometheus/text_serializer.h>

#include <utility>

#include "page/guard.hpp"

namespace nearfield::page {

Site metrics_site(std::shared_ptr<const control::Metrics> metrics, std::vector<std::string> allowed_hosts) {
  Site site;
  site.headers = {{"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"},
                  {"X-Content-Type-Options", "nosniff"}};
  site.answer = [metrics = std::move(metrics),
                 allowed = std::move(allowed_hosts)](const HttpRequest& request) -> HttpResponse {
    if (!is_host_allowed(request.host, allowed) && !is_host_number(request.host)) {
      return {.status = 421,
              .body =
                  "expected localhost, an address in numbers or a name of daemon.page.allowed_hosts as the "
                  "host, found another one\n"};
    }
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

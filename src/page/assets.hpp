#pragma once
#include <span>
#include <string_view>

namespace nearfield::page {

/// A file of the page, embedded at build time by cmake/embed_page.py.
struct Asset {
  std::string_view path;  ///< "/index.html"
  std::string_view type;  ///< of HTTP
  std::string_view etag;  ///< in its quotes; another one for other bytes
  std::string_view bytes;
};

std::span<const Asset> embedded_assets();

}  // namespace nearfield::page

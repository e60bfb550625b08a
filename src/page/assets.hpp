#pragma once
#include <span>
#include <string_view>

namespace nearfield::page {

/// A file of the page, embedded at build time by cmake/embed_page.py.
struct Asset {
  std::string_view path;  ///< "/index.html"
  std::string_view type;  ///< HTTP content type
  std::string_view etag;  ///< with its quotes; changes with the bytes
  std::string_view bytes;
};

std::span<const Asset> embedded_assets();

}  // namespace nearfield::page

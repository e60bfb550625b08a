#include "page/picture_feed.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "core/system/clocks.hpp"

namespace nearfield::page {
namespace {

namespace fs = std::filesystem;

/// Processors NAME of the sockets frames.NAME.sock in the folder of frames.sock.
std::set<std::string> names_beside(const fs::path& socket) {
  std::set<std::string> names;
  const std::string stem = socket.stem().string() + ".";
  const std::string suffix = socket.extension().string();
  std::error_code error;
  for (fs::directory_iterator entry(socket.parent_path(), error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.size() > stem.size() + suffix.size() && name.starts_with(stem) && name.ends_with(suffix)) {
      names.insert(name.substr(stem.size(), name.size() - stem.size() - suffix.size()));
    }
  }
  return names;
}

std::shared_ptr<nf_ring> shared(nf_ring* ring) { return {ring, CloseRing()}; }

std::vector<const char*> names_of(const nf_ring_layout& layout, const std::set<std::string>& wanted) {
  std::vector<const char*> names;
  for (std::uint32_t i = 0; i < layout.product_count; ++i) {
    const nf_product& product = layout.products[i];
    if (product.form == NF_FORM_FIGURE || wanted.contains(product.name)) {
      names.push_back(product.name);
    }
  }
  return names;
}

}  // namespace

FoundRings find_rings(const std::string& socket, const OpenRings& open) {
  FoundRings found{.first_name = open.first_name};
  if (socket.empty()) {
    return found;
  }
  if (open.names.contains(open.first_name)) {
    found.first = NF_RING_OK;
  } else {
    nf_ring* ring = nullptr;
    found.first = nf_ring_open(socket.c_str(), &ring);
    if (found.first == NF_RING_OK) {
      found.first_name = nf_ring_get_layout(ring)->processor;
      found.opened.push_back({found.first_name, shared(ring)});
    }
  }
  for (const std::string& name : names_beside(socket)) {
    nf_ring* ring = nullptr;
    if (name != found.first_name && !open.names.contains(name) &&
        nf_ring_open_processor(socket.c_str(), name.c_str(), &ring) == NF_RING_OK) {
      found.opened.push_back({name, shared(ring)});
    }
  }
  return found;
}

bool PictureFeed::adopt(FoundRings found, std::int64_t now_ns) {
  const std::vector<std::string> before = names();
  first_ = found.first;
  first_name_ = found.first_name;
  for (FoundRings::One& one : found.opened) {
    Ring& ring = rings_[one.processor];
    if (ring.handle) {
      continue;
    }
    ring = {.handle = std::move(one.ring), .generation = ++generations_};
    read(ring, now_ns);
    measure_rate(ring, now_ns);
  }
  if (found.first == NF_RING_OK) {  // keeps the processors of a disconnected daemon listed
    std::erase_if(rings_, [&](const auto& entry) {
      return !entry.second.handle &&
             std::none_of(found.opened.begin(), found.opened.end(),
                          [&](const FoundRings::One& one) { return one.processor == entry.first; });
    });
  }
  return names() != before;
}

OpenRings PictureFeed::open_rings() const {
  OpenRings open{.names = {}, .first_name = first_name_};
  for (const auto& [name, ring] : rings_) {
    if (ring.handle) {
      open.names.insert(name);
    }
  }
  return open;
}

std::vector<std::string> PictureFeed::names() const {
  std::vector<std::string> names;
  for (const auto& [name, ring] : rings_) {
    names.push_back(name);
  }
  std::stable_partition(names.begin(), names.end(), [this](const std::string& name) { return name == first_name_; });
  return names;
}

PictureFeed::Ring* PictureFeed::find(const std::string& processor) {
  const auto found = rings_.find(processor);
  return found == rings_.end() ? nullptr : &found->second;
}

void PictureFeed::want(Ring& ring, std::set<std::string> wanted) {
  if (wanted != ring.wanted) {
    ring.wanted = std::move(wanted);
    ring.is_selected = false;
  }
}

void PictureFeed::read(Ring& ring, std::int64_t now_ns) {
  if (!ring.handle) {
    return;
  }
  if (!ring.is_selected) {
    const std::vector<const char*> names = names_of(*nf_ring_get_layout(ring.handle.get()), ring.wanted);
    ring.is_selected = nf_ring_select(ring.handle.get(), names.data(), names.size()) == NF_RING_OK;
  }
  ring.read_ns = now_ns;
  ring.status = nf_ring_read_latest(ring.handle.get(), std::numeric_limits<std::int64_t>::max(), &ring.frame);
  ring.has_frame = ring.status == NF_RING_OK;
  if (ring.status == NF_RING_RETIRED || ring.status == NF_RING_GONE) {
    close(ring, ring.status);
  }
}

void PictureFeed::look(std::int64_t now_ns) {
  for (auto& [name, ring] : rings_) {
    if (!ring.handle) {
      continue;
    }
    nf_frame old{};  // never new enough, so that only the writer's end is checked
    if (const nf_ring_status status = nf_ring_read_latest(ring.handle.get(), -1, &old); status == NF_RING_GONE) {
      close(ring, status);
      continue;
    }
    read(ring, now_ns);
    measure_rate(ring, now_ns);
  }
}

void PictureFeed::measure_rate(Ring& ring, std::int64_t now_ns) {
  if (!ring.has_frame) {
    return;
  }
  const nf_frame& newest = ring.frame;
  if (newest.number != ring.counted_number) {
    const std::int64_t passed_ns = newest.capture_mono_ns - ring.counted_capture_ns;
    if (ring.counted_number != 0 && newest.number > ring.counted_number && passed_ns > 0) {
      ring.rate_hz = static_cast<double>(newest.number - ring.counted_number) * static_cast<double>(kNsPerSecond) /
                     static_cast<double>(passed_ns);
    }
    ring.counted_number = newest.number;
    ring.counted_capture_ns = newest.capture_mono_ns;
    ring.counted_ns = now_ns;
  }
  constexpr double kLateIntervals = 2.0;
  const double waited_s = static_cast<double>(now_ns - ring.counted_ns - kLateNs) / static_cast<double>(kNsPerSecond);
  if (ring.rate_hz * waited_s > kLateIntervals) {
    ring.rate_hz = 0.0;
  }
}

void PictureFeed::close(Ring& ring, nf_ring_status why) {
  ring.handle.reset();
  ring.status = why;
  ring.has_frame = false;
  ring.rate_hz = 0.0;
  ring.is_selected = false;
}

void PictureFeed::close_all() {
  rings_.clear();
  first_name_.clear();
  first_ = NF_RING_NO_SOCKET;
}

}  // namespace nearfield::page

#pragma once
#include <complex>
#include <memory>
#include <span>
#include <utility>

#include "imaging/shared/microphone_mask.hpp"
#include "imaging/shared/reference_images.hpp"
#include "imaging/shared/search.hpp"

namespace nearfield::reference {

/// An imager in plain double precision on the host, written from its formulas.
class Imager {
 public:
  Imager() = default;
  Imager(const Imager&) = delete;
  Imager& operator=(const Imager&) = delete;
  virtual ~Imager() = default;
  /// Images one frame of spectra [frequency][row][column], Pa. May depend on earlier frames, as on the device.
  virtual Images image(std::span<const Complex> spectra) = 0;
  /// Sets the hop of the next image(); without it hops count from 0, and all frames are whole.
  void set_hop(std::uint64_t hop, bool is_whole) { next_ = {.hop = hop, .is_whole = is_whole}; }
  /// Like the functions of nearfield::Imager, with its contracts.
  virtual void use(const MicrophoneMask& mask) = 0;
  virtual void forget() {}
  virtual void adopt(const std::shared_ptr<const Findings>& findings) = 0;
  /// Returns the device's search, which is in double precision anyway.
  [[nodiscard]] virtual std::unique_ptr<Search> make_search() const = 0;

 protected:
  /// Hop of the present frame; advances to the next one.
  FrameHop take_hop() { return std::exchange(next_, {.hop = next_.hop + 1}); }

 private:
  FrameHop next_;
};

}  // namespace nearfield::reference

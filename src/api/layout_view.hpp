#pragma once
#include <deque>
#include <string>
#include <vector>

#include "core/product.hpp"
#include "nearfield/nearfield.h"

namespace nearfield::api {

/// A ResultHeader as structures of the C header; their pointers refer to this object.
class LayoutView {
 public:
  LayoutView(ResultHeader header, int every_hops);
  LayoutView(const LayoutView&) = delete;
  LayoutView& operator=(const LayoutView&) = delete;
  [[nodiscard]] const nf_engine_layout& layout() const { return layout_; }
  [[nodiscard]] const ResultHeader& header() const { return header_; }

 private:
  [[nodiscard]] nf_product view_of(const Product& product);

  ResultHeader header_;
  std::vector<nf_axis> axes_;
  std::vector<nf_product> products_;
  std::deque<std::vector<const nf_axis*>> axes_of_products_;
  std::deque<std::vector<nf_column>> columns_of_products_;
  nf_engine_layout layout_{};
};

}  // namespace nearfield::api

#include "api/layout_view.hpp"

#include <algorithm>

namespace nearfield::api {
namespace {

constexpr std::uint64_t kAlignment = 8;

}  // namespace

LayoutView::LayoutView(ResultHeader header, int every_hops) : header_(std::move(header)) {
  for (const Axis& axis : header_.axes) {
    axes_.push_back({.name = axis.name.c_str(),
                     .unit = axis.unit.c_str(),
                     .size = static_cast<std::uint32_t>(axis.size()),
                     .components = static_cast<std::uint32_t>(axis.components),
                     .values = axis.values.data()});
  }
  for (const Product& product : header_.products) {
    products_.push_back(view_of(product));
  }
  layout_ = {.processor = header_.processor.c_str(),
             .kind = header_.kind.c_str(),
             .device = header_.device.c_str(),
             .front_end = header_.front_end.c_str(),
             .config = header_.config.c_str(),
             .every_hops = static_cast<std::uint32_t>(every_hops),
             .axis_count = static_cast<std::uint32_t>(axes_.size()),
             .product_count = static_cast<std::uint32_t>(products_.size()),
             .reserved = 0,
             .axes = axes_.data(),
             .products = products_.data()};
}

nf_product LayoutView::view_of(const Product& product) {
  std::vector<const nf_axis*>& axes = axes_of_products_.emplace_back();
  for (const std::string& name : product.axes) {
    axes.push_back(&axes_.at(static_cast<std::size_t>(header_.axis(name) - header_.axes.data())));
  }
  std::vector<nf_column>& columns = columns_of_products_.emplace_back();
  std::uint64_t offset = kAlignment;  // after the number of rows
  for (const Column& column : product.columns) {
    columns.push_back({.name = column.name.c_str(),
                       .unit = column.unit.c_str(),
                       .type = static_cast<std::uint32_t>(column.type),
                       .offset = offset});
    offset += (product.most_rows * bytes_of(column.type) + kAlignment - 1) / kAlignment * kAlignment;
  }
  const bool is_table = product.form == Product::Form::kTable;
  return {.name = product.name.c_str(),
          .quantity = product.quantity.c_str(),
          .unit = product.unit.c_str(),
          .form = static_cast<std::uint32_t>(product.form),
          .type = static_cast<std::uint32_t>(product.type),
          .axis_count = static_cast<std::uint32_t>(axes.size()),
          .axes = axes.data(),
          .values = is_table ? 0 : header_.values(product),
          .column_count = static_cast<std::uint32_t>(columns.size()),
          .columns = columns.data(),
          .most_rows = product.most_rows};
}

}  // namespace nearfield::api

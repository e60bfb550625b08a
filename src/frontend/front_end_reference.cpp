#include "frontend/front_end_reference.hpp"

namespace nearfield::reference {

std::unique_ptr<FrontEnd> make_front_end(const FrontEndPlan& plan) {
  return front_end_entry(plan.settings.kind).make_reference(plan);
}

}  // namespace nearfield::reference

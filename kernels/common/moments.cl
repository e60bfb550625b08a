// Integer moments of a packed word's bits, by population counts; of WIDTH words side by side.
//
// Formulas, s_i = +1 for bit 1 and -1 for bit 0 at place i = 0..31 of a word, P = popcount(word):
//   m0 = sum s_i                           = 2 P - 32                               (Oznaya Angeles 2014, eq. 6.2)
//   m1 = sum (i - 31/2) s_i                = 2 sum_k 2^k popcount(word & mask_k) - 31 P,    mask_k: bit k of i is set
//   m2 = sum ((i - 31/2)^2 - 341/4) s_i    = 2 sum_{k<l} 2^{k+l} popcount(word & same_kl) - 310 P,
//        same_kl: bits k and l of i are equal; for i - 31/2 = 1/2 sum 2^k r_k with r_k = +-1, whose square is
//        341/4 + 1/2 sum_{k<l} 2^{k+l} r_k r_l
// The polynomials are orthogonal on 0..31, so orders do not share coefficients. |m0| <= 32, |m1| <= 256, |m2| <= 2100.

//! needs common/vectors.cl

#define MASK_0 0xAAAAAAAAu
#define MASK_1 0xCCCCCCCCu
#define MASK_2 0xF0F0F0F0u
#define MASK_3 0xFF00FF00u
#define MASK_4 0xFFFF0000u
#define ONES(words, mask) TO_INTS(popcount((words) & (mask)))
#define ONES_SAME(words, mask_k, mask_l) ONES(words, ~((mask_k) ^ (mask_l)))

static INTV sign_sum(const UINTV words) { return 2 * TO_INTS(popcount(words)) - 32; }

static INTV first_moment(const UINTV words) {
  const INTV sum = ONES(words, MASK_0) + 2 * ONES(words, MASK_1) + 4 * ONES(words, MASK_2) + 8 * ONES(words, MASK_3) +
                   16 * ONES(words, MASK_4);
  return 2 * sum - 31 * TO_INTS(popcount(words));
}

static INTV second_moment(const UINTV words) {
  const INTV sum = 2 * ONES_SAME(words, MASK_0, MASK_1) + 4 * ONES_SAME(words, MASK_0, MASK_2) +
                   8 * (ONES_SAME(words, MASK_0, MASK_3) + ONES_SAME(words, MASK_1, MASK_2)) +
                   16 * (ONES_SAME(words, MASK_0, MASK_4) + ONES_SAME(words, MASK_1, MASK_3)) +
                   32 * (ONES_SAME(words, MASK_1, MASK_4) + ONES_SAME(words, MASK_2, MASK_3)) +
                   64 * ONES_SAME(words, MASK_2, MASK_4) + 128 * ONES_SAME(words, MASK_3, MASK_4);
  return 2 * sum - 310 * TO_INTS(popcount(words));
}

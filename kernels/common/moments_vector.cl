// Moments of a packed word's bits like moments.cl, of WIDTH words side by side, without population counts: if these are
// instructions for single words (x86 before AVX-512 VPOPCNTDQ), the bits of vectors of words are summed in fields.
//
// Formulas, b_i = 1 or 0 the bit at place i = 0..31 of a word, n = sum b_i, s = sum i b_i, q = sum i^2 b_i:
//   m0 = 2 n - 32,   m1 = 2 s - 31 n,   m2 = 2 (q - 31 s + 155 n)
// A field of 2 L bits is joined from its halves, with positions i and L + i in it:
//   n = n_low + n_high,   s = s_low + s_high + L n_high,   q = q_low + q_high + 2 L s_high + L^2 n_high
// Fields of 2, 4 and 8 bits hold n, s and q of as many positions: at most 8, 28 and 140. The four bytes are then
// summed, times k and k^2 for byte k, by multiplications whose highest byte is the sum.

//! needs common/local_helper.cl
//! needs common/vectors.cl

//! default ORDER 1  // highest moment, 0 to 2

#define LOW_FIELDS(words, mask) ((words) & (mask))
#define HIGH_FIELDS(words, mask, bits) (((words) >> (bits)) & (mask))
#define JOINED_FIELDS(words, mask, bits) (LOW_FIELDS(words, mask) + HIGH_FIELDS(words, mask, bits))
// Sum of four bytes, each times the opposite byte of `weights`: byte 0 times the highest.
#define WEIGHTED_BYTES(bytes, weights) (((bytes) * (weights)) >> 24)
#define PAIRS 0x55555555u
#define NIBBLES 0x33333333u
#define BYTES 0x0F0F0F0Fu
#define HALVES 0x00FF00FFu

// Finds moments 0 to ORDER.
LOCAL_HELPER void find_moments_of(const UINTV words, INTV moments[ORDER + 1]) {
  UINTV high = HIGH_FIELDS(words, PAIRS, 1);
  UINTV n = LOW_FIELDS(words, PAIRS) + high;
#if ORDER >= 1
  UINTV s = high;  // in a pair, s = q = its higher bit
#endif
#if ORDER >= 2
  UINTV q = high;
  UINTV s_high = HIGH_FIELDS(s, NIBBLES, 2);
#endif
  high = HIGH_FIELDS(n, NIBBLES, 2);
#if ORDER >= 2
  q = JOINED_FIELDS(q, NIBBLES, 2) + (s_high << 2) + (high << 2);
#endif
#if ORDER >= 1
  s = JOINED_FIELDS(s, NIBBLES, 2) + (high << 1);
#endif
  n = LOW_FIELDS(n, NIBBLES) + high;
  high = HIGH_FIELDS(n, BYTES, 4);
#if ORDER >= 2
  s_high = HIGH_FIELDS(s, BYTES, 4);
  q = JOINED_FIELDS(q, BYTES, 4) + (s_high << 3) + (high << 4);
#endif
#if ORDER >= 1
  s = JOINED_FIELDS(s, BYTES, 4) + (high << 2);
#endif
  n = LOW_FIELDS(n, BYTES) + high;
  const INTV ones = TO_INTS(WEIGHTED_BYTES(n, 0x01010101u));
  moments[0] = 2 * ones - 32;
#if ORDER >= 1
  const INTV places = TO_INTS(WEIGHTED_BYTES(s, 0x01010101u) + (WEIGHTED_BYTES(n, 0x00010203u) << 3));
  moments[1] = 2 * places - 31 * ones;
#endif
#if ORDER >= 2
  const UINTV halves = JOINED_FIELDS(q, HALVES, 8);
  const INTV squares = TO_INTS((halves & 0xFFFFu) + (halves >> 16) + (WEIGHTED_BYTES(s, 0x00010203u) << 4) +
                               (WEIGHTED_BYTES(n, 0x00010409u) << 6));
  moments[2] = 2 * (squares - 31 * places + 155 * ones);
#endif
}

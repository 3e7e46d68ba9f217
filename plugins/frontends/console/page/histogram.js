// Quantiles of what came between two looks, from buckets [[upper bound, count], ...] that only ever grow.

export function difference(now, before) {
  const old = new Map(before);
  return now.map(([bound, count]) => [bound, count - (old.get(bound) || 0)]).filter(([, count]) => count > 0);
}

/** The bound below which the fraction `q` of them lies, in the buckets' unit; null: there are none. */
export function quantile(buckets, q) {
  const all = buckets.reduce((sum, [, count]) => sum + count, 0);
  if (all === 0) return null;
  const rank = q * all;
  let passed = 0;
  for (const [bound, count] of buckets) {
    if (passed + count >= rank) {
      // A bucket is at most an eighth of its upper bound wide.
      const lower = bound * 8 / 9;
      return lower + (bound - lower) * (rank - passed) / count;
    }
    passed += count;
  }
  return buckets[buckets.length - 1][0];
}

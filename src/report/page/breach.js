// How sure can an adversary become? The formulas of docs/mathematics.md, section 1, in exact arithmetic.
//
// Logarithms in binary64 decide what is clearly apart; fractions of BigInt decide the rest and everything that is shown.
// A group is { people, counts: [[name, count], ...] }, most frequent first.
"use strict";

/** Logarithms that differ by less are compared exactly: far above any rounding error. */
const CLOSE = 1e-6;
/** Fractions with more bits than this are not formed; a bound is shown instead. */
const MOST_BITS = 1 << 20;

const ZERO = { above: 0n, below: 1n };
const ONE = { above: 1n, below: 1n };
const times = (a, b) => ({ above: a.above * b.above, below: a.below * b.below });
const isLess = (a, b) => a.above * b.below < b.above * a.below;
const fraction = (above, below) => ({ above: BigInt(above), below: BigInt(below) });

function reduced({ above, below }) {
  let [a, b] = [above, below];
  while (b > 0n) [a, b] = [b, a % b];
  return { above: above / a, below: below / a };
}

/** Reads "4/5", "0.8" or "80 %" exactly; null if it is no number above 0 and at most 1. */
function parseConfidence(text) {
  const decimal = (part) => {
    const match = /^\s*(\d*)(?:\.(\d*))?\s*$/.exec(part);
    if (!match || !(match[1] || match[2]) || part.length > 2100) return null;
    const digits = match[2] ?? "";
    return { above: BigInt((match[1] ?? "") + digits || "0"), below: 10n ** BigInt(digits.length) };
  };
  const percent = text.trim().endsWith("%");
  const parts = text.replace("%", "").split("/").map(decimal);
  if (parts.length > 2 || parts.includes(null)) return null;
  let { above, below } = parts[0];
  if (parts.length === 2) {
    if (parts[1].above === 0n) return null;
    [above, below] = [above * parts[1].below, below * parts[1].above];
  }
  if (percent) below *= 100n;
  return above > 0n && above <= below ? reduced({ above, below }) : null;
}

/** A fraction in decimals, rounded up or down, with this many digits after the point. */
function decimal(value, places, direction) {
  const scaled = value.above * 10n ** BigInt(places);
  let whole = scaled / value.below;
  if (direction === "up" && whole * value.below < scaled) whole += 1n;
  const digits = whole.toString().padStart(places + 1, "0");
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

/** As many digits as it takes to tell a risk from its limit, at least `least` and at most twelve. */
function decimals(risk, limit, least = 4) {
  for (let places = least; places < 12; places++) {
    if (!isLess(risk, limit)) return places;
    const shown = { above: BigInt(decimal(risk, places, "up").replace(".", "")), below: 10n ** BigInt(places) };
    if (isLess(shown, limit)) return places;
  }
  return 12;
}

const toNumber = ({ above, below }) => {
  const shift = BigInt(Math.max(0, Math.max(above.toString(2).length, below.toString(2).length) - 1000));
  return Number(above >> shift) / Number(below >> shift);
};

/** A value and the groups that decide about it. */
class Target {
  constructor(kind, name, groups, certainFrom) {
    this.kind = kind;
    this.name = name;
    this.certainFrom = certainFrom;
    this.shapes = groups.map((group) => {
      const others = group.counts.filter(([own]) => own !== name);
      const sums = [0];
      others.forEach(([, count]) => sums.push(sums[sums.length - 1] + count));
      const own = group.counts.find(([own]) => own === name)[1];
      return { group, people: group.people, target: own, others, sums };
    });
    this.smallest = Math.min(...this.shapes.map((shape) => shape.people));
    this.levels = new Map();
  }

  /** The shapes that can be the worst at this l. */
  at(l) {
    if (!this.levels.has(l)) {
      const top = (shape) => shape.sums[Math.min(l, shape.others.length)];
      const left = (shape) => shape.people - shape.target - top(shape);
      const covers = (a, b) =>
        a.people <= b.people && a.target >= b.target && (this.kind === "single" ? left(a) <= left(b) : a === b);
      const kept = [];
      for (const shape of this.shapes) {
        if (kept.some((own) => covers(own, shape))) continue;
        for (let i = kept.length - 1; i >= 0; i--) if (covers(shape, kept[i])) kept.splice(i, 1);
        kept.push(shape);
      }
      this.levels.set(l, kept);
    }
    return this.levels.get(l);
  }

  top(shape, l) {
    return shape.others.slice(0, l);
  }

  topSum(shape, l) {
    return shape.sums[Math.min(l, shape.others.length)];
  }

  /** T: how much less likely the target lacks the value than has it. */
  exactT(shape, l, k) {
    const { people: n, target: s } = shape;
    if (this.kind === "single") {
      const left = n - s - this.topSum(shape, l) - k;
      return left <= 0 ? ZERO : fraction(left, s);
    }
    if (this.kind === "set") {
      if (n - s - k <= 0) return ZERO;
      return this.top(shape, l).reduce((t, [, c]) => times(t, fraction(n - c, n)), fraction(n - s - k, s));
    }
    const left = n - k - 1;
    if (left <= 0) return ZERO;
    const escaped = BigInt(left) ** BigInt(s);
    const sum = BigInt(this.topSum(shape, l));
    return {
      above: escaped * BigInt(n - 1) ** sum,
      below: (BigInt(left + 1) ** BigInt(s) - escaped) * BigInt(n) ** sum,
    };
  }

  /** V: how likely nobody of the family has the value. */
  exactV(shape, m, k) {
    const { people: n, target: s } = shape;
    if (m === 0) return ONE;
    if (this.kind === "multiset") {
      if (n - k - m <= 0) return ZERO;
      return { above: BigInt(n - k - m) ** BigInt(s), below: BigInt(n - k) ** BigInt(s) };
    }
    if (n - s - k - (m - 1) <= 0) return ZERO;
    let [above, below] = [1n, 1n];
    for (let i = 0; i < m; i++) {
      above *= BigInt(n - s - k - i);
      below *= BigInt(n - k - i);
    }
    return { above, below };
  }

  logT(shape, l, k) {
    const { people: n, target: s } = shape;
    if (this.kind === "single") {
      const left = n - s - this.topSum(shape, l) - k;
      return left <= 0 ? -Infinity : Math.log(left / s);
    }
    if (this.kind === "set") {
      if (n - s - k <= 0) return -Infinity;
      return this.top(shape, l).reduce((t, [, c]) => t + Math.log1p(-c / n), Math.log((n - s - k) / s));
    }
    const left = n - k - 1;
    if (left <= 0) return -Infinity;
    const escape = s * Math.log1p(-1 / (n - k));
    return escape - Math.log(-Math.expm1(escape)) + this.topSum(shape, l) * Math.log1p(-1 / n);
  }

  logV(shape, m, k) {
    const { people: n, target: s } = shape;
    if (m === 0) return 0;
    if (this.kind === "multiset") return n - k - m <= 0 ? -Infinity : s * Math.log1p(-m / (n - k));
    if (n - s - k - (m - 1) <= 0) return -Infinity;
    let sum = 0;
    for (let i = 0; i < m; i++) sum += Math.log1p(-s / (n - k - i));
    return sum;
  }

  /** The five statistics with their shapes, by logarithms: SS1 to SS5. */
  statistics(l, k, m) {
    const shapes = this.at(l);
    const least = (log) => {
      const logs = shapes.map(log);
      return { log: Math.min(...logs), logs };
    };
    return [
      least((shape) => this.logT(shape, l, k) + this.logV(shape, m, k + 1)),
      least((shape) => this.logT(shape, l, 0)),
      least((shape) => this.logT(shape, l, k)),
      least((shape) => this.logV(shape, m, 0)),
      least((shape) => this.logV(shape, m, k)),
    ];
  }

  /** The ratios behind the statistics, exactly. */
  exactRatio(which, shape, l, k, m) {
    switch (which) {
      case 0: return times(this.exactT(shape, l, k), this.exactV(shape, m, k + 1));
      case 1: return this.exactT(shape, l, 0);
      case 2: return this.exactT(shape, l, k);
      case 3: return this.exactV(shape, m, 0);
      default: return this.exactV(shape, m, k);
    }
  }

  bits(l, m) {
    const bits = (shape) => {
      const wide = Math.log2(shape.people + 1);
      if (this.kind === "multiset") return wide * (2 * shape.target + this.topSum(shape, l));
      return wide * (m + l + 2);
    };
    return this.at(l).reduce((most, shape) => Math.max(most, bits(shape)), 0);
  }

  /**
   * The worst case: { ratio, breach, seats, target, family }, where the breach is exact; { breach, bound: true } where its
   * fraction would be too long.
   */
  worst(l, k, m) {
    const shapes = this.at(l);
    const statistics = this.statistics(l, k, m);
    if (this.bits(l, m) > MOST_BITS) {
      const least = Math.min(...[[0], [1, 4], [2, 3]].map((term) => term.reduce((sum, i) => sum + statistics[i].log, 0)));
      const bound = Math.min(1, 1 / (1 + Math.exp(least)) + 1e-6);
      return { bound: true, breach: { above: BigInt(Math.ceil(bound * 1e9)), below: 1000000000n } };
    }
    const minima = statistics.map(({ log, logs }, which) => {
      let best = null;
      shapes.forEach((shape, i) => {
        if (logs[i] > log + CLOSE) return;
        const ratio = this.exactRatio(which, shape, l, k, m);
        if (!best || isLess(ratio, best.ratio)) best = { ratio, shape };
      });
      return best;
    });
    const [together, target, targetAsked, family, familyAsked] = minima;
    const terms = [
      { seats: "together", ratio: together.ratio, target: together.shape, family: together.shape },
      { seats: "with family", ratio: times(target.ratio, familyAsked.ratio), target: target.shape, family: familyAsked.shape },
      { seats: "with target", ratio: times(targetAsked.ratio, family.ratio), target: targetAsked.shape, family: family.shape },
    ];
    const worst = terms.reduce((a, b) => (isLess(b.ratio, a.ratio) ? b : a));
    return { ...worst, breach: sure(worst.ratio) };
  }

  /** The breach in binary64, for sorting and drawing. */
  about(l, k, m) {
    if (this.certainFrom !== null && l >= this.certainFrom) return 1;
    const [one, two, three, four, five] = this.statistics(l, k, m).map(({ log }) => log);
    return 1 / (1 + Math.exp(Math.min(one, two + five, three + four)));
  }

  /** Whether the breach is below a confidence; exact where it is close. */
  isSafe(l, k, m, confidence) {
    if (this.certainFrom !== null && l >= this.certainFrom) return false;
    const limit = Math.log(toNumber({ above: confidence.below - confidence.above, below: confidence.above }));
    const [one, two, three, four, five] = this.statistics(l, k, m).map(({ log }) => log);
    const least = Math.min(one, two + five, three + four);
    if (least === -Infinity) return false;
    if (Math.abs(least - limit) > CLOSE) return least > limit;
    const { breach, bound } = this.worst(l, k, m);
    return !bound && isLess(breach, confidence);
  }

  /** The largest k up to `most` that is safe; -1 if none is. */
  largestK(l, m, most, confidence) {
    if (most < 0 || !this.isSafe(l, 0, m, confidence)) return -1;
    if (this.isSafe(l, most, m, confidence)) return most;
    let [safe, not] = [0, most];
    while (not - safe > 1) {
      const middle = Math.floor((safe + not) / 2);
      if (this.isSafe(l, middle, m, confidence)) safe = middle;
      else not = middle;
    }
    return safe;
  }

  /** The largest m that is safe; -1 if none is. */
  largestM(l, k, confidence) {
    if (!this.isSafe(l, k, 0, confidence)) return -1;
    let [safe, not] = [0, this.smallest];
    while (not - safe > 1) {
      const middle = Math.floor((safe + not) / 2);
      if (this.isSafe(l, k, middle, confidence)) safe = middle;
      else not = middle;
    }
    return safe;
  }

  /** How sure each step makes: the release, the values ruled out, the others, the family. */
  steps(l, k, m, { seats, target, family }) {
    const ruled = this.exactT(target, l, 0);
    const asked = seats === "with family" ? ruled : this.exactT(target, l, k);
    const last = {
      together: () => this.exactV(target, m, k + 1),
      "with target": () => this.exactV(family, m, 0),
      "with family": () => this.exactV(family, m, k),
    }[seats]();
    return [this.exactT(target, 0, 0), ruled, asked, times(asked, last)].map(sure);
  }

  /** How many others and how many of the family are worth knowing. */
  useful(l, k, m, { seats, target, family }) {
    const room = (shape, top) => {
      if (this.kind === "single") return shape.people - shape.target - top;
      return this.kind === "set" ? shape.people - shape.target : shape.people - 1;
    };
    const others = Math.max(0, Math.min(k, seats === "with family" ? room(family, 0) : room(target, this.topSum(target, l))));
    const here = { together: others + 1, "with family": others, "with target": 0 }[seats];
    const relatives = Math.max(0, family.people - here);
    const enough = this.kind === "multiset" ? relatives : Math.max(0, relatives - family.target) + 1;
    return { others, relatives: Math.min(m, enough, relatives) };
  }
}

/** The probability that belongs to a negated ratio. */
function sure({ above, below }) {
  return reduced({ above: below, below: below + above });
}

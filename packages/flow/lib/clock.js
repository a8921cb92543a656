'use strict'
// What a wall clock says is a rumour: it is 1970 at boot, a year ahead, a few seconds back at midnight. This file has
// the one rule by which all packages use such times. Whoever waits does not read a wall clock at all, but
// `performance.now()`.
//
// A time is plausible if it is not before 2021, when none of this existed, and at most an hour ahead of the clock of
// now. Parts of a log follow one another, whatever the clock said when they were begun. So
//
//   - no part is older than the plausible times before it: times count as their running maximum;
//   - a part is old only if a plausible time after it is old too;
//   - the clock of now is believed once the log has lived with it for a while: see `believedNow`;
//   - if clocks were set back again and again, only time that has surely passed since then counts: see `sureTimes`.

const FLOOR_MS = Date.UTC(2021, 0, 1)
/** Names of segments have years of four digits. */
const CEILING_MS = Date.UTC(10_000, 0)
const AHEAD_MS = 3_600_000
const DAY_MS = 24 * 3_600_000
/** A longer time of which a log knows nothing, or so a part of the age that is asked for, may be a wrong clock. */
const GAP_MS_MAX = 2 * DAY_MS
const GAPS_PER_AGE = 2
/** After a gap, the clock of now is believed when it has gone on for so long a part of the gap that is allowed. */
const LIVED_PER_GAP = 0.5
/** Once clocks were set back again and again, a step counts if so many steps before and after it go forward too. */
const FORWARD_STEPS = 4

/**
 * Whether a clock may have been right: not before 2021, and at most an hour ahead of now.
 * @type {(ms: number, nowMs: number) => boolean} both in ms since 1970; false for NaN
 */
function isPlausible (ms, nowMs) {
  return isSet(ms) && ms <= nowMs + AHEAD_MS && nowMs < CEILING_MS
}

/** Whether somebody has set the clock that says so. @param {number} ms */
function isSet (ms) {
  return ms >= FLOOR_MS && ms < CEILING_MS
}

/**
 * Gives the later one of two times, or the second one if the first, which was known before, is too far ahead of it.
 * So the time does not go back with a clock that was set back a little, or has not been set yet.
 * @type {(beforeMs: number, nowMs: number) => number}
 */
function laterTime (beforeMs, nowMs) {
  return isTooFarAhead(beforeMs, nowMs) ? nowMs : Math.max(beforeMs, nowMs)
}

/** A clock that has not been set says nothing of others. @type {(ms: number, nowMs: number) => boolean} */
function isTooFarAhead (ms, nowMs) {
  return ms > nowMs + AHEAD_MS && (isSet(nowMs) || !isSet(ms))
}

/**
 * When the parts of a log were written.
 * @typedef {object} Bounds
 * @property {number[]} from  no record of the part was written before it; -Infinity if no clock has said so
 * @property {number[]} to  nor after it; Infinity if it is not known yet
 * @property {number[]} sureMs  how much time has surely passed since the part; Infinity if clocks were not set back
 *   again and again since then
 * @property {number[]} ranMs  for how long this process has run since it began the part; none, or NaN, if another did
 *
 * @typedef {Pick<Bounds, 'from'> & Partial<Pick<Bounds, 'ranMs'>>} Known
 */

/**
 * Says between which times each part of a log was written, by the times when the parts were begun, although clocks
 * may have been wrong.
 * @param {number[]} begunMs  when each part was begun, by the clock of then, in the order of the parts
 * @param {number} nowMs
 * @param {number} [livedMs]  for how long the clock has been watched without a jump
 * @param {number[]} [ranMs]  see `Bounds`; by default other processes began all parts
 * @returns {Bounds}
 */
function boundParts (begunMs, nowMs, livedMs = 0, ranMs = []) {
  let latest = -Infinity
  const from = begunMs.map((ms) => {
    if (isPlausible(ms, nowMs)) latest = Math.max(latest, ms)
    return latest
  })
  /** @type {number[]} */
  const to = new Array(begunMs.length)
  let next = Infinity
  for (let index = begunMs.length - 1; index >= 0; index--) {
    to[index] = next
    if (isPlausible(begunMs[index], nowMs)) next = from[index]
  }
  return { from, to, sureMs: sureTimes(begunMs, nowMs, livedMs), ranMs }
}

/**
 * How much time has surely passed since each part, if clocks were set back again and again since then: only steps among
 * others that go forward count, and each for two days at most.
 * @type {(begunMs: number[], nowMs: number, livedMs: number) => number[]}
 */
function sureTimes (begunMs, nowMs, livedMs) {
  const times = [...begunMs, nowMs]
  // A clock that has not been set says nothing.
  for (let index = begunMs.length - 1; index >= 0; index--) if (!isSet(times[index])) times[index] = times[index + 1]
  const steps = begunMs.map((_, index) => times[index + 1] - times[index])
  const backs = steps.flatMap((stepMs, index) => stepMs < -AHEAD_MS ? index : [])
  // What one clock has got wrong once, the other rules see.
  const lastRepeated = backs.findLast((back, nth) => back - backs[nth - 1] <= 2 * FORWARD_STEPS) ?? -1
  const isTrusted = (/** @type {number} */ index) => index + FORWARD_STEPS < steps.length &&
    !backs.some((back) => Math.abs(back - index) <= FORWARD_STEPS)
  const sureMs = new Array(steps.length).fill(Infinity)
  if (lastRepeated === -1) return sureMs
  let sumMs = Math.max(0, Math.min(livedMs, steps[steps.length - 1]))
  for (let index = steps.length - 1; index >= 0; index--) {
    if (index <= lastRepeated) sureMs[index] = sumMs
    if (isTrusted(index)) sumMs += Math.min(GAP_MS_MAX, Math.max(0, steps[index]))
  }
  return sureMs
}

/**
 * The clock of now, as far as the log bears it out. If the clock says that nothing happened for longer than
 * `gapOf(ageMs)`, the machine was off, or the clock is ahead. Until it has gone on for half as long, only the time
 * since then counts: by the steady clock, if this process has run since then, and otherwise by the log.
 * @param {Known} bounds
 * @param {number} nowMs
 * @param {number} ageMs  what is asked for is whether something is so old
 * @param {number} livedMs  for how long the clock has been watched without a jump
 * @returns {number}
 */
function believedNow ({ from: knownMs, ranMs = [] }, nowMs, ageMs, livedMs) {
  const gapMs = gapOf(ageMs)
  let endMs = nowMs
  let endRanMs = 0
  let laterMs = 0
  let index = knownMs.length - 1
  for (let gaps = 0; ; gaps++) {
    let sinceMs = endMs
    let spanMs = 0
    for (; index >= 0 && sinceMs - knownMs[index] <= gapMs; index--) {
      sinceMs = Math.min(sinceMs, knownMs[index])
      spanMs = ranMs[index] >= 0 ? ranMs[index] - endRanMs : endMs - sinceMs
    }
    const witnessedMs = Math.max(spanMs, gaps === 0 ? livedMs : 0)
    const isFirst = index < 0 || knownMs[index] === -Infinity
    const isBelieved = isFirst || gaps === FORWARD_STEPS || laterMs + witnessedMs >= LIVED_PER_GAP * gapMs
    if (isBelieved) return Math.min(nowMs, endMs + laterMs)
    laterMs += witnessedMs
    endMs = knownMs[index]
    endRanMs = ranMs[index] || 0
  }
}

/** @param {number} ageMs */
function gapOf (ageMs) {
  return Math.min(GAP_MS_MAX, ageMs / GAPS_PER_AGE)
}

/** For how long the wall clock has gone on without a jump. */
class ClockWatch {
  #wallMs = Date.now()
  #steadyMs = performance.now()
  #beganMs = this.#steadyMs

  /** @type {(nowMs: number, ageMs: number) => number} smaller jumps than `gapOf(ageMs)` do not count */
  lived (nowMs, ageMs) {
    const steadyMs = performance.now()
    const jumpMs = nowMs - this.#wallMs - (steadyMs - this.#steadyMs)
    if (Math.abs(jumpMs) > gapOf(ageMs)) this.#beganMs = steadyMs
    this.#wallMs = nowMs
    this.#steadyMs = steadyMs
    return steadyMs - this.#beganMs
  }
}

/**
 * The times before which the parts of a log count as older than an age.
 * @param {Known} bounds  of the parts, sorted
 * @param {number} nowMs
 * @param {number} ageMs
 * @param {number} [livedMs]
 * @returns {number}  parts that were written up to this time are old; -Infinity if none is
 */
function oldUntil (bounds, nowMs, ageMs, livedMs = 0) {
  return ageMs === Infinity ? -Infinity : believedNow(bounds, nowMs, ageMs, livedMs) - ageMs
}

/**
 * How many of the first parts of a log are surely older than an age.
 * @type {(bounds: Bounds, oldMs: number, ageMs: number) => number}  `oldMs`: see `oldUntil`
 */
function countOld ({ to, sureMs }, oldMs, ageMs) {
  // The last one may still get records.
  return Math.max(0, to.findIndex((ms, index) => !(ms <= oldMs && sureMs[index] >= ageMs)))
}

exports.ClockWatch = ClockWatch
exports.countOld = countOld
exports.boundParts = boundParts
exports.isPlausible = isPlausible
exports.isTooFarAhead = isTooFarAhead
exports.laterTime = laterTime
exports.oldUntil = oldUntil

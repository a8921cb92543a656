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
//   - the clock of now is believed once the log has lived with it for a while: see `believedNow`.

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

/** @type {(ms: number, nowMs: number) => boolean} both in ms since 1970; false for NaN */
function isPlausible (ms, nowMs) {
  return isSet(ms) && ms <= nowMs + AHEAD_MS && nowMs < CEILING_MS
}

/** Whether somebody has set the clock that says so. @param {number} ms */
function isSet (ms) {
  return ms >= FLOOR_MS && ms < CEILING_MS
}

/**
 * The later one of two times of which the first was known before; the second one alone if the first is too far ahead of
 * it. So a clock that was set back a little, or has not been set yet, repeats a time.
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
 * @param {number[]} begunMs  when each part was begun, by the clock of then, in the order of the parts
 * @param {number} nowMs
 * @returns {{ from: number[], to: number[] }}  `from`: no record of the part was written before it; -Infinity if no
 *   clock has said so. `to`: nor after it; Infinity if it is not known yet
 */
function boundParts (begunMs, nowMs) {
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
  return { from, to }
}

/**
 * The clock of now, as far as the log bears it out. If the clock says that nothing happened for longer than
 * `gapOf(ageMs)`, the machine was off, or the clock is ahead. Until it has gone on for half as long, only the time
 * since then counts.
 * @param {number[]} knownMs  plausible times of the log, sorted
 * @param {number} nowMs
 * @param {number} ageMs  what is asked for is whether something is so old
 * @param {number} livedMs  for how long the clock has been watched without a jump
 * @returns {number}
 */
function believedNow (knownMs, nowMs, ageMs, livedMs) {
  const gapMs = gapOf(ageMs)
  let sinceMs = nowMs
  let index = knownMs.length - 1
  for (; index >= 0 && sinceMs - knownMs[index] <= gapMs; index--) sinceMs = Math.min(sinceMs, knownMs[index])
  const witnessedMs = Math.max(nowMs - sinceMs, livedMs)
  const isBelieved = index < 0 || knownMs[index] === -Infinity || witnessedMs >= LIVED_PER_GAP * gapMs
  return isBelieved ? nowMs : Math.min(nowMs, knownMs[index] + witnessedMs)
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
 * @param {{ from: number[], to: number[] }} bounds  of the parts
 * @param {number} nowMs
 * @param {number} ageMs
 * @param {number} [livedMs]
 * @returns {number}  parts that were written up to this time are old; -Infinity if none is
 */
function oldUntil ({ from }, nowMs, ageMs, livedMs = 0) {
  return ageMs === Infinity ? -Infinity : believedNow(from, nowMs, ageMs, livedMs) - ageMs
}

/**
 * How many of the first parts of a log are old, also if clocks jumped again and again: once a clock was set back, only
 * steps of up to two days between two parts count as time that has passed.
 * @type {(begunMs: number[], nowMs: number, ageMs: number) => number}
 */
function countSurelyOld (begunMs, nowMs, ageMs) {
  const bounds = boundParts(begunMs, nowMs)
  const oldMs = oldUntil(bounds, nowMs, ageMs)
  let sureMs = 0
  let wasSetBack = false
  let nextMs = nowMs
  for (let index = begunMs.length - 1; index > 0; index--) {
    const stepMs = nextMs - begunMs[index]
    nextMs = begunMs[index]
    wasSetBack ||= stepMs < -AHEAD_MS || begunMs[index] < begunMs[index - 1] - AHEAD_MS
    if (stepMs > 0 && stepMs <= GAP_MS_MAX) sureMs += stepMs
    if (bounds.to[index - 1] <= oldMs && (!wasSetBack || sureMs >= ageMs)) return index
  }
  return 0
}

exports.ClockWatch = ClockWatch
exports.countSurelyOld = countSurelyOld
exports.boundParts = boundParts
exports.isPlausible = isPlausible
exports.isTooFarAhead = isTooFarAhead
exports.laterTime = laterTime
exports.oldUntil = oldUntil

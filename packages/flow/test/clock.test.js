'use strict'
// The one rule about wall clocks: which times are plausible, when a part of a log is old, and when now is believed.

const tape = require('tape')
const { createRandom, fakeWallClock, inQuickRuns, stopClock } = require('@millrace/testkit')
const { ClockWatch, boundParts, countOld: countOldOf, isPlausible, laterTime, oldUntil } = require('..')

const seed = Number(process.env.MILLRACE_SEED) || Date.now() % 2 ** 31
const HOUR = 3_600_000
const DAY = 24 * HOUR
const T = Date.UTC(2026, 0, 10, 12)

/** How many of the first parts are older than the age. */
function countOld (begunMs, nowMs, ageMs, livedMs) {
  const bounds = boundParts(begunMs, nowMs, livedMs)
  return countOldOf(bounds, oldUntil(bounds, nowMs, ageMs, livedMs), ageMs)
}

tape('clock: plausible is not before 2021, and at most an hour ahead', (t) => {
  const floor = Date.UTC(2021, 0)
  const times = [0, Date.UTC(2000, 0), floor - 1, floor, T, T + HOUR, T + HOUR + 1, Date.UTC(2036, 0), NaN]
  t.deepEqual(times.map((ms) => isPlausible(ms, T)), [false, false, false, true, true, true, false, false, false])
  t.deepEqual([T - 5000, T + 5000, Date.UTC(2036, 0), 9].map((before) => laterTime(before, T) - T), [0, 5000, 0, 0])
  t.equal(laterTime(T, 9000), T, 'a clock that is not set yet repeats the time')
  t.equal(laterTime(9000, 5000), 9000)
  t.equal(laterTime(9 * DAY, 5000), 5000, 'one that is never set goes on')
  t.end()
})

tape('clock: a part is old only if what comes before and after it and the clock of now say so', (t) => {
  const days = (...numbers) => numbers.map((day) => day < 0 ? -day : T + day * DAY)
  const now = T + 10 * DAY
  t.equal(countOld(days(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), now, 3 * DAY), 7, 'a right clock')
  t.equal(countOld(days(0, 1, 9, -1000, 10), now, 3 * DAY), 1, '1970 says nothing of the part before it')
  t.equal(countOld(days(8, 9, -1000, -2000, 10), now, 3 * DAY), 0)
  t.equal(countOld(days(0, 365, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), now, 3 * DAY), 8, 'nor a year ahead')
  t.equal(countOld(days(0, 1, 2), 1000, 3 * DAY), 0, 'now is 1970')
  t.equal(countOld(days(-1000, -2000, -3000), now, 3 * DAY, 9 * DAY), 0, 'no clock was ever right')
  t.equal(countOld(days(0, 1, 2, 365), T + 365 * DAY, 3 * DAY), 0, 'now is a year ahead, or the machine was off')
  t.equal(countOld(days(0, 1, 2, 365), T + 365.5 * DAY, 3 * DAY), 0)
  t.equal(countOld(days(0, 1, 2, 365), T + 366 * DAY, 3 * DAY), 2, 'a day later it was off')
  t.equal(countOld(days(0, 1, 2), T + 365 * DAY, 3 * DAY, DAY), 2, 'also if nothing was appended')
  t.equal(countOld(days(0, 7, 14, 21, 28, 35), T + 35 * DAY, 3 * DAY), 0, 'a segment a week')
  t.equal(countOld(days(0, 7, 14, 21, 28, 35), T + 35 * DAY, 3 * DAY, DAY), 4, 'if it is open for a day')
  t.equal(countOld(days(0, 7, 14, 21, 28, 35, 42), T + 42 * DAY, 3 * DAY), 1, 'four gaps are no wrong clock')
  t.equal(countOld(days(0, 1, 2), T + 365 * DAY, Infinity, DAY), 0)
  t.equal(countOld([], T, DAY), 0)
  t.end()
})

tape('clock: what this process has begun after a jump counts by the steady clock', (t) => {
  const begun = [0, 1, 2, 30, 31.2].map((day) => T + day * DAY)
  const oldOf = (...ranMs) => {
    const bounds = boundParts(begun, T + 31.5 * DAY, 0, ranMs)
    return countOldOf(bounds, oldUntil(bounds, T + 31.5 * DAY, 5 * DAY), 5 * DAY)
  }
  t.equal(oldOf(NaN, NaN, NaN, NaN, NaN), 2, 'by names a day has passed since the jump')
  t.equal(oldOf(NaN, NaN, NaN, 8 * HOUR, 4 * HOUR), 0, 'the clock has jumped twice within hours')
  t.equal(oldOf(NaN, NaN, NaN, 36 * HOUR, 7 * HOUR), 2)
  t.end()
})

tape('clock: with clocks that are set back again and again, only steps that may be right count', (t) => {
  const days = (...numbers) => numbers.map((day) => T + day * DAY)
  t.equal(countOld(days(0, 1, 2, 3), T + 3 * DAY, 2 * DAY), 1)
  t.equal(countOld(days(0, 20, -10, 25, -5, 29), T + 29.5 * DAY, DAY), 0)
  t.equal(countOld(days(0, 20, 1, 2, 3), T + 3 * DAY, 2 * DAY), 2, 'once')
  t.equal(countOld(days(0, 20, 1, 15, 2, 3), T + 3 * DAY, 2 * DAY), 0, 'again and again')
  const later = days(0, 20, 1, 15, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
  t.equal(countOld(later, T + 11 * DAY, 2 * DAY), 11, 'later')
  t.equal(countOld(days(0), T + 3 * DAY, DAY), 0)
  t.equal(countOld(days(0, 8, 7, 8, 7, 9), T + 90 * DAY, 3 * DAY, 0), 0)
  t.equal(countOld(days(0, 8, 7, 8, 7, 9), T + 90 * DAY, 3 * DAY, 4 * DAY), 5, 'a program that stays open knows')
  const weeks = days(0, 7, 14, 13, 21, 20, 27, 34, 41, 48, 55, 62, 69, 76, 83, 90)
  t.equal(countOld(weeks.slice(0, -3), T + 69 * DAY, 3 * DAY), 0)
  t.equal(countOld(weeks, T + 90 * DAY, 3 * DAY), 10, 'a segment a week counts too')
  t.end()
})

tape('clock: how long the clock has gone on without a jump', (t) => {
  const steady = stopClock(t)
  const wall = fakeWallClock(t, T)
  const watch = new ClockWatch()
  const pass = (steadyMs, wallMs) => {
    steady.pass(steadyMs)
    wall.pass(wallMs)
    return Math.round(watch.lived(wall.ms, 4 * DAY) / HOUR)
  }
  t.equal(pass(HOUR, HOUR), 1)
  t.equal(pass(HOUR, HOUR + 5000), 2)
  t.equal(pass(HOUR, 365 * DAY), 0, 'a year ahead')
  t.equal(pass(5 * HOUR, 5 * HOUR), 5)
  t.equal(pass(HOUR, -365 * DAY), 0, 'and back')
  t.equal(pass(3 * DAY, 0), 0, 'frozen')
  t.end()
})

tape(`clock: with one clock that was wrong for a while, nothing young is old, and nothing stays (seed ${seed})`, (t) => {
  const random = createRandom(seed)
  let [early, late] = [0, 0]
  for (let round = 0; round < 2000; round++) {
    const ageMs = (3 + random(30)) * DAY
    const wrong = [5000, Date.UTC(2000, 0, 1), Date.UTC(2036, 0, 1), null, null][random(5)]
    const jumpMs = (random(2) === 0 ? 1 : -1) * (2 + random(400)) * DAY
    const beginMs = random(60) * DAY
    const endMs = beginMs + random(20) * HOUR
    const wrongAt = (ms) => wrong === null ? T + ms + jumpMs : wrong + ms - beginMs
    const clockOf = (ms) => ms < beginMs || ms > endMs ? T + ms : wrongAt(ms)
    /** A segment a day, in true time; retention runs often. */
    let parts = []
    for (let ms = 0; ms < 120 * DAY; ms += (1 + random(8)) * HOUR) {
      const nowMs = clockOf(ms)
      if (parts.length === 0 || ms - parts.at(-1).ms >= DAY) parts.push({ ms, begunMs: nowMs })
      const old = countOld(parts.map(({ begunMs }) => begunMs), nowMs, ageMs)
      for (let i = 0; i < old; i++) early = Math.max(early, ageMs - (ms - parts[i + 1].ms))
      parts = parts.slice(old)
      if (parts.length > 1) late = Math.max(late, ms - parts[1].ms - 2 * ageMs)
    }
  }
  // A segment may span a day, and a few hours pass between two looks.
  t.ok(early <= 2 * DAY, `at most ${early / HOUR} hours early`)
  t.ok(late <= 2 * DAY, `at most ${late / HOUR} hours more than twice as long`)
  t.end()
})

tape('clock: clocks that jump again and again make hardly anything young old', (t) => {
  // No rule is right for all jumps: a few in a row can look like a clock that is right. So the seed is fixed.
  const random = createRandom(1)
  const rounds = inQuickRuns(1200, 6)
  let [tooEarly, late] = [0, 0]
  for (let round = 0; round < rounds; round++) {
    const ageMs = (4 + random(10)) * DAY
    const jumpMs = (1 + random(40)) * DAY
    const beginMs = (10 + random(10)) * DAY
    const endMs = beginMs + (6 + random(18)) * HOUR
    const stepMs = (1 + random(6)) * HOUR
    const partMs = random(2) * DAY
    let parts = []
    let early = 0
    for (let ms = 0; ms < 60 * DAY; ms += stepMs) {
      const isWrong = ms >= beginMs && ms <= endMs
      const nowMs = T + ms + (isWrong ? random(2 * jumpMs) - jumpMs : 0)
      const last = parts.at(-1)
      const isDue = !last || ms - last.ms >= partMs || Math.abs(nowMs - last.begunMs) >= DAY
      if (isDue) parts.push({ ms, begunMs: nowMs })
      const old = countOld(parts.map(({ begunMs }) => begunMs), nowMs, ageMs)
      for (let i = 0; i < old; i++) early = Math.max(early, ageMs - (ms - parts[i + 1].ms))
      parts = parts.slice(old)
      if (parts.length > 1) late = Math.max(late, ms - parts[1].ms - 2 * ageMs)
    }
    if (early > 3 * DAY) tooEarly++
  }
  t.ok(tooEarly <= rounds * 0.02, `${tooEarly} of ${rounds} histories lose young records`)
  t.ok(late <= 16 * DAY, `at most ${late / HOUR} hours more than twice as long`)
  t.end()
})

// @ts-nocheck
'use strict'
// The clocks of a box. Each process begins with one, which may be wrong, and somebody may set it while the process
// runs.

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const YEAR_MS = 365 * DAY_MS
const STEP_AFTER_MS = 3000

/** By how much clocks are wrong. */
const WRONG = {
  right: () => 0,
  minutes: (random) => random(2 * HOUR_MS) - HOUR_MS,
  days: (random) => random(20 * DAY_MS) - 10 * DAY_MS,
  years: (random) => random(10 * YEAR_MS) - 5 * YEAR_MS,
  // Of a machine without a battery.
  unset: () => -Date.now()
}

/** Of a box: one clock that is wrong, or each process has another one. */
function chooseClocks (random) {
  const kinds = Object.keys(WRONG)
  const kind = kinds[random(kinds.length)]
  return random(4) === 0 ? { areMany: true, kind } : { areMany: false, kind, ms: WRONG[kind](random) }
}

/** Of a process: by how much it is wrong, and from when on by how much else. */
function chooseClock (random, { areMany, kind, ms }) {
  const choose = () => random(2) === 0 ? 0 : areMany ? WRONG[kind](random) : ms
  const steps = random(3) === 0 ? [{ afterMs: random(STEP_AFTER_MS), ms: choose() }] : []
  return { ms: choose(), steps }
}

const RealDate = Date

function setClock ({ ms, steps }) {
  const beganMs = performance.now()
  const read = () => {
    const ranMs = performance.now() - beganMs
    return RealDate.now() + (steps.findLast(({ afterMs }) => afterMs <= ranMs)?.ms ?? ms)
  }
  globalThis.Date = class extends RealDate {
    constructor (...given) {
      super(...(given.length === 0 ? [read()] : given))
    }

    static now () { return read() }
    static [Symbol.hasInstance] (value) { return value instanceof RealDate }
  }
}

exports.DAY_MS = DAY_MS
exports.chooseClock = chooseClock
exports.chooseClocks = chooseClocks
exports.setClock = setClock

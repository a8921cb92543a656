'use strict'
// What the fuzzer prints.

const { KINDS } = require('./violation')

const count = (/** @type {number} */ value) => value.toLocaleString('en')

/** @param {import('./batch').Report} report */
function printReport ({ kind, message, target, index, replay }) {
  console.log(`FAILED  ${target} ${index}: ${kind}: ${message}`)
  if (replay) console.log(`  npm run fuzz -- --replay '${replay}'`)
}

/** @param {{ figures: import('./figures').Figures[], seed: number, ms: number }} result */
function printFigures ({ figures, seed, ms }) {
  for (const { target, cases, bytes, measures } of figures) {
    console.log(`${target}: ${count(cases)} cases, ${count(bytes)} bytes`)
    for (const [name, { most, mostPerByte, sum }] of Object.entries(measures)) {
      console.log(`  ${UNITS[name]}: ${count(Math.round(sum / cases))} a case, ${count(most)} at most; ` +
        `${round(mostPerByte)} a byte at most, of cases of 1 KiB and more (${describeLimit(target, name)})`)
    }
  }
  const violations = figures.flatMap(({ violations }) => Object.entries(violations))
  for (const kind of /** @type {Array<keyof typeof KINDS>} */ (Object.keys(KINDS))) {
    const sum = violations.filter(([name]) => name === kind).reduce((sum, [, value]) => sum + value, 0)
    console.log(`${count(sum)} ${KINDS[kind]}`)
  }
  const cases = figures.reduce((sum, { cases }) => sum + cases, 0)
  console.log(`seed ${seed}: ${count(cases)} cases in ${(ms / 1000).toFixed(1)} s, ${count(Math.round(cases * 1000 / ms))} a second`)
}

/** @type {Record<string, string>} */
const UNITS = { steps: 'steps', callCount: 'calls of the storage', transferred: 'bytes read and written' }

/**
 * @param {string} target
 * @param {string} name
 */
function describeLimit (target, name) {
  const { targets } = require('./targets')
  const { fixed, perByte } = /** @type {any} */ (targets.find((one) => one.name === target)).limits[name]
  return `the limit: ${count(fixed)} + ${perByte} a byte`
}

/** @param {number} value */
function round (value) {
  return Number(value.toPrecision(3))
}

exports.printFigures = printFigures
exports.printReport = printReport

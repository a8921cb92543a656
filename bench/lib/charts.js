'use strict'
// What a chart says of its figures: how often each was measured, where, and whether they bear what the title claims.
// The drawings themselves are in card.js, bars.js and lines.js.

// A case is uncertain if its slowest run and its fastest one differ by more than this share of the median.
const SPREAD_MAX = 0.5
// A machine is busy if others used this much of each core before the run,
const LOAD_MAX = 0.5
// if its host took this share of the time,
const STEAL_MAX = 0.05
// or if a loop that always does the same took so many times as long in the end as in the beginning, or the reverse.
const DRIFT_MAX = 1.1

/**
 * @typedef {object} Evidence  for all cases that the title speaks of
 * @property {number[]} runs  how often each was measured
 * @property {number[]} spread  of each: the slowest run less the fastest, as a share of the median
 * @property {Load} [load]
 */

/**
 * @typedef {object} Load
 * @property {number} [average]  of the minute before the run, by the number of cores
 * @property {number} [steal]  the share of the time that the host took
 * @property {number[]} [calibration]  times of a loop that always does the same, before and after, or more often
 */

/**
 * @typedef {object} Hedge
 * @property {boolean} isWeak
 * @property {(verb: string, plain: string) => string} verb  `reads`, `read`: "reads", or "seems to read"
 * @property {(title: string) => string} title  with the reasons before it: "One run, busy machine: ..."
 * @property {string[]} footer  the same in figures, a sentence each
 */

/**
 * What weak figures do to a title. They are weak if a case ran once, if the runs of a case are far apart, or if the
 * machine did other work.
 * @param {Evidence} evidence
 * @returns {Hedge}
 */
function hedge ({ runs, spread, load = {} }) {
  const { average = 0, steal = 0, calibration = [1] } = load
  const single = runs.filter((count) => count < 2).length
  const widest = Math.max(0, ...spread)
  const drift = Math.max(...calibration) / Math.min(...calibration)
  const busy = [
    average > LOAD_MAX ? `the load was ${average.toFixed(1)} for each core before the run` : '',
    steal > STEAL_MAX ? `its host took ${formatShare(steal)} of the time` : '',
    drift > DRIFT_MAX ? `the same loop took up to ${drift.toFixed(2)} times as long` : ''
  ].filter(Boolean)
  const reasons = [
    single === 0 ? '' : single === runs.length ? 'one run' : 'single runs',
    widest > SPREAD_MAX ? 'wide spread' : '',
    busy.length > 0 ? 'busy machine' : ''
  ].filter(Boolean)
  const footer = [
    single > 0 ? `${single} of ${runs.length} cases ran only once.` : '',
    widest > SPREAD_MAX ? `The runs of a case differ by up to ${formatShare(widest)} of their median.` : '',
    busy.length > 0 ? `The machine was busy: ${busy.join(', ')}.` : ''
  ].filter(Boolean)
  const isWeak = reasons.length > 0
  const [first, ...others] = reasons.join(', ')
  return {
    isWeak,
    verb: (verb, plain) => isWeak ? `seems to ${plain}` : verb,
    title: (title) => isWeak ? `${first.toUpperCase()}${others.join('')}: ${startSmall(title)}` : title,
    footer
  }
}

/** Of what is not the name of the product. @param {string} title */
function startSmall (title) {
  return title.startsWith('Millrace') ? title : title[0].toLowerCase() + title.slice(1)
}

/** @param {number} share */
function formatShare (share) {
  return `${Math.round(100 * share)}%`
}

/** @param {number[]} counts  how often each case ran; none where all were scaled, which run once */
function describeRuns (counts) {
  const [least, most] = [Math.min(...counts, Infinity), Math.max(...counts, 1)]
  if (most === 1) return 'one run'
  return least === most ? `median of ${most} runs` : `medians; each case ran ${least} to ${most} times`
}

/**
 * What a chart says at its foot.
 * @param {string} input  what was read
 * @param {{ machine: string, node: string }} facts
 * @param {number[]} counts  how often each case ran
 * @param {string} [cache]
 */
function describeSetting (input, { machine, node }, counts, cache = 'page cache warm') {
  return `${input}, ${cache}, ${describeRuns(counts)}. ${machine.replace(/, \d+ GiB.*/, '')}, Node ${node}`
}

exports.hedge = hedge
exports.describeRuns = describeRuns
exports.describeSetting = describeSetting

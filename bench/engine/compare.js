'use strict'
// Says whether this tree is slower than another one: measures both in turn, pair by pair, until the interval of each
// ratio is narrow enough, or the time is used up.
//
// A coin decides which of a pair comes first. So, if nothing differs, the sign of a pair's log ratio is that of the
// coin, whatever the machine does: load, drift, bursts, heavy tails. The interval is Wilcoxon's, of the signed ranks,
// with their exact chances, and needs nothing else. With a fixed order, a load of the same period would look like a
// difference.
//
// If you look at the figures after each pair and stop at the first difference, you find one where there is none, sooner
// or later. So there are at most nine looks at a case, and each has a ninth of the chance of a false alarm.

const { alignColumns } = require('../lib/report')

/** Of a false alarm in a case, in all of its looks together, when nothing differs. */
const ALARM_CHANCE = 0.005
/** The same without pairs: five runs of each tree are the least that can show a difference. */
const SAVED_ALARM_CHANCE = 0.01
/** After so many pairs. With fewer than the first, a look could not show anything at its chance. */
const LOOKS = [12, 18, 27, 40, 60, 90, 135, 200, 300]
/** Slower by at most this is not a failure: folders with the same packages can differ by more than nothing. */
const TOLERANCE = 0.03
/** An interval that reaches this far to both sides of the ratio is narrow enough. */
const PRECISION = 0.02
const TREES = /** @type {const} */ (['this', 'that'])
const clock = () => performance.now()
const PLACES = { this: 'here', that: 'there' }

/** @typedef {'this' | 'that'} Tree */
/** @typedef {'less' | 'more'} Better */

/**
 * @typedef {object} Case
 * @property {string} name
 * @property {Better} better  whether less of its figure is better, or more
 * @property {(tree: Tree) => Promise<number>} measure  once, in a process of its own: a figure above 0. If it fails,
 *   the case is absent, and the others go on
 * @property {boolean} [isTogether]  both of a pair run at once, so that they meet the same load: where the figure is
 *   processor time. Where it is time on the clock, they run one after the other
 */

/**
 * @typedef {object} Compared
 * @property {string} name
 * @property {'faster' | 'slower' | 'no difference seen' | 'absent here' | 'absent there'} verdict
 * @property {number} pairs
 * @property {number} [ratio]  this tree's figure to the other's: the Hodges-Lehmann estimate
 * @property {number} [low]  of its interval; without it there were too few pairs for one
 * @property {number} [high]
 * @property {boolean} isTooSlow  the whole interval is beyond the tolerance
 * @property {string} [reason]  of an absence
 * @property {Record<Tree, number[]>} figures  pair by pair
 */

/**
 * @param {object} options
 * @param {Case[]} options.cases
 * @param {number} options.budgetMs  no pair begins that is not expected to end within it
 * @param {number} [options.tolerance]  0.03: slower by 3% is not a failure
 * @param {number} [options.precision]
 * @param {(row: Compared, left: number) => void} [options.onPair]  with the number of cases that are not decided yet
 * @param {() => number} [options.random]  from 0 to 1; both of these are for tests
 * @param {() => number} [options.now]  ms
 * @returns {Promise<Comparison>}  exit code 1 if a case is too slow, or absent here
 */
async function compareCases ({ cases, budgetMs, onPair = () => {}, random = Math.random, now = clock, ...limits }) {
  const started = now()
  const all = cases.map((one) => ({ ...one, looks: 0, pairMs: 0, row: createRow(one.name) }))
  for (let open = all; open.length > 0;) {
    for (const one of open) {
      if (now() - started + one.pairMs > budgetMs) return finish(all, limits)
      const began = now()
      await measurePair(one, random)
      one.pairMs = now() - began
      if (one.row.pairs === LOOKS[one.looks]) judge(one, limits)
      open = open.filter((other) => !isDecided(other, limits))
      onPair(one.row, open.length)
    }
  }
  return finish(all, limits)
}

/** @typedef {{ rows: Compared[], exitCode: 0 | 1 }} Comparison */
/** @typedef {{ tolerance?: number, precision?: number }} Limits */
/** @typedef {Case & { looks: number, row: Compared }} Open */

/** @param {string} name @returns {Compared} */
function createRow (name) {
  return { name, verdict: 'no difference seen', pairs: 0, isTooSlow: false, figures: { this: [], that: [] } }
}

/** @type {(one: Open, random: () => number) => Promise<void>} */
async function measurePair ({ measure, isTogether, row }, random) {
  const run = async (/** @type {Tree} */ tree) => {
    try {
      const figure = await measure(tree)
      if (!(figure > 0 && figure < Infinity)) throw new Error(`its figure is ${figure}`)
      row.figures[tree][row.pairs] = figure
    } catch (err) {
      const { reason, message } = /** @type {Error & { reason?: string }} */ (err)
      // What fails in both trees is at fault here.
      if (row.verdict !== 'absent here') Object.assign(row, { verdict: `absent ${PLACES[tree]}`, reason: reason ?? message })
    }
  }
  const turns = random() < 0.5 ? TREES : TREES.toReversed()
  if (isTogether) await Promise.all(turns.map(run))
  else for (const tree of turns) await run(tree)
  if (!row.verdict.startsWith('absent')) row.pairs++
}

/**
 * A look at a case.
 * @param {Open} one
 * @param {Limits} limits
 */
function judge (one, limits) {
  const { figures: { this: here, that: there }, pairs } = one.row
  const ratios = here.map((figure, index) => Math.log(figure / there[index]))
  const walsh = ratios.flatMap((ratio, index) => ratios.slice(index).map((other) => (ratio + other) / 2))
  decide(one, walsh, chancesOfSignedRanks(pairs), ALARM_CHANCE / LOOKS.length, limits)
  one.looks++
}

/**
 * @param {{ better: Better, row: Compared }} one
 * @param {number[]} estimates  of the log ratio, from all that was measured: their median is the ratio
 * @param {ArrayLike<number>} chances  that, if nothing differs, 0, 1, 2... of the estimates are below 0
 * @param {number} alarm
 * @param {Limits} limits
 */
function decide ({ better, row }, estimates, chances, alarm, { tolerance = TOLERANCE }) {
  const sorted = Float64Array.from(estimates).sort()
  const middle = sorted.length >> 1
  row.ratio = Math.exp((sorted[middle] + sorted[sorted.length - 1 - middle]) / 2)
  let outside = 0
  for (let left = alarm / 2 - chances[0]; left >= 0; left -= chances[outside]) outside++
  if (outside === 0) return
  row.low = Math.exp(sorted[outside - 1])
  row.high = Math.exp(sorted[sorted.length - outside])
  const [least, most] = better === 'less' ? [row.low, row.high] : [1 / row.high, 1 / row.low]
  row.verdict = least > 1 ? 'slower' : most < 1 ? 'faster' : 'no difference seen'
  row.isTooSlow = least > 1 + tolerance
}

/** @type {(one: Open, limits: Limits) => boolean} */
function isDecided ({ better, looks, row }, { tolerance = TOLERANCE, precision = PRECISION }) {
  const { verdict, low, high, isTooSlow } = row
  if (verdict.startsWith('absent') || isTooSlow || looks === LOOKS.length) return true
  if (low === undefined || high === undefined) return false
  const most = better === 'less' ? high : 1 / low
  if (verdict === 'no difference seen') return high / low <= (1 + precision) ** 2
  return verdict === 'faster' || most <= 1 + tolerance
}

/** @type {(all: Open[], limits: Limits) => Comparison} */
function finish (all, limits) {
  // The time is up between two looks: the next one comes now. When time is up does not depend on which tree was slow.
  for (const one of all) if (!isDecided(one, limits) && one.row.pairs > (LOOKS[one.looks - 1] ?? 0)) judge(one, limits)
  return conclude(all.map(({ row }) => row))
}

/** @param {Compared[]} rows @returns {Comparison} */
function conclude (rows) {
  return { rows, exitCode: rows.some(({ isTooSlow, verdict }) => isTooSlow || verdict === 'absent here') ? 1 : 0 }
}

/**
 * Compares with what was saved earlier, by the interval of the Mann-Whitney test. There are no pairs: the machine, or
 * its load, may have made the difference.
 * @param {object} options
 * @param {Array<{ name: string, better: Better, here: number[], there: number[] }>} options.cases  figures run by run
 * @param {number} [options.tolerance]
 * @returns {Comparison}
 */
function compareSaved ({ cases, ...limits }) {
  return conclude(cases.map(({ name, better, here, there }) => {
    const row = { ...createRow(name), pairs: Math.min(here.length, there.length), figures: { this: here, that: there } }
    if (row.pairs === 0) return { ...row, verdict: here.length > 0 ? 'absent there' : 'absent here', reason: 'no figure' }
    const estimates = here.flatMap((figure) => there.map((other) => Math.log(figure / other)))
    decide({ better, row }, estimates, chancesOfRankSum(here.length, there.length), SAVED_ALARM_CHANCE, limits)
    return row
  }))
}

/**
 * What a reader of such a comparison has to know.
 * @param {import('../lib/report').Facts} here
 * @param {import('../lib/report').Facts} there
 */
function describeSaved (here, there) {
  const isSame = here.machine === there.machine && here.node === there.node
  const machines = `${there.machine}, Node ${there.node}; now ${here.machine}, Node ${here.node}`
  const what = isSame ? 'the load' : `the machine (${machines})`
  return `measured earlier, not in turn: ${what} may have made the difference`
}

/**
 * @param {number} count
 * @returns {Float64Array}  the chance of each sum of the ranks 1 to `count` of which a coin chooses some
 */
function chancesOfSignedRanks (count) {
  const chances = new Float64Array(count * (count + 1) / 2 + 1)
  chances[0] = 1
  for (let rank = 1; rank <= count; rank++) {
    for (let sum = rank * (rank + 1) / 2; sum >= 0; sum--) {
      chances[sum] = (chances[sum] + (sum >= rank ? chances[sum - rank] : 0)) / 2
    }
  }
  return chances
}

/**
 * @param {number} few
 * @param {number} many
 * @returns {Float64Array}  the chance of each number of pairs, of one of the few and one of the many, in which that of
 *   the few is larger
 */
function chancesOfRankSum (few, many) {
  const chances = Array.from({ length: few + 1 }, () => new Float64Array(few * many + 1))
  chances[0][0] = 1
  for (let rank = 0; rank < few + many; rank++) {
    for (let chosen = Math.min(rank, few - 1); chosen >= 0; chosen--) {
      // This one of the few is larger than so many of the many: those before it that are not of the few.
      const more = rank - chosen
      for (let sum = few * many; sum >= more; sum--) chances[chosen + 1][sum] += chances[chosen][sum - more]
    }
  }
  const all = chances[few].reduce((sum, ways) => sum + ways)
  return chances[few].map((ways) => ways / all)
}

/** Lines of a table. @type {(rows: Compared[], unit?: 'pairs' | 'runs') => string[]} */
function formatCompared (rows, unit = 'pairs') {
  const digits = (/** @type {number | undefined} */ ratio) => ratio === undefined ? '?' : ratio.toFixed(3)
  return alignColumns([
    ['', 'this to that', 'interval', ''],
    ...rows.map(({ name, verdict, pairs, ratio, low, high, isTooSlow, reason }) => {
      const words = reason ?? (low === undefined ? `at ${pairs} ${unit}, too few for an interval` : `at ${pairs} ${unit}`)
      const end = isTooSlow ? ', beyond the tolerance' : ''
      return [name, digits(ratio), `${digits(low)} to ${digits(high)}`, `${verdict}${reason ? ': ' : ' '}${words}${end}`]
    })
  ], '  ', (column) => column === 0 || column === 3)
}

exports.compareCases = compareCases
exports.compareSaved = compareSaved
exports.describeSaved = describeSaved
exports.formatCompared = formatCompared
exports.chancesOfSignedRanks = chancesOfSignedRanks
exports.chancesOfRankSum = chancesOfRankSum
exports.LOOKS = LOOKS
exports.TOLERANCE = TOLERANCE

'use strict'
// Whether a figure meets its goals, and by how much it misses them.

const { formatCount } = require('../lib/report')
const { isMoreBetter } = require('./row')

/** @typedef {import('./row').Row} Row */
/** @typedef {import('./row').Figure} Figure */
/** @typedef {import('./row').Unit} Unit */
/** @typedef {import('./results').Results} Results */
/** @typedef {'met' | 'close' | 'missed' | 'out of reach' | 'absent'} Verdict */

/**
 * @typedef {object} Judged  one part of a goal
 * @property {string} text  the goal, and what was found
 * @property {string} goal  the goal alone
 * @property {Verdict} verdict
 * @property {number} [excess]  by which part of the goal it is missed
 */

const OURS = 'millrace'
// Of the goal. On a shared machine, figures vary by this much.
const TOLERANCE = 0.1

/**
 * One for each part of the goal; none if ours was not measured.
 * @type {(results: Results, row: Row, figure: Figure, at?: number) => Judged[]}
 */
function judge (results, row, { figure, unit, goal = {}, by = OURS }, at) {
  const place = { row: row.name, figure, peer: by, at }
  const ours = results.of(place)
  if (ours === undefined) return []
  const { least, most, times = [], within = [], above = [], bound } = goal
  const limit = bound === undefined ? undefined : results.of({ ...place, peer: bound })
  /** How good a figure is, as a part of what the goal wants: below 1 it is missed. */
  const shareOf = (/** @type {number} */ value, /** @type {number} */ wanted, /** @type {boolean} */ isLeast) => {
    return isLeast ? value / wanted : wanted / value
  }
  /** @type {(goal: string, found: string, share?: number, reach?: number) => Judged} */
  const decide = (goal, found, share, reach) => {
    return { goal, text: `${goal}${found}`, verdict: toVerdict(share, reach), ...(share !== undefined && share < 1 && { excess: 1 / share - 1 }) }
  }
  /** @type {(one: import('./row').Compared, isTimes: boolean) => Judged} */
  const compared = ({ factor, of, or, in: other = row.name }, isTimes) => {
    const isInverse = isTimes && !isMoreBetter(unit)
    const found = [of, ...or ? [or] : []].flatMap((peer) => {
      const ratio = results.ratio(place, { row: other, peer })
      if (ratio === undefined) return []
      const reach = limit === undefined ? undefined : limit / Number(results.of({ ...place, row: other, peer }))
      const [value, possible] = [ratio.median, reach].map((one) => isInverse && one !== undefined ? 1 / one : one)
      return [{ value: Number(value), possible, name: other === row.name ? peer : other }]
    }).sort((a, b) => (b.value - a.value) * (isTimes ? 1 : -1))[0]
    const text = `${isTimes ? '>=' : '<='} ${Number(factor.toPrecision(3))}x ${found?.name ?? (other === row.name ? of : other)}`
    if (found === undefined) return decide(text, '', undefined, undefined)
    const share = shareOf(found.value, factor, isTimes)
    return decide(text, `: ${found.value.toFixed(2)}x`, share, found.possible === undefined ? undefined : shareOf(found.possible, factor, isTimes))
  }
  return [
    ...least === undefined ? [] : [decide(`>= ${format(least, unit)}`, '', shareOf(ours, least, true), limit && shareOf(limit, least, true))],
    ...most === undefined ? [] : [decide(`<= ${format(most, unit)}`, '', ours <= most ? 1 : most / ours, limit && most / limit)],
    ...times.map((one) => compared(one, true)),
    ...within.map((one) => compared(one, false)),
    ...above.map(({ by, of }) => {
      const peer = results.of({ ...place, peer: of })
      const text = `<= ${of} + ${format(by, unit)}`
      if (peer === undefined) return decide(text, '', undefined, undefined)
      return decide(text, `: + ${format(Math.max(0, ours - peer), unit)}`, ours <= peer + by ? 1 : (peer + by) / ours, undefined)
    })
  ]
}

/**
 * @type {(share: number | undefined, reach: number | undefined) => Verdict} parts of the goal: ours, and the least
 *   work's
 */
function toVerdict (share, reach) {
  if (share === undefined) return 'absent'
  if (share >= 1) return 'met'
  if (reach !== undefined && reach < 1) return 'out of reach'
  return share >= 1 / (1 + TOLERANCE) ? 'close' : 'missed'
}

/** @type {(value: number, unit: Unit) => string} */
function format (value, unit) {
  if (unit === 'count' && value < 100) return String(Number(value.toPrecision(3)))
  if (unit === 'rate' || unit === 'count') return formatCount(Math.round(Number(value.toPrecision(3))))
  if (unit === 'bytes') return `${(value / 2 ** 20).toFixed(1)} MiB`
  if (unit === 'share') return `${(100 * value).toFixed(1)}%`
  return `${Number(value.toPrecision(3))} ${unit}`
}

exports.judge = judge
exports.formatValue = format
exports.OURS = OURS

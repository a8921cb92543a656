'use strict'
// The tables of results, as grids of words: peers beside each other, or two sides with their ratio. A grid is printed
// in columns on a terminal, and as Markdown in pages.

const { alignColumns, describeFacts, formatCount, formatMarkdown } = require('../lib/report')
const { formatValue, judge, OURS } = require('./judge')
const { isMoreBetter } = require('./row')

/** @typedef {import('./row').Row} Row */
/** @typedef {import('./row').Peer} Peer */
/** @typedef {import('./row').Figure} Figure */
/** @typedef {import('./results').Results} Results */
/**
 * @typedef {{ heads: string[], lines: string[][], words: number[], notes?: string[] }} Grid  `words`: columns of
 *   words
 */

const GAP = '  '

/** For pages. @param {Grid} grid */
function toMarkdown ({ heads, lines, words, notes = [] }) {
  return [formatMarkdown(heads, lines, (column) => words.includes(column)), ...notes].join('\n\n')
}

/** For a terminal: what is wider than it is told line by line. @param {Grid} grid @param {number} [width] */
function toText ({ heads, lines, words, notes = [] }, width = process.stdout.columns ?? Infinity) {
  const plain = [heads, ...lines].map((line) => line.map((text) => text.replace(/\*\*|`/g, '')))
  const columns = alignColumns(plain, GAP, (column) => words.includes(column))
  const isWide = columns.some((line) => line.length > width)
  const [names, ...rows] = plain
  if (rows.length === 0) return notes.join('\n')
  const told = rows.flatMap((row) => [row[0], ...row.slice(1).flatMap((text, index) => text === '' ? [] : `  ${names[index + 1]}: ${text}`)])
  return [...isWide ? told : columns, ...notes.flatMap((note) => ['', note])].join('\n')
}

/**
 * A line for each figure of each row, and a column for each peer. The best of a line is bold.
 * @param {Results} results
 * @param {{ rows: Row[], peers: Peer[] }} shown
 * @param {{ head?: string, seed?: string, hasLost?: boolean, hasGoals?: boolean, format?: (value: number, figure:
 *   Figure) => string }} [options]
 * @returns {Grid}
 */
function gridOfPeers (results, { rows, peers }, { head = '', seed, hasLost, hasGoals, format } = {}) {
  const used = peers.filter(({ name }) => rows.some((row) => results.has(row.name, name)))
  const write = format ?? ((/** @type {number} */ value, /** @type {Figure} */ { unit }) => formatValue(value, unit))
  const lead = [head, ...hasLost ? ['lost by SIGKILL at most'] : [], ...seed ? [seed] : []]
  const lines = rows.flatMap((row) => row.figures.flatMap((figure) => {
    const found = used.map(({ name }) => results.of({ row: row.name, figure: figure.figure, peer: name }))
    if (found.every((value) => value === undefined)) return []
    const values = found.filter((value) => value !== undefined)
    const best = values.length > 1 ? (isMoreBetter(figure.unit) ? Math.max(...values) : Math.min(...values)) : undefined
    const texts = found.map((value, index) => {
      if (value === undefined) return row.peers[used[index].name] ? '-' : ''
      return value === best ? `**${write(value, figure)}**` : write(value, figure)
    })
    const isFirst = figure === row.figures[0]
    const goals = judge(results, row, figure).map(({ text, verdict }) => `${text}, ${verdict}`).join('; ')
    return [[
      `${isFirst ? `\`${row.name}\`: ` : ''}${figure.what ?? row.what}`, ...hasLost ? [isFirst ? row.lost ?? '' : ''] : [],
      ...seed ? [figure.seed ?? ''] : [], ...texts, ...hasGoals ? [goals] : []
    ]]
  }))
  const heads = [...lead, ...used.map(({ label }) => label), ...hasGoals ? ['goals'] : []]
  const words = [...lead.keys(), ...hasGoals ? [heads.length - 1] : []]
  return { heads, lines, words, notes: listAbsent(results, rows, peers) }
}

/**
 * What a table of groups prints.
 * @type {(results: Results, shown: import('./row').Shown, options?: object) => string[]}
 */
function formatGroups (results, { groups, peers }, options) {
  return groups.map((group) => {
    const head = [group.title, group.about].filter(Boolean).join(': ')
    return `${head}\n\n${toText(gridOfPeers(results, { rows: group.rows, peers }, { ...options, ...seedOf(group) }))}`
  })
}

/**
 * A Markdown table for each group, by its name.
 * @type {(groups: import('./row').Group[], options?: object) => NonNullable<import('./row').Table['tables']>}
 */
function tablesOfGroups (groups, options) {
  /** @type {(group: import('./row').Group) => (results: Results, shown: import('./row').Shown) => string} */
  const toFormat = (group) => (results, { peers, facts }) => {
    const grid = gridOfPeers(results, { rows: group.rows, peers }, { ...options, ...seedOf(group), head: group.title })
    const seed = group.seed ? ` The column "${group.title}, another machine" is what it measured itself (${group.seed}).` : ''
    return [toMarkdown(grid), `Figures are per second unless a unit is given.${seed}`, describeFacts(facts)].join('\n\n')
  }
  return Object.fromEntries(groups.map((group) => [group.name, toFormat(group)]))
}

/** @param {import('./row').Group} group */
function seedOf ({ seed, title }) {
  return seed === undefined ? {} : { seed: `${title}, another machine` }
}

/**
 * A line for each row at each size, and a column for each peer, with how many times the first peer's time it takes.
 * @param {Results} results
 * @param {{ rows: Row[], peers: Peer[] }} shown
 * @param {{ head: string, lead: (row: Row, at?: number) => string[], sizes: Array<number | undefined>, format: (row:
 *   Row, peer: Peer, at?: number) => string, times?: (ratio: number) => string }} options
 * @returns {Grid}
 */
function gridOfSizes (results, { rows, peers }, { head, lead, sizes, format, times = formatTimes }) {
  const used = peers.filter(({ name }) => rows.some((row) => results.has(row.name, name)))
  const lines = rows.flatMap((row) => sizes.map((at) => [...lead(row, at), ...used.flatMap((peer, index) => {
    const ratio = results.ratio({ row: row.name, peer: peer.name, at }, { peer: used[0].name })
    return [format(row, peer, at), ...index === 0 ? [] : [ratio === undefined ? '-' : times(ratio.median)]]
  })]))
  const heads = head.split('|')
  const words = rows.length > 0 ? [...lead(rows[0], sizes[0]).keys()] : [0]
  return { heads: [...heads, ...used.flatMap(({ label }, index) => index === 0 ? [label] : [label, 'ratio'])], lines, words }
}

/**
 * For `gridOfSizes`: the median of the first figure, and the range of its runs, without the unit.
 * @type {(results: Results) => (row: { name: string }, peer: { name: string }, at?: number) => string}
 */
const formatRange = (results) => (row, peer, at) => {
  const found = results.summary({ row: row.name, peer: peer.name, at })
  if (found === undefined) return '-'
  const [middle, least, most] = [found.median, found.min, found.max].map((value) => {
    return value < 1000 ? String(Number(value.toPrecision(3))) : formatCount(Math.round(value))
  })
  return least === most ? middle : `${middle} (${least}-${most})`
}

/**
 * A table for each row, of a line for each size: for `Table.format`.
 * @type {(results: Results, shown: { rows: Row[], peers: Peer[] }, head: string, nameOf: (at: number) => string,
 *   format?: (row: Row, peer: Peer, at?: number) => string) => string[]}
 */
function textsOfSizes (results, { rows, peers }, head, nameOf, format = formatRange(results)) {
  return rows.map((row) => `${row.name}: ${row.what}\n\n${toText(gridOfSizes(results, { rows: [row], peers }, {
    head, lead: (_, at) => [nameOf(Number(at))], sizes: results.listAt(row.name), format
  }))}`)
}

/**
 * A line for each row of two sides: ours, and the one it is compared with.
 * @param {Results} results
 * @param {Row[]} rows  each of which names the other side with `beside`
 * @returns {Grid}
 */
function gridOfPairs (results, rows) {
  const lines = rows.map((row) => {
    const [figure] = row.figures
    const other = besideOf(row)
    const texts = [OURS, other].map((peer) => results.of({ row: row.name, figure: figure.figure, peer }))
      .map((value) => value === undefined ? '-' : formatValue(value, figure.unit))
    const ratio = results.ratio({ row: row.name, peer: OURS }, { peer: other })
    const [judged] = judge(results, row, figure)
    return [`\`${row.name}\``, row.what, ...texts, ratio === undefined ? '-' : formatPair(ratio, row), formatGoal(row), judged?.verdict ?? (ratio ? '' : 'absent')]
  })
  return { heads: ['row', 'ours : the other', 'ours', 'the other', 'ratio (range)', 'goal', 'verdict'], lines, words: [0, 1, 6], notes: explainBounds(results, rows) }
}

/**
 * The peer that a row of two sides compares ours with: the one that is neither ours nor the least work.
 * @param {Row} row
 */
function besideOf (row) {
  return Object.keys(row.peers).find((name) => name !== OURS && name !== row.figures[0].goal?.bound) ?? ''
}

/** Whether the ratio is told as a speed: how many times as fast ours is. @param {Row} row */
function isSpeed ({ figures: [{ goal }] }) {
  return goal?.times !== undefined
}

/** @type {(ratio: import('../lib/report').Summary, row: Row) => string} */
function formatPair ({ median, min, max }, row) {
  const { isShare } = row.figures[0]
  // A speed is the inverse of a ratio of times, so the ends of its range change places.
  const isInverse = isSpeed(row) && !isMoreBetter(row.figures[0].unit)
  const [middle, least, most] = (isInverse ? [1 / median, 1 / max, 1 / min] : [median, min, max]).map((value) => {
    return isShare ? (100 * value).toFixed(2) : value.toFixed(value < 9.95 ? 2 : 1)
  })
  const unit = isShare ? '%' : '×'
  return least === most ? `${middle}${unit}` : `${middle}${unit} (${least}-${most})`
}

/** Of a row of two sides. @param {Row} row */
function formatGoal ({ figures: [{ goal = {}, unit, isShare }] }) {
  const { times = [], within = [], most, least } = goal
  const short = (/** @type {number} */ factor) => isShare ? `${Number((100 * factor).toPrecision(3))}%` : `${Number(factor.toPrecision(3))}×`
  return [
    ...times.map(({ factor }) => `>= ${short(factor)}`), ...within.map(({ factor }) => `<= ${short(factor)}`),
    ...most === undefined ? [] : [`<= ${formatValue(most, unit)}`], ...least === undefined ? [] : [`>= ${formatValue(least, unit)}`]
  ].join(', ')
}

/** What is possible, by rows with the same least work. @type {(results: Results, rows: Row[]) => string[]} */
function explainBounds (results, rows) {
  /** @type {Map<string, string[]>} */
  const found = new Map()
  for (const row of rows) {
    const bound = row.figures[0].goal?.bound
    const ratio = bound && results.ratio({ row: row.name, peer: bound }, { peer: besideOf(row) })
    if (!ratio) continue
    const text = isSpeed(row) ? `${(1 / ratio.median).toFixed(2)}× at most` : `${ratio.median.toFixed(2)}× at least`
    const { what } = row.peers[bound]
    found.set(what, [...found.get(what) ?? [], `\`${row.name}\` ${text}`])
  }
  return [...found].map(([what, texts]) => `What is possible, if the only work is to ${what}: ${texts.join(', ')}.`)
}

/** @type {(results: Results, rows: Row[], peers: Peer[]) => string[]} */
function listAbsent ({ absences }, rows, peers) {
  const labels = new Map(peers.map(({ name, label }) => [name, label]))
  /** @type {Map<string, Set<string>>} */
  const reasons = new Map()
  for (const { row, peer, reason } of absences) {
    if (!rows.some(({ name }) => name === row)) continue
    const text = peer === '*' ? reason : `${labels.get(peer) ?? peer}: ${reason}`
    reasons.set(text, (reasons.get(text) ?? new Set()).add(row))
  }
  return [...reasons].map(([text, rows]) => `Absent: ${text} (${[...rows].join(', ')})`)
}

/**
 * @type {(packages: Array<{ name: string, share: number }>, functions: Array<{ name: string, share: number }>) =>
 *   Grid}
 */
function gridOfShares (packages, functions) {
  const percent = (/** @type {number} */ share) => `${(100 * share).toFixed(1)}%`
  const lines = Array.from({ length: Math.max(packages.length, functions.length) }, (_, index) => {
    return [packages[index], functions[index]].flatMap((one) => one ? [one.name, percent(one.share)] : ['', ''])
  })
  return { heads: ['package', 'of the busy time', 'function', 'of the busy time'], lines, words: [0, 2] }
}

/** @param {number} ratio */
function formatTimes (ratio) {
  return `${ratio < 9.95 ? ratio.toFixed(1) : formatCount(Math.round(ratio))}×`
}

exports.toMarkdown = toMarkdown
exports.toText = toText
exports.gridOfPeers = gridOfPeers
exports.gridOfSizes = gridOfSizes
exports.formatGroups = formatGroups
exports.tablesOfGroups = tablesOfGroups
exports.textsOfSizes = textsOfSizes
exports.formatRange = formatRange
exports.gridOfPairs = gridOfPairs
exports.gridOfShares = gridOfShares
exports.besideOf = besideOf
exports.formatPair = formatPair
exports.formatGoal = formatGoal
exports.listAbsent = listAbsent
exports.formatTimes = formatTimes

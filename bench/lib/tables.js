'use strict'
// Rows in which several peers do the same work. Turns their figures into verdicts, Markdown tables, a CSV file and
// charts. All of them can be made from the CSV file again.

const { describeSetting, drawBars, drawChart } = require('./charts')
const { formatCount, median } = require('./report')

/** @typedef {import('./report').Facts} Facts */

/**
 * @typedef {object} Peer  who takes part
 * @property {string} name
 * @property {string} label
 * @property {string} kind  `millrace` for ours, which must not fail
 * @property {string[]} packages
 * @property {unknown} [measure]  if it does the work in another process, which no profile shows
 */

/**
 * @typedef {object} Goal  what a figure of Millrace must be
 * @property {number} [least]
 * @property {number} [most]
 * @property {Compared[]} [times]  at least so many times the figure of a peer
 * @property {Compared[]} [within]  at most so many times
 * @property {{ by: number, of: string }[]} [above]  at most by so much above the figure of a peer
 *
 * @typedef {object} Compared
 * @property {number} factor
 * @property {string} of  the peer
 * @property {string} [or]  another peer: the one with the lesser figure counts
 * @property {string} [in]  of another row
 */

/**
 * @typedef {object} Line  one figure of a row
 * @property {string} figure
 * @property {string} what  for the table
 * @property {'rate' | 'us' | 'ns' | 'bytes' | 'ms' | 'count' | 'share'} unit
 * @property {string} [seed]  what the seed measured, on another machine
 * @property {Goal} [goal]
 * @property {string} [by]  whose figure must meet it; Millrace's by default
 * @property {string} [drawn]  the title of its panel in a chart
 */

/**
 * @typedef {object} Row
 * @property {string} name
 * @property {string} work  what the measuring process does
 * @property {any} setting  for all peers
 * @property {Record<string, any>} peers  who takes part, and with which options
 * @property {string} [needs]  a program that must be on the PATH
 * @property {number} [runs]  at most
 * @property {number} [timeoutMs]  how long one run may take
 * @property {string} lost  what SIGKILL takes at most
 * @property {Line[]} lines
 */

/**
 * How often a figure holds what a program needs.
 * @typedef {object} Sizing
 * @property {string} row
 * @property {Array<[what: string, perSecond: number, seed: string]>} loads
 */

/**
 * @typedef {object} Table
 * @property {string} name
 * @property {string} title
 * @property {string} about
 * @property {string} [seed]  on what the seed measured itself, if the rows are those of a seed
 * @property {Row[]} rows
 * @property {Sizing} [sizing]
 */

/**
 * @typedef {object} Drawing  a chart of the lines that have the unit and are `drawn`
 * @property {Line['unit']} unit
 * @property {string} title
 * @property {string} subtitle
 * @property {string[]} footer
 * @property {string} subject  what was measured, for the last line
 * @property {Array<{ kind: string, label: string }>} kinds  how the peers are grouped by colour
 * @property {(value: number) => string} format  what stands beside a bar
 * @property {Section[]} [sections]  panels of the same promise under one heading, in this order
 * @property {(row: Row, peer: string) => string | undefined} [promiseOf]  what an answer means, behind the bar
 *
 * @typedef {object} Section
 * @property {string} heading
 * @property {string} promise
 * @property {string[]} rows
 */

/**
 * @typedef {object} Measured  one figure of a peer at a row
 * @property {string} row
 * @property {string} figure
 * @property {string} peer
 * @property {number[]} values  of the runs; none if the peer is absent
 * @property {string} [absent]
 */

/** @typedef {'met' | 'close' | 'missed' | 'out of reach' | 'absent'} Verdict */
/** @typedef {{ text: string, verdict: Verdict }} Judged */

const OURS = 'millrace'
/** A CSV file has so many digits of a value, and a table is made from these. */
const DIGITS = 6
/** Who does the least work there is. */
const LIMITS = ['bare', 'sync', 'empty']
// On a shared machine, figures vary by this much.
const TOLERANCE = 0.1
/** @type {(cells: import('./cells').Cell[]) => Measured[]} */
function toMeasured (cells) {
  return cells.flatMap(({ row, peer, runs, absent }) => row.lines.flatMap(({ figure }) => {
    const values = runs.map((run) => run[figure]).filter((value) => value !== undefined)
    return [{ row: row.name, figure, peer: peer.name, values, ...(absent !== undefined && { absent }) }]
  }))
}

class Results {
  #byKey

  /** @param {Measured[]} measured */
  constructor (measured) {
    const round = (/** @type {number} */ value) => Number(value.toPrecision(DIGITS))
    this.measured = measured.map((one) => ({ ...one, values: one.values.map(round) }))
    this.#byKey = new Map(this.measured.map((one) => [`${one.row} ${one.figure} ${one.peer}`, one]))
  }

  /** @type {(row: string, figure: string, peer: string) => number[]} of the runs */
  valuesOf (row, figure, peer) {
    return this.#byKey.get(`${row} ${figure} ${peer}`)?.values ?? []
  }

  /** @type {(row: string, figure: string, peer: string) => number | undefined} */
  of (row, figure, peer) {
    const values = this.valuesOf(row, figure, peer)
    return values.length > 0 ? median(values) : undefined
  }

  /** @type {(row: Row, figure: string, compared: Compared) => { peer: number | undefined, text: string }} */
  #find (row, figure, { factor, of, or, in: other = row.name }) {
    const found = [of, ...or ? [or] : []].flatMap((name) => {
      const value = this.of(other, figure, name)
      return value === undefined ? [] : [{ value, name }]
    })
    const { value, name } = found.sort((a, b) => a.value - b.value)[0] ?? { name: of }
    return { peer: value, text: `${Number(factor.toPrecision(2))}x ${other === row.name ? name : other}` }
  }

  /**
   * @param {Row} row
   * @param {string} figure
   * @param {Line['unit']} unit
   * @param {number} ours
   * @param {Required<Pick<Goal, 'within' | 'above'>>} goal
   * @returns {Judged[]}
   */
  #judgeBounds (row, figure, unit, ours, { within, above }) {
    return [
      ...within.map((one) => {
        const { peer, text } = this.#find(row, figure, one)
        return { most: peer && one.factor * peer, text: `<= ${text}`, found: `${(ours / Number(peer)).toFixed(2)}x` }
      }),
      ...above.map(({ by, of }) => {
        const peer = this.of(row.name, figure, of)
        const more = `+ ${format(Math.max(0, ours - Number(peer)), unit)}`
        return { most: peer && peer + by, text: `<= ${of} + ${format(by, unit)}`, found: more }
      })
    ].map(({ most, text, found }) => {
      if (most === undefined) return { text, verdict: 'absent' }
      return { text: `${text}: ${found}`, verdict: decide(toShare(ours, most)) }
    })
  }

  /** One for each part of the goal. @type {(row: Row, line: Line) => Judged[]} */
  judge (row, { figure, unit, goal = {}, by = OURS }) {
    const ours = this.of(row.name, figure, by)
    if (ours === undefined) return []
    const limit = LIMITS.map((peer) => this.of(row.name, figure, peer)).find((value) => value !== undefined)
    /** @type {Judged[]} */
    const judged = []
    const add = (/** @type {string} */ text, /** @type {number} */ share, /** @type {number | undefined} */ most) => {
      judged.push({ text, verdict: decide(share, most) })
    }
    const { least, most, times = [], within = [], above = [] } = goal
    if (least !== undefined) add(`>= ${format(least, unit)}`, ours / least, limit && limit / least)
    if (most !== undefined) add(`<= ${format(most, unit)}`, toShare(ours, most), limit && toShare(limit, most))
    for (const one of times) {
      const { peer, text } = this.#find(row, figure, one)
      if (peer === undefined) judged.push({ text, verdict: 'absent' })
      else add(`${text}: ${(ours / peer).toFixed(2)}x`, ours / peer / one.factor, limit && limit / peer / one.factor)
    }
    judged.push(...this.#judgeBounds(row, figure, unit, ours, { within, above }))
    return judged
  }
}

/** Of a goal that is an upper bound. @type {(value: number, most: number) => number} */
function toShare (value, most) {
  return value <= most ? 1 : most / value
}

/** @type {(share: number, limit?: number) => Verdict} `share` of the goal; `limit`: that of the least work there is */
function decide (share, limit) {
  if (share >= 1) return 'met'
  if (limit !== undefined && limit < 1) return 'out of reach'
  return share >= 1 - TOLERANCE ? 'close' : 'missed'
}

/** @type {(value: number, unit: Line['unit']) => string} */
function format (value, unit) {
  if (unit === 'rate' || unit === 'count') return formatCount(Math.round(Number(value.toPrecision(3))))
  if (unit === 'bytes') return `${(value / 2 ** 20).toFixed(1)} MiB`
  if (unit === 'share') return `${(100 * value).toFixed(1)}%`
  return `${Number(value.toPrecision(3))} ${unit}`
}

/** How far the figures reach. @type {(table: Table, results: Results) => string[]} */
function formatSizing ({ sizing, title }, results) {
  const ours = sizing && results.of(sizing.row, 'rate', OURS)
  if (sizing === undefined || ours === undefined) return []
  const sqlite = results.of(sizing.row, 'rate', 'sqlite')
  const times = (/** @type {number | undefined} */ rate, /** @type {number} */ needed) => {
    return rate === undefined ? '-' : `${formatCount(Math.round(Number((rate / needed).toPrecision(2))))}x`
  }
  const lines = sizing.loads.map(([what, perSecond, seed]) => {
    return [what, formatCount(perSecond), seed, times(ours, perSecond), times(sqlite, perSecond)]
  })
  const heads = [`\`${sizing.row}\` holds so many times`, 'records a second', title, 'Millrace', 'better-sqlite3']
  return ['', ...[heads, ['---', '--:', '--:', '--:', '--:'], ...lines].map((line) => `| ${line.join(' | ')} |`)]
}

/** In Markdown. @type {(table: Table, peers: Peer[], results: Results) => string} */
function formatTable (table, peers, results) {
  const { rows, seed, title } = table
  const shown = peers.filter(({ name }) => rows.some((row) => {
    return row.lines.some(({ figure }) => results.of(row.name, figure, name) !== undefined)
  }))
  const words = [title, 'lost by SIGKILL at most', ...seed ? [`${title}, another machine`] : []]
  const heads = [...words, ...shown.map(({ label }) => label), 'goals']
  const lines = rows.flatMap((row) => row.lines.map((line) => {
    const figures = shown.map(({ name }) => {
      const value = results.of(row.name, line.figure, name)
      if (value === undefined) return row.peers[name] ? '-' : ''
      return name.startsWith(OURS) ? `**${format(value, line.unit)}**` : format(value, line.unit)
    })
    const goals = results.judge(row, line).map(({ text, verdict }) => `${text}, ${verdict}`).join('; ')
    const isFirst = line === row.lines[0]
    const what = `${isFirst ? `\`${row.name}\`: ` : ''}${line.what}`
    return [what, isFirst ? row.lost : '', ...seed ? [line.seed ?? ''] : [], ...figures, goals]
  })).filter((cells) => cells.slice(words.length, -1).some((text) => text !== '' && text !== '-'))
  const source = seed ? ` The third column is what ${title} measured itself (${seed}).` : ''
  const rule = heads.map((_, index) => index >= words.length && index < heads.length - 1 ? '--:' : '---')
  return [
    ...[heads, rule, ...lines].map((line) => `| ${line.join(' | ')} |`),
    '',
    `Figures are per second unless a unit is given.${source}`,
    ...formatSizing(table, results)
  ].join('\n')
}

/** @type {(results: Results, rows: Row[], peers: Peer[]) => string[]} */
function listAbsent ({ measured }, rows, peers) {
  const labels = new Map(peers.map(({ name, label }) => [name, label]))
  /** @type {Map<string, Set<string>>} */
  const reasons = new Map()
  for (const { row, peer, absent } of measured) {
    const found = rows.find(({ name }) => name === row)
    if (absent === undefined || found === undefined) continue
    const text = found.needs ? absent : `${labels.get(peer)}: ${absent}`
    reasons.set(text, (reasons.get(text) ?? new Set()).add(row))
  }
  return [...reasons].map(([text, rows]) => `Absent: ${text} (${[...rows].join(', ')})`)
}

/** Every run. @type {(results: Results, tables: Table[], facts: Facts) => import('./report').Sheet} */
function toSheet ({ measured }, tables, facts) {
  const rows = tables.flatMap(({ rows }) => rows)
  return {
    facts,
    notes: [
      ...rows.filter(({ name }) => measured.some(({ row }) => row === name))
        .map(({ name, lost, lines: [{ what }] }) => `row ${name}: ${what}; SIGKILL takes at most: ${lost}`),
      ...new Set(measured.flatMap(({ row, peer, absent }) => absent === undefined ? [] : `absent: ${row} of ${peer}: ${absent}`))
    ],
    columns: 'row,figure,peer,run,value',
    rows: measured.flatMap(({ row, figure, peer, values }) => {
      if (values.length === 0) return [[row, figure, peer, 'absent', '']]
      return values.map((value, index) => [row, figure, peer, index + 1, value])
    })
  }
}

/**
 * @param {{ notes?: string[], rows: Array<Record<string, string>> }} sheet  from `readCsv`
 * @returns {Measured[]}
 */
function fromSheet ({ notes = [], rows: lines }) {
  const absences = new Map(notes.flatMap((note) => {
    const [, key, reason] = /^absent: (\S+ of \S+): (.*)$/.exec(note) ?? []
    return key ? [[key, reason]] : []
  }))
  /** @type {Map<string, Measured>} */
  const measured = new Map()
  for (const { row, figure, peer, value } of lines) {
    const key = `${row} ${figure} ${peer}`
    const absent = absences.get(`${row} of ${peer}`)
    const one = measured.get(key) ?? { row, figure, peer, values: [], ...(absent && { absent }) }
    measured.set(key, one)
    if (value !== '') one.values.push(Number(value))
  }
  return [...measured.values()]
}

/**
 * @param {Results} results
 * @param {Table[]} tables
 * @param {Peer[]} peers
 * @param {Facts} facts
 * @param {Drawing} drawing
 * @returns {Promise<string | undefined>}  SVG; undefined if no row of the chart was measured
 */
async function drawTables (results, tables, peers, facts, { unit, subject, kinds, footer, format, ...drawing }) {
  const { sections = [], promiseOf = () => undefined, ...words } = drawing
  const sectionOf = (/** @type {Row} */ { name }) => sections.findIndex(({ rows }) => rows.includes(name))
  const drawn = tables.flatMap(({ rows }) => rows.flatMap((row) => row.lines.flatMap((line) => {
    const isShown = line.drawn && line.unit === unit && results.of(row.name, line.figure, line.by ?? OURS) !== undefined
    return isShown ? [{ row, line }] : []
  }))).sort((a, b) => sectionOf(a.row) - sectionOf(b.row))
  if (drawn.length === 0) return undefined
  const shown = peers.filter(({ name }) => drawn.some(({ row, line }) => {
    return results.of(row.name, line.figure, name) !== undefined
  }))
  const used = kinds.filter(({ kind }) => shown.some((peer) => peer.kind === kind))
  const groups = drawn.map(({ row, line: { figure, drawn: title } }, index) => ({
    title,
    ...(index === 0 || sectionOf(row) !== sectionOf(drawn[index - 1].row) ? sections[sectionOf(row)] : {}),
    rows: shown.filter(({ name }) => row.peers[name]).map(({ name, kind, label }) => {
      const values = results.valuesOf(row.name, figure, name)
      if (values.length === 0) return { label, bars: [], note: 'absent' }
      const value = median(values)
      const look = used.findIndex((one) => one.kind === kind)
      const promise = promiseOf(row, name)
      const text = { text: format(value), ...(promise && { more: { text: promise, class: 'muted' } }) }
      return { label, bars: [{ look, value, min: Math.min(...values), max: Math.max(...values), ...text }] }
    })
  }))
  const counts = results.measured.flatMap(({ values }) => values.length > 0 ? [values.length] : [])
  return drawChart({
    ...words,
    stacks: used.map(({ label }) => label),
    marks: 'bars',
    footer: [...footer, 'Thin lines go from the slowest run to the fastest.', describeSetting(subject, facts, counts)]
  }, (canvas) => drawBars(canvas, groups, {
    columns: 2, hasOwnRows: true, barHeight: 12, rowGap: 3, labelWidth: 120, valueWidth: 56
  }))
}

exports.Results = Results
exports.formatValue = format
exports.toMeasured = toMeasured
exports.formatTable = formatTable
exports.listAbsent = listAbsent
exports.toSheet = toSheet
exports.fromSheet = fromSheet
exports.drawTables = drawTables

'use strict'
// What was measured: a line for each figure of each run, as the CSV files have it, and what can be asked of them.

const fs = require('node:fs')
const { median, summarize } = require('../lib/report')
const { UserError } = require('../lib/run')

/** @typedef {import('./row').Row} Row */
/** @typedef {import('../lib/report').Facts} Facts */

/**
 * @typedef {object} Run  one process
 * @property {string} row
 * @property {string} peer
 * @property {number} [at]
 * @property {number} run  from 1; the runs of one number were measured next to each other
 * @property {Record<string, number | undefined>} figures
 * @property {Array<[value: number, count: number]>} [tail]
 */

/** @typedef {{ row: string, peer: string, reason: string }} Absence */
/** @typedef {{ row: string, figure?: string, peer: string, at?: number }} Place  without a figure: the first */

// A CSV file has so many digits of a figure, and tables are made from these.
const DIGITS = 6
const COLUMNS = 'row,peer,at,run,figure,value'
const FACTS = /** @type {const} */ (['command', 'machine', 'node', 'packages', 'input', 'load'])
/** Once for all files. */
const NOTES = [
  'a line is one figure of one process: the peer at the row, in that run; at: the block size or what else the row varies',
  'runs of the same number were measured in turn, so a ratio is taken run by run; page cache warm unless the row says so'
]

class Results {
  /**
   * @param {Run[]} runs
   * @param {Absence[]} [absences]
   */
  constructor (runs, absences = []) {
    const round = (/** @type {number} */ value) => Number(value.toPrecision(DIGITS))
    this.runs = runs.map((one) => ({
      ...one,
      figures: Object.fromEntries(Object.entries(one.figures).flatMap(([name, value]) => {
        return value === undefined ? [] : [[name, round(value)]]
      }))
    }))
    this.absences = absences
    /** @type {Map<string, Run[]>} */
    this.byPlace = new Map()
    for (const one of this.runs) {
      const key = keyOf(one)
      this.byPlace.set(key, [...this.byPlace.get(key) ?? [], one])
    }
  }

  /** @type {(place: Place) => Array<{ run: number, value: number }>} */
  #list (place) {
    return (this.byPlace.get(keyOf(place)) ?? []).flatMap(({ run, figures }) => {
      const value = figures[place.figure ?? Object.keys(figures)[0]]
      return value === undefined ? [] : [{ run, value }]
    })
  }

  /** Of the runs. @type {(place: Place) => number[]} */
  values (place) {
    return this.#list(place).map(({ value }) => value)
  }

  /** @type {(place: Place) => import('../lib/report').Summary | undefined} */
  summary (place) {
    const values = this.values(place)
    return values.length > 0 ? summarize(values) : undefined
  }

  /** The median. @type {(place: Place) => number | undefined} */
  of (place) {
    const values = this.values(place)
    return values.length > 0 ? median(values) : undefined
  }

  /**
   * How many times one figure is the other: the median of the ratios of runs that were measured in turn.
   * @param {Place} place
   * @param {Partial<Place>} other  where it differs
   * @returns {import('../lib/report').Summary | undefined}
   */
  ratio (place, other) {
    const mine = this.#list(place)
    const theirs = new Map(this.#list({ ...place, ...other }).map(({ run, value }) => [run, value]))
    const ratios = mine.flatMap(({ run, value }) => theirs.has(run) ? [value / Number(theirs.get(run))] : [])
    if (ratios.length > 0) return summarize(ratios)
    const [a, b] = [this.of(place), this.of({ ...place, ...other })]
    return a === undefined || b === undefined ? undefined : summarize([a / b])
  }

  /** Block sizes, ascending, and the like. @param {string} [row] */
  listAt (row) {
    const own = this.runs.filter((one) => row === undefined || one.row === row)
    return [...new Set(own.flatMap(({ at }) => at ?? []))].sort((a, b) => a - b)
  }

  /** @type {(row: string, peer?: string) => boolean} whether it was measured at all */
  has (row, peer) {
    return this.runs.some((one) => one.row === row && (peer === undefined || one.peer === peer))
  }

  /** Of all runs together. @type {(row: string, peer: string) => Array<[value: number, count: number]>} */
  tail (row, peer) {
    return this.runs.flatMap((one) => one.row === row && one.peer === peer ? one.tail ?? [] : [])
  }
}

/** @param {Place} place */
function keyOf ({ row, peer, at }) {
  return `${row} ${peer} ${at ?? ''}`
}

/**
 * The text of a CSV file: facts and notes, then a line for each figure.
 * @type {(results: Results, rows: Row[], facts: Facts) => string}
 */
function formatCsv ({ runs, absences }, rows, facts) {
  const names = new Set([...runs, ...absences].map(({ row }) => row))
  const shown = rows.filter(({ name }) => names.has(name))
  const isShown = (/** @type {{ row: string }} */ { row }) => shown.some(({ name }) => name === row)
  const notes = [
    ...FACTS.flatMap((name) => facts[name] === undefined ? [] : [`${name}: ${facts[name]}`]),
    ...NOTES,
    ...shown.map(({ name, what, figures, lost }) => {
      const units = figures.map(({ figure, unit }) => figure === unit ? unit : `${figure} in ${unit}`).join(', ')
      return `row ${name}: ${what}; ${units}${lost ? `; a SIGKILL takes at most: ${lost}` : ''}`
    }),
    ...absences.filter(isShown).map(({ row, peer, reason }) => `absent: ${row} of ${peer}: ${reason}`)
  ]
  const lines = runs.filter(isShown).flatMap(({ row, peer, at = '', run, figures, tail = [] }) => {
    const buckets = tail.map(([value, count]) => [`tail ${value}`, count])
    return [...Object.entries(figures), ...buckets].map((pair) => [row, peer, at, run, ...pair].join(','))
  })
  return [...notes.map((note) => `# ${note}`), COLUMNS, ...lines].join('\n') + '\n'
}

/** What formatCsv made. @param {string} file @returns {{ results: Results, facts: Facts }} */
function readCsv (file) {
  const all = fs.readFileSync(file, 'utf8').trim().split('\n')
  const notes = all.filter((line) => line.startsWith('# ')).map((line) => line.slice(2))
  const [columns, ...lines] = all.filter((line) => !line.startsWith('#'))
  if (columns !== COLUMNS) throw new Error('has no results of the bench')
  /** @type {Map<string, Run>} */
  const runs = new Map()
  for (const [row, peer, at, run, figure, value] of lines.map((line) => line.split(','))) {
    const key = `${row} ${peer} ${at} ${run}`
    const one = runs.get(key) ?? { row, peer, ...(at !== '' && { at: Number(at) }), run: Number(run), figures: {} }
    runs.set(key, one)
    const [word, bucket] = figure.split(' ')
    if (word === 'tail' && bucket !== undefined) (one.tail ??= []).push([Number(bucket), Number(value)])
    else one.figures[figure] = Number(value)
  }
  const absences = notes.flatMap((note) => {
    const [, row, peer, reason] = /^absent: (\S+) of (\S+): (.*)$/.exec(note) ?? []
    return row ? [{ row, peer, reason }] : []
  })
  const factOf = (/** @type {string} */ name) => notes.find((note) => note.startsWith(`${name}: `))?.slice(name.length + 2) ?? ''
  const facts = /** @type {Facts} */ (Object.fromEntries(FACTS.map((name) => [name, factOf(name)])))
  return { results: new Results([...runs.values()], absences), facts }
}

/**
 * Results that were saved on another machine, or another day.
 * @param {string} file
 * @param {Pick<import('./row').Table, 'name' | 'groups'>} table
 * @param {string} option
 * @throws {UserError}
 */
function readSaved (file, { name, groups }, option) {
  try {
    const found = readCsv(file)
    if (groups.some(({ rows }) => rows.some(({ name }) => found.results.has(name)))) return found
    throw new Error(`has no results of ${name}`)
  } catch (err) {
    throw new UserError(`${option}: ${file}: ${/** @type {Error} */ (err).message}`)
  }
}

exports.Results = Results
exports.formatCsv = formatCsv
exports.readCsv = readCsv
exports.readSaved = readSaved

'use strict'
// What was measured: a line for each figure of each run, as the CSV files have it, and what can be asked of them.

const { median, summarize } = require('../lib/report')

/** @typedef {import('./row').Row} Row */
/** @typedef {import('./row').Peer} Peer */

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

  /** How often each case ran. */
  counts () {
    return [...this.byPlace.values()].map(({ length }) => length)
  }
}

/** @param {Place} place */
function keyOf ({ row, peer, at }) {
  return `${row} ${peer} ${at ?? ''}`
}

/** @type {(results: Results, rows: Row[], facts: import('../lib/report').Facts) => import('../lib/report').Sheet} */
function toSheet ({ runs, absences }, rows, facts) {
  const names = new Set([...runs, ...absences].map(({ row }) => row))
  return {
    facts,
    notes: [
      ...NOTES,
      ...rows.filter(({ name }) => names.has(name)).map(({ name, what, figures, lost }) => {
        const units = figures.map(({ figure, unit }) => figure === unit ? unit : `${figure} in ${unit}`).join(', ')
        return `row ${name}: ${what}; ${units}${lost ? `; a SIGKILL takes at most: ${lost}` : ''}`
      }),
      ...absences.filter(({ row }) => rows.some(({ name }) => name === row))
        .map(({ row, peer, reason }) => `absent: ${row} of ${peer}: ${reason}`)
    ],
    columns: COLUMNS,
    rows: runs.filter(({ row }) => rows.some(({ name }) => name === row)).flatMap((one) => toLines(one))
  }
}

/** @type {(run: Run) => Array<Array<string | number>>} */
function toLines ({ row, peer, at, run, figures, tail = [] }) {
  const buckets = tail.map(([value, count]) => [`tail ${value}`, count])
  const values = [...Object.entries(figures), ...buckets]
  return values.map(([figure, value]) => [row, peer, at ?? '', run, String(figure), Number(value)])
}

/**
 * The inverse of toSheet, of the sheets of a table.
 * @param {Array<{ notes: string[], rows: Array<Record<string, string>> }>} sheets  from `readCsv`
 */
function fromSheets (sheets) {
  /** @type {Map<string, Run>} */
  const runs = new Map()
  for (const { row, peer, at, run, figure, value } of sheets.flatMap(({ rows }) => rows)) {
    const key = `${row} ${peer} ${at} ${run}`
    const one = runs.get(key) ?? { row, peer, ...(at !== '' && { at: Number(at) }), run: Number(run), figures: {} }
    runs.set(key, one)
    const [word, bucket] = figure.split(' ')
    if (word === 'tail' && bucket !== undefined) (one.tail ??= []).push([Number(bucket), Number(value)])
    else one.figures[figure] = Number(value)
  }
  const absences = sheets.flatMap(({ notes }) => notes.flatMap((note) => {
    const [, row, peer, reason] = /^absent: (\S+) of (\S+): (.*)$/.exec(note) ?? []
    return row ? [{ row, peer, reason }] : []
  }))
  return new Results([...runs.values()], absences)
}

exports.Results = Results
exports.toSheet = toSheet
exports.fromSheets = fromSheets

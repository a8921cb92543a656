'use strict'
// What a marker of a page can ask for: the tables of each bench, and every single figure, by words.

const { TABLES, loadTable } = require('..')
const { formatValue } = require('../engine/judge')
const { openTable } = require('../engine/sources')
const { describeFacts, formatCount, median } = require('../lib/report')
const { UserError } = require('../lib/run')

/** @typedef {import('../lib/report').Facts} Facts */
/** @typedef {import('../engine/row').Unit | 'ratio'} Unit */
/** @typedef {{ values: number[], unit: Unit }} Found  `values`: of the runs */

/**
 * What a bench has to say about its own figures.
 * @typedef {object} Opened
 * @property {Facts} facts
 * @property {Record<string, () => string>} tables  in Markdown; the one without a name is ''
 * @property {(key: string) => Found | undefined} find  by words with a space between two of them
 */

/**
 * @typedef {object} Sources
 * @property {(request: string) => string} table  in Markdown
 * @property {(request: string) => string} figure
 */

/** @type {Record<string, (value: number, unit: Unit) => string>} */
const FORMS = {
  thousands: (value) => formatCount(Number((value / 1e3).toPrecision(3))),
  millions: (value) => String(Number((value / 1e6).toPrecision(2))),
  MB: (value) => `${Number((value / 1e6).toPrecision(2))} MB`,
  percent: (value) => `${Math.round(100 * value)}%`
}

/** @type {(folder: string) => Sources} `folder`: `data` */
function openSources (folder) {
  /** @type {Map<string, Opened>} */
  const opened = new Map()
  const open = (/** @type {string} */ name) => {
    if (!TABLES.includes(name)) throw new UserError(`there are no figures "${name}": choose from ${TABLES.join(', ')}`)
    const found = opened.get(name) ?? openTable(loadTable(name), folder)
    opened.set(name, found)
    return found
  }
  return {
    table (request) {
      const [name, ...rest] = toWords(request)
      const { facts, tables } = open(name)
      /** @type {Record<string, () => string>} */
      const all = { ...tables, facts: () => describeFacts({ ...facts, input: undefined }) }
      const table = rest.join(' ')
      if (Object.hasOwn(all, table)) return all[table]()
      const names = Object.keys(all).map((one) => `${name} ${one}`.trim()).join(', ')
      throw new UserError(`there is no table "${request.trim()}": choose from ${names}`)
    },
    figure: (request) => formatFigure(request, (words) => {
      const [name, ...rest] = words
      const { facts, find } = open(name)
      const key = rest.join(' ')
      const found = Object.hasOwn(facts, key) ? facts[/** @type {keyof Facts} */ (key)] : find(key)
      if (found === undefined) throw new UserError(`data has no figure "${words.join(' ')}"`)
      return found
    })
  }
}

/** @param {string} request */
function toWords (request) {
  return request.split(/\s+/).filter(Boolean)
}

/**
 * A request is a path of words, a second path if two figures are compared, and a form: `peers scan checked / sqlite as
 * percent`. The second path may leave out the words that it begins with, if they are the same.
 * @param {string} request
 * @param {(words: string[]) => Found | string} find
 */
function formatFigure (request, find) {
  const [, path, other, form] = /^([^/]*?)(?:\s\/\s([^/]*?))?(?:\sas\s(\w+))?\s*$/.exec(request) ?? []
  const words = toWords(path ?? '')
  if (words.length === 0) throw new UserError(`"${request.trim()}" asks for no figure: see bench/README.md`)
  const found = find(words)
  if (typeof found === 'string') return found
  if (form === 'range') return formatRange(found)
  const value = median(found.values)
  if (other === undefined) return formatOne(value, found.unit, form)
  const last = toWords(other)
  const compared = find([...words.slice(0, Math.max(0, words.length - last.length)), ...last])
  if (typeof compared === 'string' || compared.unit !== found.unit) {
    throw new UserError(`"${request.trim()}" compares figures of two units`)
  }
  return formatOne(value / median(compared.values), 'ratio', form)
}

/** The slowest run and the fastest. @param {Found} found */
function formatRange ({ values, unit }) {
  const [least, most] = [Math.min(...values), Math.max(...values)].map((value) => formatOne(value, unit))
  return least === most ? least : `${least.replace(/ [a-zA-Z]+$/, '')} to ${most}`
}

/** @type {(value: number, unit: Unit, form?: string) => string} */
function formatOne (value, unit, form) {
  if (form !== undefined) {
    if (Object.hasOwn(FORMS, form)) return FORMS[form](value, unit)
    throw new UserError(`there is no form "${form}": choose from ${Object.keys(FORMS).join(', ')}, range`)
  }
  if (unit !== 'ratio') return formatValue(value, unit)
  return value < 1.995 ? value.toFixed(2) : value < 9.95 ? value.toFixed(1) : formatCount(Math.round(value))
}

exports.openSources = openSources

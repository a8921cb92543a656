'use strict'
// A line for people: time, level, message, and below it what else the line says.

const { escapeControls } = require('@millrace/flow')
const { labelOf } = require('./lib/levels')
const { findLevel, findTime } = require('./lib/log-records')

const NAMES = new Map([[10, 'trace'], [20, 'debug'], [30, 'info'], [40, 'warn'], [50, 'error'], [60, 'fatal']])
/** Of a Date. */
const MS_MAX = 8.64e15
/** Where others have the message. */
const MESSAGE_KEYS = ['message', 'MESSAGE', 'short_message', '@m', 'event', 'eventName', 'log', 'body']
/** In the order of their numbers. @type {Array<[least: number, style: Style]>} */
const STYLE_OF_LEVEL = [[60, 'red'], [50, 'red'], [40, 'yellow'], [30, 'green'], [-Infinity, 'dim']]
const CODES = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 }

/**
 * @typedef {keyof typeof CODES} Style
 * @typedef {(style: Style, text: string) => string} Paint
 */

/**
 * @typedef {object} PrettyOptions
 * @property {boolean} [colors]  false by default
 * @property {string} [messageKey]  `msg` by default
 * @property {string} [errorKey]  `err` by default
 */

/** @type {Paint} */
const withColors = (style, text) => `\u001b[${CODES[style]}m${text}\u001b[0m`
/** @type {Paint} */
const plain = (style, text) => text

/**
 * Formats a record for people, as `--pretty` prints it. Times are in UTC. Times and levels of other loggers are found,
 * too.
 * @param {any} record  a line of pino, parsed
 * @param {PrettyOptions} [options]
 * @returns {string}  one line or several. Control characters are spelled out
 */
function formatPretty (record, { colors = false, messageKey = 'msg', errorKey = 'err' } = {}) {
  const paint = colors ? withColors : plain
  if (record === null || typeof record !== 'object' || Array.isArray(record)) return show(record)
  const [time, level] = [findTime(record), findLevel(record)]
  const { pid, hostname, name, [errorKey]: error, ...others } = record
  const head = [paint('dim', formatTime(time, record)), formatLevel(level, record, paint)]
  if (name !== undefined) head.push(paint('dim', `(${show(name)})`))
  const key = others[messageKey] !== undefined ? messageKey : MESSAGE_KEYS.find((key) => isText(others[key]))
  if (key !== undefined) head.push(paint('bold', show(isText(others[key]) ? others[key].trimEnd() : others[key])))
  // What is inside of a field is shown with it.
  const shown = [key, 'time', 'level', ...[time, level].map((found) => found?.path.length === 1 ? found.path[0] : undefined)]
  const rest = Object.entries(others).filter(([key]) => !shown.includes(key))
  const below = rest.map(([key, value]) => `    ${paint('dim', `${escapeControls(key)}:`)} ${show(value)}`)
  return [head.join(' '), ...formatError(error, paint), ...below].join('\n')
}

/** @param {unknown} value @returns {value is string} */
function isText (value) {
  return typeof value === 'string'
}

/** A text as it is; anything else as JSON. @param {unknown} value */
function show (value) {
  return escapeControls(typeof value === 'string' ? value : String(JSON.stringify(value)))
}

/** In UTC: a time without a zone is in UTC everywhere. @type {(found: { ms: number } | null, record: any) => string} */
function formatTime (found, { time = '-' }) {
  if (found === null || Math.abs(found.ms) > MS_MAX) return show(time)
  return new Date(found.ms).toISOString().replace('T', ' ').slice(0, -1)
}

/** @type {(found: import('./lib/log-records').FoundLevel | null, record: any, paint: Paint) => string} */
function formatLevel (found, { level: other = '-' }, paint) {
  const level = found?.level ?? 30
  const [, style] = /** @type {[number, Style]} */ (STYLE_OF_LEVEL.find(([least]) => level >= least))
  return paint(style, (found === null ? show(other) : nameOf(found)).toUpperCase().padEnd(5))
}

/** As the record says it, if that is a word. @param {import('./lib/log-records').FoundLevel} found */
function nameOf ({ level, value }) {
  if (typeof value === 'number') return NAMES.get(level) ?? (value === level ? String(value) : labelOf(level))
  return typeof value === 'string' && /^[a-z]{2}/i.test(value) ? show(value) : labelOf(level)
}

/** The stack of an error has line breaks that are meant. @type {(error: any, paint: Paint) => string[]} */
function formatError (error, paint) {
  if (error === undefined) return []
  if (typeof error?.stack !== 'string') return [`    ${paint('dim', 'err:')} ${show(error)}`]
  const { type, message, stack, ...others } = error
  const lines = stack.split('\n').map((/** @type {string} */ line) => `    ${paint('red', escapeControls(line))}`)
  const rest = Object.entries(others).map(([key, value]) => `    ${paint('dim', `${escapeControls(key)}:`)} ${show(value)}`)
  return [...lines, ...rest]
}

exports.formatPretty = formatPretty

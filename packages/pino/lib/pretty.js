'use strict'
// A line for people: time, level, message, and below it what else the line says.

const { escapeControls } = require('@millrace/flow')

const NAMES = new Map([[10, 'trace'], [20, 'debug'], [30, 'info'], [40, 'warn'], [50, 'error'], [60, 'fatal']])
/** In the order of their numbers. @type {Array<[least: number, style: Style]>} */
const STYLE_OF_LEVEL = [[60, 'red'], [50, 'red'], [40, 'yellow'], [30, 'green'], [-Infinity, 'dim']]
const CODES = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 }
// Seconds, not ms, below this.
const SECONDS_MAX = 1e11

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
 * @param {any} record  a line of pino, parsed
 * @param {PrettyOptions} [options]
 * @returns {string}  one line or several. Control characters are spelled out
 */
function formatPretty (record, { colors = false, messageKey = 'msg', errorKey = 'err' } = {}) {
  const paint = colors ? withColors : plain
  if (record === null || typeof record !== 'object' || Array.isArray(record)) return show(record)
  const { level, time, pid, hostname, name, [messageKey]: message, [errorKey]: error, ...others } = record
  const head = [paint('dim', formatTime(time)), formatLevel(level, paint)]
  if (name !== undefined) head.push(paint('dim', `(${show(name)})`))
  if (message !== undefined) head.push(paint('bold', show(message)))
  const below = Object.entries(others).map(([key, value]) => `    ${paint('dim', `${escapeControls(key)}:`)} ${show(value)}`)
  return [head.join(' '), ...formatError(error, paint), ...below].join('\n')
}

/** A text as it is; anything else as JSON. @param {unknown} value */
function show (value) {
  return escapeControls(typeof value === 'string' ? value : String(JSON.stringify(value)))
}

/** @param {unknown} time */
function formatTime (time) {
  const ms = typeof time === 'number' && time < SECONDS_MAX ? time * 1000 : time
  const date = new Date(/** @type {number} */ (ms))
  if ((typeof time !== 'number' && typeof time !== 'string') || Number.isNaN(date.getTime())) return show(time ?? '-')
  const two = (/** @type {number} */ number) => String(number).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  const seconds = `${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${seconds}`
}

/** @type {(level: unknown, paint: Paint) => string} */
function formatLevel (level, paint) {
  const name = typeof level === 'number' ? NAMES.get(level) ?? String(level) : show(level ?? '-')
  const number = typeof level === 'number' ? level : [...NAMES].find(([, known]) => known === name.toLowerCase())?.[0] ?? 30
  const [, style] = /** @type {[number, Style]} */ (STYLE_OF_LEVEL.find(([least]) => number >= least))
  return paint(style, name.toUpperCase().padEnd(5))
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

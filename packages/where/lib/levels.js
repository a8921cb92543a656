'use strict'
// The levels of loggers, by name and by number, on one scale: that of pino, where trace is 10 and fatal is 60. Levels
// that others have between or above these get numbers between or above.

/** @typedef {{ level: number, severity: number }} Level  `severity`: of OpenTelemetry, 1 to 24 */

/** Some mean one thing in one library and another thing in another: then it is the higher of the two. */
const NAMES = new Map([
  [10, 1, 'trace trce trc silly finest finer all spam t'],
  [20, 5, 'debug dbug dbg debu verbose verb vrb fine d v'],
  [25, 8, 'config'],
  [30, 9, 'info information informational inf http log timing success i'],
  [35, 10, 'notice note n'],
  [40, 13, 'warn warning wrn caution w'],
  [50, 17, 'error err eror erro fail failure severe e'],
  [60, 18, 'critical crit ctl c'],
  [60, 21, 'fatal ftl fata f dpanic panic'],
  [63, 19, 'alert'],
  [66, 21, 'emergency emerg']
].flatMap(([level, severity, names]) => String(names).split(' ').map((name) => {
  return /** @type {const} */ ([name, Object.freeze({ level: Number(level), severity: Number(severity) })])
})))

/** Names of the numbers of pino, for people. @type {ReadonlyArray<readonly [least: number, name: string]>} */
const LABELS = [[60, 'fatal'], [50, 'error'], [40, 'warn'], [30, 'info'], [20, 'debug'], [-Infinity, 'trace']]

const SYSLOG = ['emerg', 'alert', 'crit', 'err', 'warning', 'notice', 'info', 'debug']
const AZURE = ['verbose', 'information', 'warning', 'error', 'critical']
const DOTNET = ['trace', 'debug', 'information', 'warning', 'error', 'critical']
const TSLOG = ['silly', 'trace', 'debug', 'info', 'warn', 'error', 'fatal']
const GCP = ['', 'debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
const MONOLOG = new Map([[100, 'debug'], [200, 'info'], [250, 'notice'], [300, 'warning'], [400, 'error'], [500, 'critical'],
  [550, 'alert'], [600, 'emergency']])
const LOG4J = new Map([[5000, 'trace'], [10_000, 'debug'], [20_000, 'info'], [30_000, 'warn'], [40_000, 'error'], [50_000, 'fatal']])

const NAME_LENGTH_MAX = 64
// eslint-disable-next-line no-control-regex -- colours of a terminal
const COLOURS = /\u001b\[[\d;]*m/g
const SURROUNDINGS = /^[^a-z0-9+-]+|[^a-z0-9]+$/g
/** Enumerations in the names of which the level is the last word. */
const ENUMERATION = /^(?:severity_number_|severity_|log_?level[._]|level[._]|logging\.)/

/**
 * What a number means depends on who wrote it.
 * @type {Record<string, (number: number) => Level | null>}
 */
const SCALES = {
  pino: ofNumber,
  /** Without a sign of who wrote it. */
  any: (number) => at(SYSLOG, number) ?? named(LOG4J.get(number)) ?? ofNumber(number),
  names: () => null,
  syslog: (number) => at(SYSLOG, number > 7 && number < 192 ? number % 8 : number),
  otel (number) {
    return number >= 1 && number <= 24 ? { level: 10 + (number - 1) * 2.5, severity: Math.floor(number) } : null
  },
  severity (number) {
    if (number >= 100) return SCALES.gcp(number)
    const isOtel = number > 7 && number < 25 && number !== 10 && number !== 20
    return isOtel ? SCALES.otel(number) : SCALES.any(number)
  },
  gcp: (number) => named(GCP[Math.min(8, Math.floor(number / 100))]),
  monolog: (number) => named(MONOLOG.get(number)) ?? SCALES.any(number),
  python: (number) => ofNumber(number + 10),
  log4j: (number) => named(LOG4J.get(number)) ?? ofNumber(10 + number / 1000),
  azure: (number) => at(AZURE, number),
  dotnet: (number) => at(DOTNET, number) ?? ofNumber(number),
  tslog: (number) => at(TSLOG, number)
}

/** On the scale of pino. @param {number} number @returns {Level} */
function ofNumber (number) {
  const within = Math.min(69, Math.max(10, number))
  return { level: number, severity: Math.floor(1 + (within - 10) / 2.5) }
}

/** @param {string | undefined} name @returns {Level | null} */
function named (name) {
  return name === undefined ? null : NAMES.get(name) ?? null
}

/** @param {readonly string[]} names @param {number} index @returns {Level | null} */
function at (names, index) {
  return named(names[index])
}

/**
 * Gives the level that a single value means. If a name means several things, the higher one counts.
 * @param {unknown} value  a number, or a name in any case: also with a colour, a bracket or a number after it
 * @param {string} [scale]  of numbers
 * @returns {Level | null}  null if it is not a level
 */
function toLevel (value, scale = 'any') {
  if (typeof value === 'number' && Number.isFinite(value)) return SCALES[scale](value)
  if (typeof value === 'bigint') return toLevel(Number(value), scale)
  if (typeof value !== 'string' || value.length > NAME_LENGTH_MAX) return null
  const known = NAMES.get(value)
  if (known !== undefined) return known
  const name = value.replace(COLOURS, '').trim().toLowerCase().replace(ENUMERATION, '').replace(SURROUNDINGS, '')
  if (/^-?\d+(?:\.\d+)?$/.test(name)) return SCALES[scale](Number(name))
  return NAMES.get(name) ?? ofNumbered(name)
}

/** As in `error+2` of slog, `warn3` of OpenTelemetry, `d2` of MongoDB. @param {string} text @returns {Level | null} */
function ofNumbered (text) {
  const [, name, digits = ''] = /^([a-z]+)([+-]?\d+)$/.exec(text) ?? []
  const base = named(name)
  if (base === null) return null
  if (name.length === 1) return base
  if (/^\d/.test(digits)) return digits.length === 1 ? ofNumber(base.level + (Number(digits) - 1) * 2.5) : null
  return ofNumber(base.level + Number(digits) * 2.5)
}

/** Gives the name that pino has for a number, or for the one below it. @param {number} level @returns {string} */
function labelOf (level) {
  return /** @type {readonly [number, string]} */ (LABELS.find(([least]) => level >= least))[1]
}

exports.toLevel = toLevel
exports.labelOf = labelOf
/** All names of levels that are known. */
exports.LEVEL_NAMES = Object.freeze([...NAMES.keys()].filter((name) => name.length > 1))

'use strict'
// The options of a server as people write them: as flags of `millrace serve`, in its environment, and in a file. One
// table has them all, and the help and the documents are made from it. It needs no server.

const { countEdits, misuse } = require('@millrace/errors')
const { ACKS, DEFAULTS, LIMITS, SERVER } = require('./lib/options')

const ENV_PREFIX = 'MILLRACE_SERVE_'
const DAY_MS = 24 * 3600 * 1000
const UNITS = /** @type {Record<string, Record<string, number>>} */ ({
  size: { '': 1, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 },
  ms: { '': 1, ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: DAY_MS },
  days: { '': DAY_MS, d: DAY_MS, h: 3_600_000 },
  count: { '': 1 }
})
const ON = ['true', 'yes', 'on', '1']
const OFF = ['false', 'no', 'off', '0']

/**
 * @typedef {object} Setting
 * @property {string} name  of the flag `--name`, of the variable `MILLRACE_SERVE_NAME`, and in the file
 * @property {string} path  of the option of `createIngest`
 * @property {'size' | 'ms' | 'days' | 'count' | 'text' | 'list' | 'switch' | 'choice' | 'rate'} kind
 * @property {string} description
 * @property {readonly string[]} [choices]
 * @property {number} [least]  1 if there is none
 * @property {number} [most]
 * @property {string} [short]  flag of one letter
 * @property {unknown} [byDefault]
 */

/** @type {(name: string, kind: Setting['kind'], description: string, more?: Partial<Setting>) => Setting} */
const limit = (name, kind, description, more) => {
  const option = /** @type {keyof typeof LIMITS} */ (camelCase(name))
  return { name, path: `limits.${option}`, kind, description, byDefault: LIMITS[option], ...more }
}
/** @type {(name: string, kind: Setting['kind'], description: string, more?: Partial<Setting>) => Setting} */
const own = (name, kind, description, more) => {
  const path = camelCase(name)
  const byDefault = /** @type {any} */ ({ ...DEFAULTS, ...SERVER })[path] ?? undefined
  return { name, path, kind, description, byDefault, ...more }
}
/** @type {(name: string, kind: Setting['kind'], description: string, more?: Partial<Setting>) => Setting} */
const ofLogs = (name, kind, description, more) => ({ name, path: `log.${camelCase(name)}`, kind, description, ...more })

/** @type {readonly Setting[]} */
const settings = Object.freeze([
  own('port', 'count', 'listen on this port; 0 takes any free port', { short: 'p', least: 0, most: 65535 }),
  own('host', 'text', 'listen on this address; any address but loopback needs keys'),
  own('host-name', 'list', 'a host name that requests may be sent to; may be repeated', { path: 'hosts' }),
  own('require-keys', 'switch', 'refuse requests without a key, also if the file of the keys is missing'),
  own('keys-file', 'text', 'the file of the keys; keys.json in the folder by default'),
  own('ack', 'choice', 'what an answer acknowledges if the client does not say', { choices: ACKS }),
  own('floor', 'choice', 'the least that an answer acknowledges, whatever the client says', { choices: ACKS }),
  own('buffer-ms', 'ms', 'how long a buffered record may wait', { least: 0 }),
  own('dictionary', 'switch', 'store repeated texts once, in the files that begin from now on'),
  own('index', 'list', 'find records of a log by a field: LOG:FIELD, such as orders:user.id or orders:tags[*]; of a log of OpenTelemetry, its name alone. May be repeated'),
  ofLogs('max-size', 'size', 'drop the oldest records of a log before its files become larger', { least: 2 ** 20 }),
  ofLogs('max-age', 'days', 'drop records that are older: days, or 12h'),
  ofLogs('max-count', 'count', 'drop the oldest files of a log while it has more than this many'),
  ofLogs('segment-size', 'size', 'begin a new file before one becomes larger'),
  ofLogs('framing', 'choice', 'the format of new logs: lines are files of JSON lines, read by any program', { choices: ['checked', 'lines'] }),
  ofLogs('compress', 'choice', 'compress files that are complete', { choices: ['gzip', 'zstd'] }),
  ofLogs('file-mode', 'text', 'the mode of new files in octal, such as 640, less the umask; 600 by default', { path: 'log.mode' }),
  own('access-log', 'text', 'write a line for each request into the log in this folder'),
  limit('body-size', 'size', 'the largest body, as it is sent'),
  limit('inflated-size', 'size', 'the largest body, unpacked'),
  limit('requests-size', 'size', 'memory that all requests together may hold at most'),
  limit('batch-count', 'count', 'records in one request at most'),
  limit('record-size', 'size', 'the largest record'),
  limit('pending-size', 'size', 'bytes that may wait to be written into one log'),
  limit('logs', 'count', 'how many logs requests may create'),
  limit('events-per-day', 'count', 'different events in a day at most'),
  limit('readers', 'count', 'requests that read a range at the same time, at most'),
  limit('live-readers', 'count', 'live streams at the same time, at most', { least: 0 }),
  limit('scan-size', 'size', 'bytes that one reading request may read before it says where to go on'),
  limit('scan-ms', 'ms', 'how long one reading request may read'),
  limit('stall-ms', 'ms', 'end the connection of a reader that takes nothing for this long'),
  limit('heartbeat-ms', 'ms', 'how often a live stream that has nothing to send says so'),
  limit('idempotency-keys', 'count', 'how many idempotency keys are remembered', { least: 0 }),
  limit('idempotency-ms', 'ms', 'how long an idempotency key is remembered'),
  own('rate', 'rate', 'how many requests a key or an address may send, as COUNT/MS: 100/1000'),
  own('open-logs', 'count', 'how many logs are open at most'),
  own('cache', 'size', 'memory shared by all open logs'),
  own('connections', 'count', 'how many connections there may be at most'),
  own('header-size', 'size', 'all headers of a request together, at most'),
  own('request-ms', 'ms', 'how long a client may take to send a request'),
  own('idle-ms', 'ms', 'end a connection on which nothing happens for this long'),
  own('grace-ms', 'ms', 'how long requests that are under way may take when the server stops', { least: 0 })
])

/** @param {string} name */
function camelCase (name) {
  return name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase())
}

/**
 * Gives the variable of the environment for a setting.
 * @param {string} name
 */
function variableOf (name) {
  return ENV_PREFIX + name.replaceAll('-', '_').toUpperCase()
}

/** As it is written in a document. @param {Setting} setting */
function showDefault ({ kind, byDefault }) {
  if (byDefault === undefined || byDefault === false) return ''
  const number = Number(byDefault)
  if (kind === 'size' && number % 2 ** 20 === 0) return `${number / 2 ** 20}MiB`
  if (kind === 'size' && number % 2 ** 10 === 0) return `${number / 2 ** 10}KiB`
  if (kind === 'ms' && number % 3_600_000 === 0) return `${number / 3_600_000}h`
  if (kind === 'ms' && number % 1000 === 0) return `${number / 1000}s`
  return String(byDefault)
}

/**
 * Gives the value of a setting that was written as a text.
 * @param {Setting} setting
 * @param {any} value  a text, or what a file has: a number, a boolean or a list of texts
 * @returns {any}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function parseSetting (setting, value) {
  if (setting.kind === 'list') {
    return [value].flat().flatMap((item) => String(item).split(',')).map((item) => item.trim()).filter(Boolean)
  }
  const text = String(value).trim()
  if (typeof value === 'object' || text === '') throw wrong(setting, value, 'one value')
  if (setting.kind === 'text') return text
  if (setting.kind === 'switch') return parseSwitch(setting, text)
  if (setting.kind === 'choice') {
    if (setting.choices?.includes(text)) return text
    throw wrong(setting, value, `one of ${setting.choices?.join(', ')}`)
  }
  return setting.kind === 'rate' ? parseRate(setting, text) : parseNumber(setting, text)
}

/** @type {(setting: Setting, text: string) => boolean} */
function parseSwitch (setting, text) {
  const isOn = ON.includes(text.toLowerCase())
  if (isOn || OFF.includes(text.toLowerCase())) return isOn
  throw wrong(setting, text, 'true or false')
}

/** @type {(setting: Setting, text: string) => { count: number, windowMs: number }} */
function parseRate (setting, text) {
  const [count, windowMs] = /^\d+\/\d+$/.test(text) ? text.split('/').map(Number) : [0, 0]
  if (count >= 1 && windowMs >= 1) return { count, windowMs }
  throw wrong(setting, text, 'COUNT/MS, such as 100/1000')
}

/** A number with or without a unit. @type {(setting: Setting, text: string) => number} */
function parseNumber (setting, text) {
  const { kind, least = 1, most = Number.MAX_SAFE_INTEGER } = setting
  const [, digits = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text) ?? []
  const units = UNITS[kind]
  const known = Object.keys(units).find((name) => name.toLowerCase() === unit.toLowerCase())
  const number = digits === '' || known === undefined ? NaN : Number(digits) * units[known]
  if (Number.isSafeInteger(number) && number >= least && number <= most) return number
  const names = Object.keys(units).filter(Boolean)
  const form = `a whole number${names.length > 0 ? `, with or without ${names.join(', ')}` : ''}, from ${least} on`
  throw wrong(setting, text, most < Number.MAX_SAFE_INTEGER ? `${form}, up to ${most}` : form)
}

/** @type {(setting: Setting, value: unknown, form: string) => Error} */
function wrong ({ name }, value, form) {
  return misuse(`${name}: expected ${form}; got ${JSON.stringify(value)}`)
}

/**
 * The options of `createIngest`. What a flag says counts more than the environment, and that more than the file.
 * @param {object} sources
 * @param {Record<string, any>} sources.flags  by name, parsed
 * @param {Record<string, string | undefined>} sources.env
 * @param {string | null} [sources.file]  JSON: an object with the names of the flags
 * @returns {Record<string, any>}
 * @throws {TypeError} ERR_INVALID_ARGUMENT
 */
function resolveSettings ({ flags, env, file = null }) {
  const names = settings.map(({ name }) => name)
  const ofFile = file === null ? {} : readFile(file)
  checkKnown(Object.keys(ofFile), names, 'the file of options has')
  const variables = Object.keys(env).filter((name) => name.startsWith(ENV_PREFIX))
  checkKnown(variables, [...names, 'config'].map(variableOf), 'the environment has')
  /** @type {Record<string, any>} */
  const options = {}
  for (const setting of settings) {
    const { name, path } = setting
    const written = env[variableOf(name)] ?? ofFile[name]
    const value = flags[name] ?? (written === undefined ? undefined : parseSetting(setting, written))
    if (value === undefined) continue
    const [first, second] = path.split('.')
    if (second === undefined) options[first] = value
    else options[first] = { ...options[first], [second]: value }
  }
  return options
}

/** @param {string} text @returns {Record<string, any>} */
function readFile (text) {
  try {
    const found = JSON.parse(text.replace(/^\ufeff/, ''))
    if (found !== null && typeof found === 'object' && !Array.isArray(found)) return found
  } catch {
    // Said below.
  }
  throw misuse('the file of options is no JSON object, such as {"port": 7700}')
}

/** @type {(given: string[], known: string[], where: string) => void} */
function checkKnown (given, known, where) {
  for (const name of given) {
    if (known.includes(name)) continue
    const [nearest] = known.map((other) => ({ other, distance: countEdits(name.toLowerCase(), other.toLowerCase()) }))
      .sort((one, other) => one.distance - other.distance)
    const hint = nearest.distance <= Math.max(2, name.length / 3) ? `did you mean ${nearest.other}?` : `known are ${known.join(', ')}`
    throw misuse(`${where} an option ${name} that is not known; ${hint}`)
  }
}

exports.settings = settings
exports.variableOf = variableOf
exports.showDefault = showDefault
exports.parseSetting = parseSetting
exports.resolveSettings = resolveSettings

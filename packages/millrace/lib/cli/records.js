'use strict'
// Which records a command reads, and how it prints them: options, lines, and the way of the lines to the output.

const { misuse } = require('@millrace/errors')
const { escapeControls } = require('@millrace/flow')
const { parseText } = require('@millrace/json-codec')
const { levelFilter, parseTime, timeFilter } = require('@millrace/where')
const { parseFilter, takeDoubts } = require('./filter')
const { LateFlush } = require('./late-flush')
const { formatCount } = require('./text')

const FLUSH_SIZE = 64 * 1024
// Longer lines are cut on a terminal: nobody reads them there, and everything else scrolls away.
const SHOWN_SIZE_MAX = 16 * 1024

/**
 * @typedef {import('./definition').OptionDefinition} OptionDefinition
 * @typedef {import('./source').OpenedSource} OpenedSource
 */

/** @type {Record<string, OptionDefinition>} */
const options = {
  gt: { flags: '--gt <seq>', description: 'only records above this seq', parse: parseSeq },
  gte: { flags: '--gte <seq>', description: 'only records at or above this seq', parse: parseSeq },
  lt: { flags: '--lt <seq>', description: 'only records below this seq', parse: parseSeq },
  lte: { flags: '--lte <seq>', description: 'only records at or below this seq', parse: parseSeq },
  reverse: { flags: '-r, --reverse', description: 'last record first' },
  limit: { flags: '--limit <count>', description: 'at most this many records', parse: parseCount },
  where: {
    flags: '-w, --where <filter>',
    description: 'only records that pass, such as "type=post or level>=50"; if it is repeated, all filters must hold',
    parse: parseFilter,
    isList: true
  },
  grep: { flags: '-g, --grep <text>', description: 'only records whose JSON text contains this' },
  since: {
    flags: '--since <time>',
    description: 'only records from this time on: 1h ago, or a time such as 2026-11-23 or 2026-11-23T10:00+02:00. Without a zone ' +
      'it is in UTC',
    parse: parseTyped
  },
  until: { flags: '--until <time>', description: 'only records before this time', parse: parseTyped },
  time: {
    flags: '--time <path>',
    description: 'the field with the time of a record, such as meta.at, for --since and --until. By default it is found ' +
      'wherever a logger writes it'
  },
  level: {
    flags: '-l, --level <level>',
    description: 'only records of this level and above, such as warn or 40, whatever their logger calls it',
    parse: parseLevel
  },
  pretty: { flags: '-p, --pretty', description: 'print lines of a logger for people: time, level, message, and the rest below' },
  seqs: { flags: '-s, --seqs', description: 'print {"seq":...,"value":...} instead of the value' },
  raw: { flags: '--raw', description: 'print the bytes of records as they are in the log' },
  full: { flags: '--full', description: 'do not cut long lines on a terminal' },
  codec: {
    flags: '--codec <name>',
    description: 'the codec of the records, if the log does not name it; bytes reads any log',
    choices: ['json', 'binary', 'bytes']
  },
  skipDamage: { flags: '--skip-damage', description: 'go on after damage, and say at the end what was lost' }
}

const rangeOptions = [options.gt, options.gte, options.lt, options.lte]
const filterOptions = [options.where, options.grep, options.since, options.until, options.time, options.level]
const printOptions = [options.pretty, options.seqs, options.raw, options.full, options.codec, options.skipDamage]

/** @type {OptionDefinition[]} */
const writeOptions = [
  {
    flags: '--fsync <mode>',
    description: 'when records go to stable storage. `always`: before a record counts as appended. `interval`: within a ' +
      'second. `never`: only when the command ends',
    choices: ['always', 'interval', 'never'],
    default: 'interval'
  },
  { flags: '--codec <name>', description: 'the codec of a new log; json by default', choices: ['json', 'binary', 'bytes'] }
]

/** @param {string} text */
function parseSeq (text) {
  const seq = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(seq)) return seq
  throw misuse('A seq is a whole number.')
}

/** @param {string} text */
function parseTyped (text) {
  return new Date(parseTime(text, Date.now()))
}

/** @param {string} text */
function parseLevel (text) {
  try {
    return levelFilter(/^\d+$/.test(text) ? Number(text) : text)
  } catch {
    throw misuse(`There is no level ${text}. Expected trace, debug, info, warn, error, fatal or what else a logger calls it, or a ` +
      'number such as 40.')
  }
}

/**
 * @param {string} text
 * @returns {number | string}  a text if it names a slot, too
 */
function parseKey (text) {
  return /^\d{1,6}:\d+$/.test(text) ? text : parseSeq(text)
}

/** @param {string} text */
function parseCount (text) {
  const count = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(count)) return count
  throw misuse('Expected a whole number.')
}

/**
 * The options of a read, from those of a command.
 * @param {Record<string, any>} given
 * @returns {import('@millrace/offset-log').ReadOptions}
 */
function toReadOptions ({ grep, since, until, time, level, skipDamage, ...given }) {
  const { gt, gte, lt, lte, reverse, limit, where } = given
  // What is searched for text is counted after the search.
  const isSearched = grep !== undefined
  const filters = [...where ?? []]
  if (since !== undefined || until !== undefined) filters.push(timeFilter({ since, until, path: time }))
  if (level !== undefined) filters.push(level)
  const range = { gt, gte, lt, lte, reverse, limit: isSearched ? -1 : limit }
  return { ...range, where: filters.length > 0 ? filters : undefined, onCorrupt: skipDamage ? 'skip' : undefined }
}

/**
 * Where lines go: a shell, or a file.
 * @typedef {Pick<import('./shell').Shell, 'isTerminal' | 'signal' | 'write'> & { hasColors?: boolean }} Output
 */

/**
 * @typedef {object} Shape
 * @property {boolean} [seqs]
 * @property {boolean} [raw]
 * @property {boolean} [full]
 * @property {boolean} [pretty]
 * @property {string} [grep]
 * @property {number} [limit]
 */

/**
 * Makes a record into a line, or into nothing if it is not wanted.
 * @param {Output} shell
 * @param {Shape} shape
 * @returns {(item: { seq: number | string, value: any }) => string | Buffer | null}
 */
function createLineMaker (shell, { seqs = false, full = false, raw = false, pretty = false, grep }) {
  if (pretty) return createPrettyMaker(shell, { seqs, grep })
  const sizeMax = shell.isTerminal && !full ? SHOWN_SIZE_MAX : Infinity
  const show = (/** @type {string} */ text) => {
    const line = escapeControls(text)
    return line.length > sizeMax ? cut(line, sizeMax) : line
  }
  return ({ seq, value }) => {
    if (grep !== undefined && !value.includes(grep)) return null
    if (raw) return shell.isTerminal ? show(value.toString()) : value
    return show(seqs ? `{"seq":${JSON.stringify(seq)},"value":${value}}` : value)
  }
}

/** @type {typeof createLineMaker} */
function createPrettyMaker (shell, { seqs, grep }) {
  const { formatPretty } = require('@millrace/where/pretty')
  const options = { colors: shell.hasColors ?? false }
  return ({ seq, value }) => {
    const text = String(value)
    if (grep !== undefined && !text.includes(grep)) return null
    return `${seqs ? `${seq} ` : ''}${formatPretty(parseText(text), options)}`
  }
}

/** @param {string} line @param {number} size */
function cut (line, size) {
  return `${line.slice(0, size)}... (${formatCount(line.length - size)} more characters; --full prints them)`
}

/**
 * Prints the records of a stream, and waits while the reader of the output is behind.
 * @param {Output} shell
 * @param {AsyncIterable<{ seq: number | string, value: any }>} stream
 * @param {Shape} shape
 * @returns {Promise<number>}  how many it has printed
 */
async function printRecords (shell, stream, shape) {
  const { limit = Infinity } = shape
  const printer = new Printer(shell)
  const toLine = createLineMaker(shell, shape)
  let count = 0
  try {
    if (limit > 0) {
      for await (const item of stream) {
        // Also where no record is wanted: the search may take long.
        if (shell.signal.aborted) break
        const line = toLine(item)
        if (line === null) continue
        if (printer.add(line)) await printer.flush()
        if (++count === limit) break
      }
    }
  } finally {
    // Also what came before damage.
    await printer.flush()
  }
  return count
}

/** Collects lines until there are enough for a write, or none has come for a while. */
class Printer {
  #shell
  #text = ''
  /** @type {Buffer[]} */
  #chunks = []
  #size = 0
  #late = new LateFlush(async () => {
    // A failure is met again by the next write.
    await this.flush().catch(() => {})
    return this.#size > 0
  })

  /** @param {Output} shell */
  constructor (shell) {
    this.#shell = shell
  }

  /**
   * @param {string | Buffer} line
   * @returns {boolean}  whether there is enough for a write
   */
  add (line) {
    if (typeof line === 'string') this.#text += `${line}\n`
    else this.#addBytes(line)
    this.#size += line.length + 1
    if (this.#size >= FLUSH_SIZE) return true
    this.#late.begin()
    return false
  }

  /** @param {Buffer} bytes */
  #addBytes (bytes) {
    this.#chunks.push(bytes, NEWLINE)
  }

  async flush () {
    this.#late.cancel()
    const text = this.#text
    const chunks = this.#chunks
    this.#text = ''
    this.#chunks = []
    this.#size = 0
    if (text !== '') await this.#shell.write(text)
    if (chunks.length > 0) await this.#shell.write(Buffer.concat(chunks))
  }
}

const NEWLINE = Buffer.from('\n')

/**
 * Says what damage has taken, where it was skipped.
 * @param {import('./shell').Shell} shell
 * @param {{ lost: { count: number, size: number }, undecodable?: { count: number, size: number } }} stream
 * @returns {number}  the exit code
 */
function reportLost (shell, { lost, undecodable = { count: 0, size: 0 } }) {
  if (lost.count > 0) {
    shell.complain(`millrace: left out ${formatCount(lost.count)} damaged range${lost.count === 1 ? '' : 's'} of ${formatCount(lost.size)} bytes\n`)
  }
  if (undecodable.count > 0) {
    shell.complain(`millrace: left out ${formatCount(undecodable.count)} record${undecodable.count === 1 ? ' that does' : 's that do'} not decode\n`)
  }
  return lost.count + undecodable.count > 0 ? 1 : 0
}

/**
 * Says which records a filter could say nothing about, and what in a filter may be a mistake.
 * @param {import('./shell').Shell} shell
 * @param {import('./line-codecs').Tally} tally  begins again at 0
 * @param {Record<string, any>} options
 */
function reportUnknown (shell, tally, { time, where = [] }) {
  const { untimed, unlevelled } = tally
  tally.untimed = tally.unlevelled = 0
  const left = (/** @type {number} */ count) => `millrace: left out ${formatCount(count)} record${count === 1 ? '' : 's'} without`
  const hint = time === undefined ? '; if they have one in a field of their own, name it with --time' : ` in the field '${escapeControls(time)}'`
  if (untimed > 0) shell.complain(`${left(untimed)} a time${hint}\n`)
  if (unlevelled > 0) shell.complain(`${left(unlevelled)} a level; if they have one in a field of their own, filter with --where\n`)
  for (const path of tally.fields.takeUnseen()) {
    const advice = path.endsWith('[*]') ? '; what an array includes is asked for by ~=' : ''
    shell.complain(`millrace: no record that was read has a field '${escapeControls(path)}', which --where asks for${advice}\n`)
  }
  for (const doubt of takeDoubts(where)) shell.complain(`millrace: ${escapeControls(doubt)}\n`)
}

exports.SHOWN_SIZE_MAX = SHOWN_SIZE_MAX
exports.createLineMaker = createLineMaker
exports.filterOptions = filterOptions
exports.options = options
exports.parseCount = parseCount
exports.parseKey = parseKey
exports.parseSeq = parseSeq
exports.printOptions = printOptions
exports.printRecords = printRecords
exports.rangeOptions = rangeOptions
exports.reportLost = reportLost
exports.reportUnknown = reportUnknown
exports.toReadOptions = toReadOptions
exports.writeOptions = writeOptions

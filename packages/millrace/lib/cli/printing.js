'use strict'
// All records that a command reads, to its output: from the bytes of the log where they are lines of JSON already, else
// one by one.

const { ByteLines, isBracketed } = require('./byte-lines')
const { LateFlush } = require('./late-flush')
const { toText } = require('./line-codecs')
const { SHOWN_SIZE_MAX, createLineMaker, printRecords, toReadOptions } = require('./records')
const { createTextSelect } = require('./text-search')

/** A stream of Node.js says of a write of that size that it waits, so a write is done when the next one may begin. */
const SHARED_SIZE_MIN = 64 * 1024

/**
 * @typedef {import('./records').Output} Output
 * @typedef {import('./source').OpenedSource} OpenedSource
 * @typedef {{ count: number, size: number }} LeftOut
 * @typedef {{ count: number, lost: LeftOut, undecodable?: LeftOut }} Printed  `count`: how many records
 */

/**
 * @param {Output} output
 * @param {OpenedSource} source
 * @param {Record<string, any>} options  of the command
 * @returns {Promise<Printed>}
 */
async function printAll (output, source, options) {
  if (source.parts.length === 1 && source.parts[0].slot === null && isOfBytes(output, source, options)) {
    return printBytes(output, source.log, options)
  }
  const stream = source.log.stream({ ...toReadOptions(options), signal: output.signal })
  const count = await printRecords(output, stream, options)
  return { count, lost: stream.lost, undecodable: stream.undecodable }
}

/**
 * Whether lines can be made from the bytes of the records. Those of a checked log of JSON are what was appended as
 * JSON, as its checksums say; of other logs, whether they are JSON is known only if each is parsed.
 * @param {Pick<Output, 'isTerminal'>} output
 * @param {Pick<OpenedSource, 'identity' | 'codec'>} source
 * @param {Record<string, any>} options
 */
function isOfBytes ({ isTerminal }, { identity, codec }, { pretty, raw, limit, skipDamage }) {
  // A limit does not count the records that do not decode.
  if (pretty || identity.framing === null || (skipDamage && limit !== undefined)) return false
  if (raw) return !isTerminal
  return identity.framing === 'checked' && identity.codec === 'json' && codec === 'json'
}

/**
 * @param {Output} output
 * @param {import('./source').Log} log
 * @param {Record<string, any>} options
 * @returns {Promise<Printed>}
 */
async function printBytes (output, log, options) {
  const { grep, limit = Infinity, seqs = false, raw: isRaw = false, full = false, skipDamage = false } = options
  const toLine = createLineMaker(output, { full, seqs })
  const lines = new ByteLines({
    isRaw,
    hasSeqs: seqs && !isRaw,
    sizeMax: output.isTerminal && !full ? SHOWN_SIZE_MAX : Infinity,
    skipsDamage: skipDamage,
    toText: toText.json,
    toLine: (item) => /** @type {string} */ (toLine(item))
  })
  const printer = new BytePrinter(output, lines)
  const select = grep ? createTextSelect(grep, { isRaw, isLikely: isBracketed, toText: toText.json }) : null
  let picked = new Uint32Array(0)
  let left = limit
  try {
    const range = { ...toReadOptions(options), ...(limit === 0 && { limit }), signal: output.signal }
    const { lost } = await log.scan(range, async (run) => {
      if (select !== null && picked.length < run.count) picked = new Uint32Array(run.starts.length)
      const count = Math.min(left, select === null ? run.count : select(run, picked))
      left -= count
      await printer.add(run, select === null ? null : picked, count)
      return left > 0
    })
    await printer.flush()
    return { count: lines.count, lost, undecodable: lines.undecodable }
  } catch (err) {
    // Also what came before damage; and what it has met there comes first.
    await printer.flush()
    throw err
  }
}

/** Writes lines when there are enough of them, or none has come for a while. */
class BytePrinter {
  #output
  #lines
  #late = new LateFlush(async () => {
    // Others are added while it is written. A failure is met again by the next write.
    const bytes = Buffer.from(this.#take())
    if (bytes.length > 0) await this.#output.write(bytes).catch(() => {})
    return !this.#lines.isEmpty
  })

  /** @param {Output} output @param {ByteLines} lines */
  constructor (output, lines) {
    this.#output = output
    this.#lines = lines
  }

  /** @type {(run: import('./byte-lines').Run, picked: Uint32Array | null, count: number) => Promise<void>} */
  async add (run, picked, count) {
    for (let at = 0; at < count;) {
      at = this.#lines.add(run, picked, at, count)
      if (at < count) await this.flush()
    }
    if (!this.#lines.isEmpty) this.#late.begin()
  }

  async flush () {
    const bytes = this.#take()
    if (bytes.length > 0) await this.#output.write(bytes.length < SHARED_SIZE_MIN ? Buffer.from(bytes) : bytes)
    if (this.#lines.failure !== null) throw this.#lines.failure
  }

  #take () {
    this.#late.cancel()
    return this.#lines.take()
  }
}

exports.isOfBytes = isOfBytes
exports.printAll = printAll
exports.printBytes = printBytes

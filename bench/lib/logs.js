'use strict'
// The two logs that a bench is about, JSON and binary: generated, or given and converted; and, of both, copies in other
// framings and the first 64 MiB. Each file is made once and found again by its name in data/generated/.

const { createHash } = require('node:crypto')
const fs = require('node:fs')
const path = require('node:path')
const { binaryCodec, rawCodec } = require('@millrace/binary-codec')
const { jsonCodec } = require('@millrace/json-codec')
const { OffsetLog } = require('@millrace/offset-log')
const { createMessages, DEFAULT_SEED, GENERATOR_VERSION } = require('./messages')
const { UserError, createProgress } = require('./run')
const { writeWhole } = require('./work-file')

// Rises when the conversion to binary gives other bytes: the version is part of the name of what was made.
const CONVERSION_VERSION = 1
// The size of the log that the first benchmark of this kind was made on: 343 MB.
const DEFAULT_RECORDS = 458803
// At about 750 bytes each these fill 3.7 GB, and the 32-bit framing ends at 4 GiB.
const MAX_RECORDS = 5000000
const PREFIX_SIZE = 64 * 1024 * 1024
// What findSource makes, and the only framing that a prefix can be cut in.
const SOURCE_FRAMING = 'offset32'
const WARM_SIZE = 1024 * 1024
const BLOCK_SIZE = 65536
const BATCH_SIZE = 1000
// <length> data <length> <end of the record>
const FRAME_OVERHEAD = 12
const SUMS = '.sums'
/** The query when no record can answer it. */
const NO_ANSWER = '%nothing-has-this-root.sha256'

/**
 * @typedef {object} Written
 * @property {number} records
 * @property {string} query  what `value.content.root` is compared with
 * @property {number} hits  how many records answer it
 */

/** @typedef {{ values: any[], done: number }} Batch  `done` is how far the work is with it */

/**
 * @typedef {object} Logs
 * @property {string} json  path of the log of JSON, 32-bit offsets
 * @property {string} binary  path of the same log in binary
 * @property {string} name  what files made from these are called after
 * @property {string} title  for the outputs: no path
 */

/** @typedef {Written & Logs} Source */

/**
 * @param {{ records: number, file?: string }} options
 * @param {string} folder  where made files are kept
 * @returns {Promise<Source>}
 * @throws {UserError}
 */
function findSource ({ records, file }, folder) {
  return file === undefined ? findGenerated(records, folder) : findGiven(file, folder)
}

/**
 * @param {number} records
 * @param {string} folder
 * @returns {Promise<Source>}
 */
async function findGenerated (records, folder) {
  const name = `ssb-seed${DEFAULT_SEED}-${records}-v${GENERATOR_VERSION}.${CONVERSION_VERSION}`
  const title = `generated, ${records} messages, seed ${DEFAULT_SEED}, generator ${GENERATOR_VERSION}`
  const [json, binary] = ['json', 'binary'].map((log) => path.join(folder, `${name}.${log}.offset32`))
  const written = await makeOnce(folder, name, [json, binary], async ([json, binary]) => {
    const messages = createMessages(DEFAULT_SEED)
    const targets = [createLog(json, jsonCodec), createLog(binary, binaryCodec)]
    const { roots } = await pour(`generating ${records} messages`, records, generate(messages, records), targets)
    return { records, query: messages.query, hits: roots.get(messages.query) ?? 0 }
  })
  return { name, title, json, binary, ...written }
}

/**
 * @param {{ next: () => unknown }} messages
 * @param {number} count
 */
function * generate ({ next }, count) {
  for (let done = 0; done < count;) {
    const values = Array.from({ length: Math.min(BATCH_SIZE, count - done) }, next)
    yield { values, done: done += values.length }
  }
}

/**
 * The query asks for the root that most records of the log have.
 * @param {string} file
 * @param {string} folder
 * @returns {Promise<Source>}
 */
async function findGiven (file, folder) {
  const { size, mtimeMs } = inspectLog(file)
  const identity = [fs.realpathSync(file), size, mtimeMs, CONVERSION_VERSION].join('\n')
  const name = `given-${createHash('sha256').update(identity).digest('hex').slice(0, 16)}`
  const binary = path.join(folder, `${name}.binary.offset32`)
  const written = await makeOnce(folder, name, [binary], async ([draft]) => {
    try {
      const batches = readBatches(file, jsonCodec)
      const { records, roots } = await pour('converting to binary', size, batches, [createLog(draft, binaryCodec)])
      // Among equals the one that sorts first, so that every run asks the same.
      const [[query, hits]] = [...roots, /** @type {[string, number]} */ ([NO_ANSWER, 0])]
        .sort(([a, countOfA], [b, countOfB]) => countOfB - countOfA || (a < b ? -1 : 1))
      return { records, query, hits }
    } catch (err) {
      if (/** @type {any} */ (err).code !== 'ERR_CODEC_DECODE') throw err
      throw new UserError(`--file: ${file} holds a record that is not JSON: ${/** @type {Error} */ (err).message}`)
    }
  })
  const json = isWritable(file) ? file : path.join(folder, `${name}.json.offset32`)
  if (sizeOf(json) !== size) await writeWhole([json], async ([draft]) => fs.copyFileSync(file, draft))
  return { name, title: path.basename(file), json, binary, ...written }
}

/**
 * With its own eyes, so that no stack decides what the others are given.
 * @param {string} file
 * @returns {fs.Stats}
 * @throws {UserError}  one line that says what the file is, when it is not a log of whole records
 */
function inspectLog (file) {
  let fd = -1
  try {
    fd = fs.openSync(file, 'r')
    const stat = fs.fstatSync(fd)
    const buf = Buffer.alloc(4)
    // A number that is not there is like none that is.
    const readAt = (/** @type {number} */ position) => {
      return position >= 0 && fs.readSync(fd, buf, 0, 4, position) === 4 ? buf.readUInt32BE(0) : NaN
    }
    const [first, last] = [readAt(0), readAt(stat.size - 8)]
    const hasFirst = readAt(first + 4) === first && readAt(first + 8) === first + FRAME_OVERHEAD
    const hasLast = readAt(stat.size - 4) === stat.size && readAt(stat.size - last - FRAME_OVERHEAD) === last
    if (hasFirst && hasLast) return stat
    throw new Error('does not begin and end with whole records of 32-bit offsets')
  } catch (err) {
    throw new UserError(`--file: ${file}: ${/** @type {Error} */ (err).message}`)
  } finally {
    if (fd >= 0) fs.closeSync(fd)
  }
}

/**
 * A note beside the files says what is in them. It is written last: where it is, the files are whole.
 * @param {string} folder
 * @param {string} name
 * @param {string[]} files
 * @param {(drafts: string[]) => Promise<Written>} write
 * @returns {Promise<Written>}
 */
async function makeOnce (folder, name, files, write) {
  const note = path.join(folder, `${name}.note.json`)
  if (fs.existsSync(note)) {
    const { sizes, ...written } = JSON.parse(fs.readFileSync(note, 'utf8'))
    if (files.every((file, index) => sizeOf(file) === sizes[index])) return written
  }
  const written = await writeWhole(files, write)
  await writeWhole([note], async ([draft]) => {
    fs.writeFileSync(draft, JSON.stringify({ ...written, sizes: files.map(sizeOf) }))
  })
  return written
}

/**
 * aligned-block-file opens a file for writing even when it is told to read only.
 * @param {string} file
 */
function isWritable (file) {
  try {
    fs.accessSync(file, fs.constants.W_OK)
    return true
  } catch {
    return false
  }
}

/**
 * @param {string} file
 * @returns {number | undefined}
 */
function sizeOf (file) {
  return fs.statSync(file, { throwIfNoEntry: false })?.size
}

/**
 * One file to be read.
 * @typedef {object} Input
 * @property {'json' | 'binary'} log
 * @property {import('@millrace/offset-log').FramingName} framing
 * @property {boolean} [prefix]  the first 64 MiB instead of the whole log
 */

/**
 * @param {Source} source
 * @param {string} folder  where made files are kept
 */
function createInputs (source, folder) {
  const pathOf = (/** @type {Input} */ { log, framing, prefix }) => {
    if (prefix && framing !== SOURCE_FRAMING) throw new Error(`a log in ${framing} has no prefix`)
    if (framing === SOURCE_FRAMING && !prefix) return source[log]
    return path.join(folder, [source.name, log, ...(prefix ? ['64MiB'] : []), framing].join('.'))
  }
  return {
    pathOf,
    /** Whether a log is longer than a prefix. @param {Input['log']} log */
    isLong: (log) => fs.statSync(source[log]).size > PREFIX_SIZE,
    /** Makes what is missing, and brings it all into the page cache. @param {Input[]} inputs */
    async prepare (inputs) {
      const needed = new Map(inputs.map((input) => [pathOf(input), input]))
      for (const [file, { log, framing, prefix }] of needed) {
        if (!fs.existsSync(file)) await (prefix ? cutPrefix(source[log], file) : copyLog(source[log], file, framing))
      }
      for (const file of needed.keys()) warm(file)
    }
  }
}

/**
 * The same records in another framing, or several times over.
 * @param {string} from
 * @param {string} to
 * @param {import('@millrace/offset-log').FramingName} framing
 * @param {number} [times]
 */
async function copyLog (from, to, framing, times = 1) {
  const { size } = fs.statSync(from)
  async function * repeat () {
    for (let time = 0; time < times; time++) {
      for await (const { values, done } of readBatches(from, rawCodec)) yield { values, done: time * size + done }
    }
  }
  // A codec without a name: the copy may be opened with any, as its records need.
  const codec = { ...rawCodec, name: undefined }
  // Checksums of lines are in a file beside them.
  await writeWhole(framing === 'lines' ? [to, to + SUMS] : [to], async ([draft, sums]) => {
    await pour(`copying to ${framing}`, times * size, repeat(), [createLog(draft, codec, framing)])
    if (sums) fs.renameSync(draft + SUMS, sums)
  })
}

/**
 * @param {string} file  to be made, or to be appended to
 * @param {any} codec
 * @param {import('@millrace/offset-log').FramingName} [framing]
 */
function createLog (file, codec, framing = SOURCE_FRAMING) {
  // Closing syncs, and a log that was not closed is not used.
  return OffsetLog(file, { codec, framing, blockSize: BLOCK_SIZE, fsync: 'never' })
}

/**
 * @param {string} file  of a log
 * @param {any} codec
 * @returns {AsyncGenerator<Batch>}  their `done` counts bytes
 */
async function * readBatches (file, codec) {
  const log = OffsetLog(file, { codec, flags: 'r', blockSize: BLOCK_SIZE })
  try {
    /** @type {Batch} */
    let batch = { values: [], done: 0 }
    for await (const { seq, value } of log.stream()) {
      batch.values.push(value)
      if (batch.values.length < BATCH_SIZE) continue
      yield { ...batch, done: seq }
      batch = { values: [], done: seq }
    }
    if (batch.values.length > 0) yield batch
  } finally {
    await log.close()
  }
}

/**
 * Appends every batch to each of the logs, and closes them.
 * @param {string} title
 * @param {number} total
 * @param {AsyncIterable<Batch> | Iterable<Batch>} batches
 * @param {Array<ReturnType<typeof OffsetLog>>} targets
 * @returns {Promise<{ records: number, roots: Map<string, number> }>}  and how many records have a root, for each
 */
async function pour (title, total, batches, targets) {
  /** @type {Map<string, number>} */
  const roots = new Map()
  let records = 0
  const progress = createProgress(title, total)
  try {
    for await (const { values, done } of batches) {
      await Promise.all(targets.map((log) => log.append(values)))
      records += values.length
      for (const root of values.map((value) => value?.value?.content?.root)) {
        if (typeof root === 'string') roots.set(root, (roots.get(root) ?? 0) + 1)
      }
      progress.update(done)
    }
  } finally {
    await Promise.all(targets.map((log) => log.close()))
    progress.end()
  }
  return { records, roots }
}

/**
 * A prefix that ends where a record ends is a log like any other: no stack needs to know that it is a prefix.
 * @param {string} from
 * @param {string} to
 */
async function cutPrefix (from, to) {
  const buf = Buffer.alloc(PREFIX_SIZE)
  const fd = fs.openSync(from, 'r')
  const bytesRead = fs.readSync(fd, buf, 0, PREFIX_SIZE, 0)
  fs.closeSync(fd)
  const prefix = buf.subarray(0, findLastEnd(buf.subarray(0, bytesRead)))
  await writeWhole([to], async ([draft]) => fs.writeFileSync(draft, prefix))
}

/**
 * @param {Buffer} buf  the beginning of a log
 * @returns {number}  where the last record ends that is in it whole
 */
function findLastEnd (buf) {
  let end = 0
  for (let next = 0; next <= buf.length; next = buf.readUInt32BE(end) + end + FRAME_OVERHEAD) {
    end = next
    if (end + 4 > buf.length) break
  }
  return end
}

/**
 * Reads a file once, so that the first measurement finds it in the page cache as all later ones do.
 * @param {string} file
 */
function warm (file) {
  const buf = Buffer.alloc(WARM_SIZE)
  const fd = fs.openSync(file, 'r')
  while (fs.readSync(fd, buf, 0, WARM_SIZE, null) > 0);
  fs.closeSync(fd)
}

/** @param {Source} source */
function describeSource ({ title, records, json, binary, hits, query }) {
  return `${title}; ${records} records, ${sizeOf(json)} bytes as JSON, ${sizeOf(binary)} as binary; ` +
    `${hits} have value.content.root == ${query}`
}

/**
 * @param {string | undefined} text  of describeSource
 * @returns {{ records: number, json: number, binary: number }}  sizes in bytes
 */
function readSource (text = '') {
  const [, records, json, binary] = /; (\d+) records, (\d+) bytes as JSON, (\d+) as binary;/.exec(text)?.map(Number) ?? []
  if (binary === undefined) throw new UserError(`the input says no sizes: "${text}"`)
  return { records, json, binary }
}

exports.findSource = findSource
exports.findLastEnd = findLastEnd
exports.createInputs = createInputs
exports.describeSource = describeSource
exports.readSource = readSource
exports.copyLog = copyLog
exports.createLog = createLog
exports.pour = pour
exports.warm = warm
exports.DEFAULT_RECORDS = DEFAULT_RECORDS
exports.MAX_RECORDS = MAX_RECORDS

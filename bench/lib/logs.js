'use strict'
// The two logs that a bench is about, JSON and binary: generated, or given and converted; and, of both, copies in other
// framings and the first 64 MiB. Each file is made once and found again by its name in data/generated/.

const { createHash } = require('node:crypto')
const fs = require('node:fs')
const path = require('node:path')
const { UserError } = require('./command')
const { createMessages, DEFAULT_SEED, GENERATOR_VERSION } = require('./messages')
const { findLastEnd, inspectLog } = require('./offset32')
const { createProgress } = require('./run')
const { writeWhole } = require('./work-file')
const { copyLog, writeBinary, writeGenerated } = require('./write-logs')

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

/** @typedef {import('./write-logs').Written} Written */

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
    const progress = createProgress(`generating ${records} messages`, records)
    const result = await writeGenerated(createMessages(DEFAULT_SEED), records, { json, binary }, progress)
    progress.end()
    return result
  })
  return { name, title, json, binary, ...written }
}

/**
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
    const progress = createProgress('converting to binary', size)
    try {
      return await writeBinary(file, draft, progress)
    } catch (err) {
      if (/** @type {any} */ (err).code !== 'ERR_CODEC_DECODE') throw err
      throw new UserError(`--file: ${file} holds a record that is not JSON: ${/** @type {Error} */ (err).message}`)
    } finally {
      progress.end()
    }
  })
  const json = isWritable(file) ? file : await copyOnce(file, path.join(folder, `${name}.json.offset32`))
  return { name, title: path.basename(file), json, binary, ...written }
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
 * @param {string} from
 * @param {string} to
 */
async function copyOnce (from, to) {
  if (sizeOf(to) !== sizeOf(from)) await writeWhole([to], async ([draft]) => fs.copyFileSync(from, draft))
  return to
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
        if (!fs.existsSync(file)) await (prefix ? cutPrefix(source[log], file) : convert(source[log], file, framing))
      }
      for (const file of needed.keys()) warm(file)
    }
  }
}

/**
 * @param {string} from
 * @param {string} to
 * @param {import('@millrace/offset-log').FramingName} framing
 */
async function convert (from, to, framing) {
  const progress = createProgress(`copying to ${framing}`, fs.statSync(from).size)
  await writeWhole([to], ([draft]) => copyLog(from, draft, framing, progress))
  progress.end()
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

exports.findSource = findSource
exports.createInputs = createInputs
exports.describeSource = describeSource
exports.warm = warm
exports.DEFAULT_RECORDS = DEFAULT_RECORDS
exports.MAX_RECORDS = MAX_RECORDS

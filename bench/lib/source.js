'use strict'
// The two logs that a bench is about, JSON and binary: generated, or given and converted. Each is made once and found
// again by its name in data/generated/.

const { createHash } = require('node:crypto')
const fs = require('node:fs')
const path = require('node:path')
const { createMessages, DEFAULT_SEED, GENERATOR_VERSION } = require('./generate-messages')
const { inspectLog } = require('./offset32')
const { createProgress } = require('./progress')
const { UserError } = require('./user-error')
const { writeWhole } = require('./work-file')
const { writeGenerated, writeBinary } = require('./write-logs')

// Rises when the conversion to binary gives other bytes: the version is part of the name of what was made.
const CONVERSION_VERSION = 1

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
 * @param {{ records: number, file: string | undefined }} options
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
  const logs = {
    name,
    title: `generated, ${records} messages, seed ${DEFAULT_SEED}, generator ${GENERATOR_VERSION}`,
    json: path.join(folder, `${name}.json.offset32`),
    binary: path.join(folder, `${name}.binary.offset32`)
  }
  const written = await makeOnce(folder, name, [logs.json, logs.binary], async ([json, binary]) => {
    const progress = createProgress(`generating ${records} messages`, records)
    const result = await writeGenerated(createMessages(DEFAULT_SEED), records, { json, binary }, progress)
    progress.end()
    return result
  })
  return { ...logs, ...written }
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

exports.findSource = findSource

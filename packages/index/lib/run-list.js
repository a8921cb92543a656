'use strict'
// The run files of a folder, whichever log they are of: for tools that list or remove them, and that must know which
// paths an index was declared with.

const { listFiles, removeFiles } = require('@millrace/block-file')
const { parsePaths } = require('./paths')
const { DamagedRun, MISSING, RUN_NAME, UNFINISHED_NAME, UNREADABLE } = require('./run-format')
const { openRun } = require('./run')
const { RunFiles } = require('./run-files')
const { RunPages } = require('./run-pages')

/**
 * @typedef {import('@millrace/block-file').Storage} Storage
 * @typedef {import('./paths').PathOptions} PathOptions
 *
 * @typedef {object} RunInfo
 * @property {string} name  Of the file.
 * @property {number} from  The seq where its range begins.
 * @property {number} to  The seq where its range ends: after its last record.
 * @property {number} records  How many it has.
 * @property {number} size  Of the file, in bytes.
 * @property {string} codec  The name of the log's codec.
 * @property {PathOptions[]} paths  As `createIndex` takes them.
 * @property {number[]} values  How many values each path has: 0 if no record has one. Those that are equal count once,
 *   but for numbers and times of a path with ranges.
 */

/**
 * Lists the runs in the folder of an index, without those that are damaged.
 * @param {Storage} storage
 * @param {string} folder  `<log>.index`
 * @returns {Promise<RunInfo[]>}  in the order of the log; none if there is no folder
 */
async function listRuns (storage, folder) {
  /** @type {RunInfo[]} */
  const runs = []
  for (const name of await listFiles(storage, folder)) {
    if (!RUN_NAME.test(name)) continue
    const run = await readRun(storage, folder, name)
    if (run !== null) runs.push(run)
  }
  return runs.sort((a, b) => a.from - b.from)
}

/** @type {(storage: Storage, folder: string, name: string) => Promise<RunInfo | null>} */
async function readRun (storage, folder, name) {
  try {
    const run = await openRun(new RunFiles(storage, folder), name, new RunPages(1))
    await run.close()
    const { from, to, records, size, footer: { codec, keys, numbers, times } } = run
    const values = keys.map(({ count }, slot) => count + (numbers[slot]?.count ?? 0) + (times[slot]?.count ?? 0))
    const paths = toOptions(run.footer.paths)
    // What a program declares, it can declare again.
    parsePaths(paths)
    return { name, from, to, records, size, codec, paths, values }
  } catch (/** @type {any} */ err) {
    // Paths that cannot be declared are misuse, which is a TypeError.
    const isNone = [DamagedRun, SyntaxError, TypeError].some((kind) => err instanceof kind)
    if (isNone || MISSING.includes(err.code) || UNREADABLE.includes(err.code)) return null
    throw err
  }
}

/** @param {any} paths  of a footer @returns {PathOptions[]} */
function toOptions (paths) {
  return paths.map((/** @type {[any, any, boolean]} */ [steps, each, range]) => ({
    path: steps,
    ...(each !== null && { each: each.length === 0 ? true : each }),
    ...(range && { range })
  }))
}

/**
 * Removes all runs in the folder of an index. A process that has the index open goes on with what it has, and may write
 * others.
 * @param {Storage} storage
 * @param {string} folder  `<log>.index`
 * @returns {Promise<number>}  how many there were
 */
function removeRuns (storage, folder) {
  return removeFiles(storage, folder, isRunFile)
}

/** Whether it is the name of a run, or of one that was not finished. @param {string} name */
function isRunFile (name) {
  return RUN_NAME.test(name) || UNFINISHED_NAME.test(name)
}

exports.isRunFile = isRunFile
exports.listRuns = listRuns
exports.removeRuns = removeRuns

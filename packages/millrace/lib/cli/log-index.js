'use strict'
// The index that lies beside a log, in the folder `<log>.index`, or in `index` of a folder of segments: what commands
// know of it, and how they open a log with it. Only the commands that need it load the package.

const fs = require('node:fs')
const { join } = require('node:path')
const { fileStorage } = require('@millrace/block-file')
const { codecs } = require('../open')

/**
 * @typedef {import('../open').CodecName} CodecName
 * @typedef {import('@millrace/index').PathOptions} PathOptions
 * @typedef {import('@millrace/index').RunInfo} RunInfo
 * @typedef {ReturnType<import('@millrace/index').Index['open']>} LogIndex
 */

/** The codecs whose records have fields. */
const INDEXED = ['json', 'binary']
/** In the others, nothing says that the records are still the ones that an index was made of. */
const INDEXED_FRAMINGS = ['checked', 'lines']

/** @param {string} path  of a log */
function folderOf (path) {
  return fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() ? join(path, 'index') : `${path}.index`
}

/** @param {string} path  of a log @returns {Promise<RunInfo[]>} */
async function listIndex (path) {
  const folder = folderOf(path)
  return fs.existsSync(folder) ? require('@millrace/index').listRuns(fileStorage, folder) : []
}

/**
 * The paths that an index was declared with. If runs of several are there, as while a program declares others, those of
 * most records.
 * @param {readonly RunInfo[]} runs
 * @returns {PathOptions[] | null}
 */
function findPaths (runs) {
  /** @type {Map<string, number>} */
  const counts = new Map()
  for (const { paths, records } of runs) {
    const name = JSON.stringify(paths)
    counts.set(name, (counts.get(name) ?? 0) + records)
  }
  const [most] = [...counts].sort(([, a], [, b]) => b - a)
  return most === undefined ? null : JSON.parse(most[0])
}

/**
 * The index of one log, as the option `index` takes it. It is given the codec of the records: the log of a command has
 * one that makes lines.
 */
class CommandIndex {
  #codec
  #onProgress
  #keepsUp
  /** Of the log, once it is open. @type {LogIndex | null} */
  index = null
  /** Whether its files can be written. */
  isReadOnly = true

  /**
   * @param {string} folder
   * @param {readonly PathOptions[]} paths
   * @param {CodecName} codec
   * @param {object} [options]
   * @param {(seq: number, end: number) => void} [options.onProgress]  of records that are read to be indexed
   * @param {boolean} [options.keepsUp]  also keeps in memory what no run has yet. A command reads once: it would cost
   *   more than it gains
   */
  constructor (folder, paths, codec, { onProgress = () => {}, keepsUp = false } = {}) {
    this.folder = folder
    this.paths = paths
    this.#codec = codecs[codec]
    this.#onProgress = onProgress
    this.#keepsUp = keepsUp
  }

  /** @param {any} host */
  open (host) {
    const { createIndex } = require('@millrace/index')
    /** @type {(range: any, onRecords: (run: any) => unknown, onDamage: any) => any} */
    const scanRaw = (range, onRecords, onDamage) => host.scanRaw(range, (/** @type {any} */ run) => {
      this.#onProgress(run.seqs[run.count - 1], host.end)
      return onRecords(run)
    }, onDamage)
    const own = Object.create(host, { codec: { value: this.#codec }, scanRaw: { value: scanRaw } })
    this.isReadOnly = host.isReadOnly
    this.index = createIndex(this.paths, { tuning: { keepsUp: this.#keepsUp } }).open(own)
    return this.index
  }

  /** Waits until a log that was opened to be read has the runs. */
  async loaded () {
    await this.index?.refresh()
  }
}

/**
 * @param {string} path  of a log, but of slots
 * @param {CodecName} codec
 * @param {{ keepsUp?: boolean }} [options]
 * @returns {Promise<CommandIndex | null>}  null if there is none
 */
async function findIndex (path, codec, options) {
  if (!INDEXED.includes(codec)) return null
  // Who may read the log, but not its index, scans.
  const runs = await listIndex(path).catch((/** @type {any} */ err) => {
    if (err.code === 'EACCES' || err.code === 'EPERM') return []
    throw err
  })
  const paths = findPaths(runs.filter((run) => run.codec === codec))
  return paths === null ? null : new CommandIndex(folderOf(path), paths, codec, options)
}

exports.CommandIndex = CommandIndex
exports.INDEXED = INDEXED
exports.INDEXED_FRAMINGS = INDEXED_FRAMINGS
exports.findIndex = findIndex
exports.findPaths = findPaths
exports.folderOf = folderOf
exports.listIndex = listIndex

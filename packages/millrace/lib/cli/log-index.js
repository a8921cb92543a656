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
  const stats = fs.statSync(path, { throwIfNoEntry: false })
  if (stats?.isDirectory()) return join(path, 'index')
  // It lies beside the log, not beside a symlink to it.
  return `${stats === undefined ? path : fs.realpathSync.native(path)}.index`
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
  /** Of each slot that is open; otherwise one. @type {LogIndex[]} */
  #opened = []
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

  /** Of the log, once it is open; of slots, that of the last one. */
  get index () {
    return this.#opened.at(-1) ?? null
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
    const index = createIndex(this.paths, { tuning: { keepsUp: this.#keepsUp } }).open(own)
    this.#opened.push(index)
    return index
  }

  /** Waits until a log that was opened to be read has the runs. */
  async loaded () {
    for (const index of this.#opened) await index.refresh()
  }
}

/**
 * @param {string} path  of a log
 * @param {CodecName} codec
 * @param {{ slots?: readonly string[], keepsUp?: boolean }} [options]  `slots`: the names of those that the folder has
 * @returns {Promise<CommandIndex | null>}  null if there is none. The slots are read with one: where it is not, they
 *   are scanned
 */
async function findIndex (path, codec, { slots, ...options } = {}) {
  if (!INDEXED.includes(codec)) return null
  const logs = slots?.map((slot) => join(path, slot)) ?? [path]
  const runs = (await Promise.all(logs.map(listReadable))).flat()
  const paths = findPaths(runs.filter((run) => run.codec === codec))
  const folder = slots === undefined ? folderOf(path) : join(path, '*', 'index')
  return paths === null ? null : new CommandIndex(folder, paths, codec, options)
}

/** @param {string} path  of a log: who may read it, but not its index, scans */
function listReadable (path) {
  return listIndex(path).catch((/** @type {any} */ err) => {
    if (err.code === 'EACCES' || err.code === 'EPERM') return []
    throw err
  })
}

exports.CommandIndex = CommandIndex
exports.INDEXED = INDEXED
exports.INDEXED_FRAMINGS = INDEXED_FRAMINGS
exports.findIndex = findIndex
exports.findPaths = findPaths
exports.folderOf = folderOf
exports.listIndex = listIndex

'use strict'

const { statSync } = require('node:fs')
const { dirname, join } = require('node:path')
const { LogError, misuse } = require('@millrace/errors')
const { escapeControls } = require('@millrace/flow')
const { framingOf } = require('../../open')
const { describeFolder, inWordsOfCommand } = require('../failures')
const { countRanges, countRecords, describeRange, describeSize } = require('../report')
const { explainForeign, findLog, isFolder, storageOf } = require('../source')
const { nameInput } = require('../spool')
const { formatCount } = require('../text')

/** Of a file in which nothing can be found. */
const UNREADABLE = new Set(['ERR_LOG_CORRUPT', 'ERR_LOG_UNKNOWN_FORMAT', 'EISDIR', 'ERR_INVALID_ARGUMENT'])

/** @typedef {import('@millrace/repair').Report} Report */

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'verify',
  summary: 'reads a whole log and lists its damage',
  details: 'In a folder, it reads each segment of all slots. Exit code 0: the log is whole. 1: it is damaged, and each damaged range is printed on a line. Nothing is changed.',
  arguments: [{ name: 'file', description: 'the log: a file or a folder, or - for one on standard input' }],
  options: [
    {
      flags: '--framing <name>',
      description: 'the framing of the log, if its beginning is too damaged to show it',
      choices: ['checked', 'lines', 'offset32', 'offset48', 'offset53']
    },
    { flags: '-q, --quiet', description: 'print nothing; only the exit code tells the result' },
    { flags: '--json', description: 'print one line of JSON' }
  ],
  examples: [['millrace verify events.log && echo whole', 'checks every record of the log']],
  async run ({ args, options, shell }) {
    if (isFolder(args.file)) return verifyFolder(shell, args.file, options)
    const found = await findLog(shell, args.file)
    const report = await verifyFile(shell, found.path, options)
      .catch((err) => { throw explainForeign(found.path, err) })
      .finally(() => found.remove())
    if (options.json) shell.print(JSON.stringify(report))
    return report.isSound ? 0 : 1
  }
}

/** @type {(shell: import('../shell').Shell, folder: string, options: Record<string, any>) => Promise<number>} */
async function verifyFolder (shell, folder, options) {
  const { listSegments } = require('@millrace/segmented-log')
  const { listSlots } = require('../slots')
  const slots = listSlots(folder).map((slot) => join(folder, slot))
  const folders = slots.length > 0 ? slots : [folder]
  const paths = (await Promise.all(folders.map((path) => listSegments(path)))).flat()
  if (paths.length === 0) throw misuse(describeFolder(folder, 'check the path'))
  const segments = []
  for (const path of paths) {
    const report = await verifySegment(shell, path, options)
    if (report !== null) segments.push(report)
  }
  const missing = (await Promise.all(folders.map(findMissing))).flat()
  for (const { error } of missing) if (!options.quiet && !options.json) shell.print(shell.style('red', escapeControls(inWordsOfCommand(error.message))))
  const isSound = missing.length === 0 && segments.every((report) => report.isSound)
  const ranges = missing.map(({ from, stop, error: { message } }) => ({ from, to: stop, error: message }))
  if (options.json) shell.print(JSON.stringify({ path: folder, isSound, segments, missing: ranges }))
  return isSound ? 0 : 1
}

/** Where segments are missing between others. @param {string} folder */
function findMissing (folder) {
  const { findMissingSegments } = require('@millrace/segmented-log')
  // If the newest one cannot be opened, its own report says so.
  return findMissingSegments(folder).catch(() => [])
}

/**
 * @type {(shell: import('../shell').Shell, path: string, options: Record<string, any>) =>
 *   Promise<Report | { path: string, isSound: false, error: string } | null>} null if it was dropped meanwhile
 */
async function verifySegment (shell, path, options) {
  try {
    await checkSegment(path, options)
    return await verifyFile(shell, path, options)
  } catch (/** @type {any} */ err) {
    if (err.code === 'ENOENT') {
      const { listSegments } = require('@millrace/segmented-log')
      // Its writer has compressed it, or inflated it, since it was listed.
      const other = (await listSegments(dirname(path))).find((other) => nameOf(other) === nameOf(path))
      return other === undefined ? null : verifyFile(shell, other, options)
    }
    // The other segments are verified all the same.
    if (!UNREADABLE.has(err.code)) throw err
    if (!options.quiet && !options.json) shell.print(shell.style('red', escapeControls(inWordsOfCommand(err.message))))
    return { path, isSound: false, error: err.message }
  }
}

/**
 * What is no file, or has no bytes, is no segment. The newest one of lines may be empty: its sums say whether it should
 * be. So may a log of one file.
 * @type {(path: string, options: Record<string, any>) => Promise<void>}
 */
async function checkSegment (path, { framing }) {
  const stat = statSync(path)
  const found = stat.isDirectory() ? 'is a folder' : 'has no bytes'
  if (framing !== undefined || (!stat.isDirectory() && (stat.size > 0 || await isNewestOfLines(path)))) return
  throw new LogError('ERR_LOG_CORRUPT', `${path} ${found}, and is no segment: its records are lost. Put it from a backup in its place`, { path })
}

/** @param {string} path */
async function isNewestOfLines (path) {
  const { listSegments } = require('@millrace/segmented-log')
  return framingOf(path) === 'lines' && (await listSegments(dirname(path))).at(-1) === path
}

/** @param {string} path  of a segment, which may be compressed */
function nameOf (path) {
  return path.replace(/\.(gz|zst)$/, '')
}

/**
 * Verifies one file, and prints what it finds unless it is to be quiet or JSON.
 * @type {(shell: import('../shell').Shell, path: string, options: Record<string, any>) => Promise<Report>}
 */
async function verifyFile (shell, path, options) {
  const { verify } = require('@millrace/repair')
  const progress = shell.progress('verifying')
  const isListed = !options.quiet && !options.json
  /** @type {Report} */
  let report
  try {
    report = await verify(path, {
      storage: storageOf(path),
      framing: options.framing,
      // Ranges are as many as the damage makes them: they are printed as they are found.
      onDamage: isListed ? (range) => shell.print(shell.style('red', describeRange(range))) : undefined,
      signal: shell.signal,
      onProgress: ({ position, size }) => progress.update(position, size)
    })
  } finally {
    progress.end()
  }
  if (isListed) printSummary(shell, report)
  return report
}

/**
 * @param {import('../shell').Shell} shell
 * @param {Report} report
 */
function printSummary (shell, report) {
  const { path, framing, size, records, erased, damageCount, damageSize } = report
  const { tail, flaws, undeleted, unanchoredCount } = report
  for (const flaw of flaws) shell.print(`${describeRange(flaw)}: there is a good second copy`)
  if (tail) {
    const what = tail.isZeros ? 'zeros after the end' : 'a last write that was cut off'
    shell.print(`bytes ${tail.offset} to ${tail.offset + tail.size}: ${what}; the next open for writing cuts it`)
  }
  if (report.changed !== null) shell.print(shell.style('red', escapeControls(report.changed)))
  if (undeleted > 0) shell.print(`${formatCount(undeleted)} deletion${undeleted === 1 ? ' is' : 's are'} undone: the disk brought back old pages`)
  if (unanchoredCount > 0) shell.print(`${formatCount(unanchoredCount)} range${unanchoredCount === 1 ? '' : 's'} may be left over from writes that were taken back`)
  const found = [framing ?? 'empty', describeSize(size), countRecords(records)]
  if (erased > 0) found.push(`${formatCount(erased)} deleted`)
  const verdict = report.isSound ? shell.style('green', 'whole') : shell.style('red', damageCount === 0 && report.changed !== null ? 'changed' : `damaged in ${countRanges(damageCount, damageSize)}`)
  shell.print(`${escapeControls(nameInput(path))}: ${verdict}; ${found.join(', ')}`)
}

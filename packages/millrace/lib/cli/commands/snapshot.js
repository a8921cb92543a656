'use strict'

const fs = require('node:fs')
const path = require('node:path')
const { refuseFolder } = require('../folder')
const { describeSize } = require('../report')
const { findLog, identify, isFolder, openIdentified } = require('../source')

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'snapshot',
  summary: 'copies a log, also while it is written',
  details: 'The copy is verified and synced. It appears when it is whole, or not at all. The copy of a folder of ' +
    'segments is a folder whose segments are not compressed.',
  arguments: [
    { name: 'file', description: 'the log: a file or a folder of segments, or - for one on standard input' },
    { name: 'copy', description: 'the file or folder to make; nothing may be there' }
  ],
  options: [{ flags: '--json', description: 'print one line of JSON' }],
  examples: [['millrace snapshot events.log "backup/$(date +%F).log"', 'a copy as of now']],
  async run ({ args, options, shell }) {
    const copy = isFolder(args.file) ? copyFolder : copyLog
    const size = await copy(shell, args.file, args.copy)
    shell.print(options.json ? JSON.stringify({ path: args.copy, size }) : `${describeSize(size)} copied`)
  }
}

/** @type {(shell: import('../shell').Shell, file: string, copy: string) => Promise<number>}  in bytes */
async function copyLog (shell, file, copy) {
  const { path, remove } = await findLog(shell, file)
  try {
    return await copyFile(shell, path, copy)
  } finally {
    remove()
  }
}

/** @type {typeof copyLog} */
async function copyFile (shell, file, copy) {
  const log = openIdentified(await identify(file))
  const progress = shell.progress('copying')
  try {
    await log.ready()
    await log.snapshot(copy, {
      signal: shell.signal,
      onProgress: ({ position, size }) => progress.update(position, size)
    })
  } finally {
    progress.end()
    await log.close()
  }
  return fs.statSync(copy).size
}

/**
 * Oldest first: what is appended meanwhile is in the newest segment, or in one that is not copied.
 * @type {typeof copyLog}
 */
async function copyFolder (shell, folder, copy) {
  const { listSegments } = require('@millrace/segmented-log')
  const { listSlots } = require('../slots')
  if (listSlots(folder).length > 0 || (await listSegments(folder)).length === 0) {
    await refuseFolder(folder, `copy each slot, such as ${path.join(folder, '0')}, to a folder of its own`)
  }
  if (fs.existsSync(copy)) throw Object.assign(new Error(copy), { code: 'EEXIST', path: copy })
  const aside = `${copy}.${process.pid}.part`
  fs.mkdirSync(aside)
  try {
    let size = 0
    for (const file of await listSegments(folder)) size += await copySegment(shell, file, aside)
    fs.renameSync(aside, copy)
    return size
  } finally {
    fs.rmSync(aside, { recursive: true, force: true })
  }
}

/** @type {(shell: import('../shell').Shell, listed: string, folder: string) => Promise<number>}  in bytes */
async function copySegment (shell, listed, folder) {
  const { listSegments } = require('@millrace/segmented-log')
  const name = nameOf(listed)
  for (;;) {
    // Its writer may have compressed or dropped it since it was listed.
    const file = (await listSegments(path.dirname(listed))).find((file) => nameOf(file) === name)
    if (file === undefined) return 0
    try {
      return await copyFile(shell, file, path.join(folder, name))
    } catch (/** @type {any} */ err) {
      if (err.code !== 'ENOENT' || fs.existsSync(file)) throw err
    }
  }
}

/** @param {string} file  a segment, which may be compressed */
function nameOf (file) {
  return path.basename(file).replace(/\.(gz|zst)$/, '')
}

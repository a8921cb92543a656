'use strict'

const fs = require('node:fs')
const path = require('node:path')
const { refuseFolder } = require('../folder')
const { createLineCodec, createTally } = require('../line-codecs')
const { filterOptions, options, reportUnknown, toReadOptions } = require('../records')
const { lockAside, renameDurably } = require('../rename')
const { describeSize } = require('../report')
const { chooseCodec, findLog, identify, isFolder, openIdentified } = require('../source')

/**
 * @typedef {object} Wanted
 * @property {import('@millrace/where').Where | undefined} where
 * @property {import('../../open').CodecName | undefined} codec
 * @property {import('../line-codecs').Tally} tally
 */

/** @type {import('../definition').Definition} */
exports.command = {
  name: 'snapshot',
  summary: 'copies a log, also while it is written',
  details: 'The copy is verified and synced. It appears when it is whole, or not at all. The copy of a folder of ' +
    'segments is a folder whose segments are not compressed. With filters, the copy has only the records that pass: that is how ' +
    'lines are removed from a text file. Seqs stay, but not those of lines and of old logs.',
  arguments: [
    { name: 'file', description: 'the log: a file or a folder of segments, or - for one on standard input' },
    { name: 'copy', description: 'the file or folder to make; nothing may be there' }
  ],
  options: [
    ...filterOptions.filter((option) => option !== options.grep),
    options.codec,
    { flags: '--json', description: 'print one line of JSON' }
  ],
  examples: [
    ['millrace snapshot events.log "backup/$(date +%F).log"', 'a copy as of now'],
    ['millrace snapshot app.jsonl kept.jsonl --where "user!=ada"', 'the lines that are not of one user']
  ],
  async run ({ args, options, shell }) {
    const copy = isFolder(args.file) ? copyFolder : copyLog
    const wanted = { where: toReadOptions(options).where, codec: options.codec, tally: createTally() }
    const size = await copy(shell, args.file, args.copy, wanted)
    reportUnknown(shell, wanted.tally, options)
    shell.print(options.json ? JSON.stringify({ path: args.copy, size }) : `${describeSize(size)} copied`)
  }
}

/**
 * Returns the size of the copy, in bytes.
 * @type {(shell: import('../shell').Shell, file: string, copy: string, wanted: Wanted) => Promise<number>}
 */
async function copyLog (shell, file, copy, wanted) {
  const { path, remove } = await findLog(shell, file)
  try {
    return await copyFile(shell, path, copy, wanted)
  } finally {
    remove()
  }
}

/** @type {typeof copyLog} */
async function copyFile (shell, file, copy, { where, codec, tally }) {
  const identity = await identify(file)
  const log = openIdentified(identity, where && createLineCodec(codec ?? await chooseCodec(identity), false, tally))
  const progress = shell.progress('copying')
  try {
    await log.ready()
    await log.snapshot(copy, {
      where,
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
async function copyFolder (shell, folder, to, wanted) {
  // Without a slash at its end: what is unfinished is beside it.
  const copy = path.join(path.dirname(to), path.basename(to))
  const { listSegments } = require('@millrace/segmented-log')
  const { listSlots } = require('../slots')
  if (listSlots(folder).length > 0 || (await listSegments(folder)).length === 0) {
    await refuseFolder(folder, `copy each slot, such as ${path.join(folder, '0')}, to a folder of its own`)
  }
  if (fs.existsSync(copy)) throw taken(copy)
  const { path: aside, release } = await lockAside(copy)
  try {
    fs.mkdirSync(aside)
    let size = 0
    for (const file of await listSegments(folder)) size += await copySegment(shell, file, aside, wanted)
    putInPlace(aside, copy)
    return size
  } finally {
    fs.rmSync(aside, { recursive: true, force: true })
    await release()
  }
}

/** @type {(aside: string, copy: string) => void} */
function putInPlace (aside, copy) {
  try {
    renameDurably(aside, copy)
  } catch (/** @type {any} */ err) {
    // Something has come there meanwhile.
    throw err.code === 'ENOTEMPTY' || err.code === 'ENOTDIR' ? taken(copy) : err
  }
}

/** @param {string} copy */
function taken (copy) {
  return Object.assign(new Error(copy), { code: 'EEXIST', path: copy })
}

/** @type {typeof copyLog} `copy`: the folder that the copy is put into */
async function copySegment (shell, listed, copy, wanted) {
  const { listSegments } = require('@millrace/segmented-log')
  const name = nameOf(listed)
  for (;;) {
    // Its writer may have compressed or dropped it since it was listed.
    const file = (await listSegments(path.dirname(listed))).find((file) => nameOf(file) === name)
    if (file === undefined) return 0
    try {
      return await copyFile(shell, file, path.join(copy, name), wanted)
    } catch (/** @type {any} */ err) {
      if (err.code !== 'ENOENT' || fs.existsSync(file)) throw err
    }
  }
}

/** @param {string} file  a segment, which may be compressed */
function nameOf (file) {
  return path.basename(file).replace(/\.(gz|zst)$/, '')
}
